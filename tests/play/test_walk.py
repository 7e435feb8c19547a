"""Environments as games, and what players remember of their observations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import accord
from accord.errors import ArgumentError, BudgetError, GameError, ImperfectRecallError
from accord.game.library import kuhn, library_game
from accord.game.tree import Game
from accord.interop.openspiel_env import OpenSpielEnvironment
from accord.interop.pettingzoo import PettingZooEnvironment
from accord.treeplex.form import sequence_form
from tests.support.environments import Forgetful, Hidden, NoisyChicken, Open, Strange
from tests.support.pettingzoo_envs import Pennies, Repeated


class Replayed(Open):
    """An environment with explicit chance that cannot be copied."""

    clone = None  # type: ignore[assignment]


@pytest.mark.parametrize("name", ["kuhn", "kuhn:players=3", "signalling", "chicken"])
@pytest.mark.parametrize("kind", [Open, Replayed])
def test_walking_finds_the_game(name: str, kind: Any) -> None:
    """A game that hides in an environment is found again: its plans have the same payoffs."""
    game = library_game(name)
    found = Game.from_environment(kind(game))
    assert (found.n_nodes, found.player_labels) == (game.n_nodes, game.player_labels)
    policy = accord.solve(game, 1, iterations=30, components=5).policy
    blind = accord.CorrelatedPolicy.of_players(
        name, game.player_labels, policy.plexes, policy.weights, policy.behavior
    )
    exact, again = accord.certify(game, policy, [0, 1]), accord.certify(found, blind, [0, 1])
    np.testing.assert_allclose(again.values, exact.values, atol=1e-12)
    for one, other in zip(again.gaps, exact.gaps, strict=True):
        np.testing.assert_allclose(one.player_gaps, other.player_gaps, atol=1e-12)


def test_a_policy_learned_in_an_environment_is_certified_in_its_game() -> None:
    env = OpenSpielEnvironment("kuhn_poker")
    learned = accord.learn(env, 1, episodes=600, plays=0)
    game = Game.from_environment(env)
    exact = accord.certify(game, learned.policy, 1)
    assert exact.is_exact
    loaded = accord.certify(accord.load_game("kuhn_poker"), learned.policy, 1)
    np.testing.assert_allclose(exact[1].player_gaps, loaded[1].player_gaps, atol=1e-12)


def test_what_cannot_be_walked_through() -> None:
    with pytest.raises(GameError, match=r"leaves all chance to its caller .* rng.random"):
        Game.from_environment(Hidden(kuhn()))
    with pytest.raises(GameError, match="leaves all chance to its caller"):
        Game.from_environment(NoisyChicken())
    with pytest.raises(ImperfectRecallError):
        Game.from_environment(Forgetful())
    with pytest.raises(BudgetError, match="at most 10 nodes"):
        Game.from_environment(Open(kuhn()), max_nodes=10)
    with pytest.raises(ArgumentError, match="env must be an environment"):
        Game.from_environment(3)


def test_observe_decides_what_is_remembered() -> None:
    """With a coarser observation there are fewer infosets, and agents see the same."""
    fine = PettingZooEnvironment(Repeated(), (-9, 9))
    coarse = PettingZooEnvironment(Repeated(), (-9, 9), observe=lambda agent, seen: 0)
    many, few = (
        sum(plex.n_infosets for plex in accord.learn(env, 1, episodes=600, plays=0).policy.plexes)
        for env in (fine, coarse)
    )
    assert few < many
    policy = accord.learn(coarse, 1, episodes=600, plays=0).policy
    zoo = Repeated()
    agents = {name: coarse.agent(policy, name) for name in zoo.possible_agents}
    zoo.reset(seed=1)
    for name in zoo.agent_iter():
        observation, _, terminated, truncated, info = zoo.last()
        over = terminated or truncated
        zoo.step(None if over else agents[name].act(observation, info))
    with pytest.raises(ArgumentError, match="label or observe, not both"):
        PettingZooEnvironment(Pennies(), (-9, 9), label=lambda a, o: "", observe=lambda a, o: o)


def test_histories_of_games_that_forget() -> None:
    """Dark Hex's own information states forget; histories of them do not."""
    name = "dark_hex_ir(board_size=2)"
    with pytest.raises(ImperfectRecallError, match=r"history=True\) does so, .* --history"):
        accord.learn(OpenSpielEnvironment(name), 1, episodes=600, plays=0)
    env = OpenSpielEnvironment(name, history=True)
    policy = accord.learn(env, 1, episodes=600, plays=0).policy
    game = Game.from_environment(env)
    assert sum(plex.n_infosets for plex in policy.plexes) <= sum(
        plex.n_infosets for plex in sequence_form(game).plexes
    )
    players = [env.agent(policy, i) for i in range(2)]
    state = env.game.new_initial_state()
    for player in players:
        player._agent.warns = False
        player.reset()
    while not state.is_terminal():
        state.apply_action(players[state.current_player()].act(state))


def test_walking_needs_no_copies_of_simple_games() -> None:
    class Plain(Strange):
        """Nothing is seen."""

        def reset(self, rng: np.random.Generator) -> None:
            self.seen, self.done = np.zeros(2), []

    game = Game.from_environment(Plain())
    assert game.n_terminals == 16
