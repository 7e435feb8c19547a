"""Policies as agents."""

from __future__ import annotations

import numpy as np
import pytest

from accord._arrays import TERMINAL
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError
from accord.game.library import kuhn, matrix_game
from accord.interop.openspiel_env import OpenSpielEnvironment
from accord.interop.pettingzoo import PettingZooEnvironment
from accord.runs.learn import learn
from tests.support.environments import Hidden
from tests.support.policies import without_game

LIGHT = CorrelatedPolicy(  # a traffic light: one yields, the other dares
    matrix_game([[[6, 2], [7, 0]], [[6, 7], [2, 0]]], actions=[("yield", "dare")] * 2),
    np.array([0.3, 0.7]),
    np.array([[1.0, 1.0, 0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 1.0, 1.0, 0.0]]),
)


def test_agents_with_one_seed_are_correlated() -> None:
    policy = without_game(LIGHT)
    agents = [policy.agent(player, seed=5) for player in policy.player_labels]
    moves = []
    for _ in range(2000):
        moves.append(tuple(agent.act(plex.infoset_labels[0]) for agent, plex in
                           zip(agents, policy.plexes, strict=True)))  # fmt: skip
        for agent in agents:
            agent.reset()
    assert set(moves) == {(0, 1), (1, 0)}
    assert np.mean([move == (0, 1) for move in moves]) == pytest.approx(0.3, abs=0.05)


def test_an_episode_can_be_played_again() -> None:
    policy = learn(kuhn(), 1, episodes=300, components=20).policy
    agent, again = policy.agent(0, seed=1), policy.agent("1", seed=1)
    label = next(iter(policy.game.infoset_labels[0]))
    first = []
    for _ in range(20):
        first.append(agent.act(label))
        agent.reset()
    for episode, action in enumerate(first):
        again.reset(episode)
        assert again.act(label) == action
    assert len({policy.agent(0, seed=seed).act(label) for seed in range(40)}) == 2


def test_unknown_infosets_are_uniform() -> None:
    agent = LIGHT.agent(0)
    assert agent.probabilities("elsewhere", ("a", "b", "c")).tolist() == [1 / 3] * 3
    with pytest.warns(UserWarning, match="does not know"):
        assert agent.act("elsewhere", ("a", "b")) in (0, 1)
    with pytest.raises(ArgumentError, match="does not know the infoset 'elsewhere'"):
        agent.act("elsewhere")
    label = LIGHT.game.infoset_labels[0][0]
    with pytest.raises(ArgumentError, match=r"has the actions \('yield', 'dare'\); got \('go',\)"):
        agent.act(label, ("go",))
    for player in (2, -1, "nobody"):
        with pytest.raises(ArgumentError, match="player must be one of 1, 2, or a number"):
            LIGHT.agent(player)


@pytest.mark.slow
def test_agents_get_the_values_of_the_policy() -> None:
    game = kuhn()
    policy = learn(game, 1, episodes=3000, components=50).policy
    env, rng = Hidden(game), np.random.default_rng(0)
    agents = [policy.agent(i, seed=3) for i in range(2)]
    paid = []
    for _ in range(4000):
        env.reset(rng)
        while env.turn() != TERMINAL:
            env.step(agents[env.turn()].act(env.infoset(), env.actions()))
        paid.append(env.payoffs()[0])
        for agent in agents:
            agent.reset()
    assert np.mean(paid) == pytest.approx(policy.values()[0], abs=0.1)


def test_agents_in_the_loops_of_others() -> None:
    """They see the same infosets as the learners, so nothing is unknown to them."""
    from tests.support.pettingzoo_envs import Repeated

    zoo = Repeated()
    env = PettingZooEnvironment(zoo, (0.0, 2.0))
    policy = learn(env, 1, episodes=300, plays=10).policy
    agents = {name: env.agent(policy, name) for name in zoo.possible_agents}
    known = {name: set(plex.infoset_labels) for name, plex in
             zip(policy.player_labels, policy.plexes, strict=True)}  # fmt: skip
    for seed in range(10):
        zoo.reset(seed=seed)
        for name in zoo.agent_iter():
            observation, _, terminated, truncated, info = zoo.last()
            over = terminated or truncated
            zoo.step(None if over else agents[name].act(observation, info))
            if not over:
                assert agents[name]._before.partition(" / action")[0] in known[name]
        for agent in agents.values():
            agent.reset()
    for name in ("kuhn_poker", "repeated_game(num_repetitions=2,stage_game=matrix_pd())"):
        spiel = OpenSpielEnvironment(name)
        learned = learn(spiel, 1, episodes=300, plays=10).policy
        players = [spiel.agent(learned, i) for i in range(2)]
        for _ in range(10):
            state = spiel.game.new_initial_state()
            while not state.is_terminal():
                if state.is_chance_node():
                    state.apply_action(state.chance_outcomes()[0][0])
                else:
                    state.apply_action(players[state.current_player()].act(state))
            for player in players:
                player.reset()
