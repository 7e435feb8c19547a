"""The deviator's seat: what it shows, what obeying pays, and what agents find."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from open_spiel.python.algorithms.tabular_qlearner import QLearner
from open_spiel.python.rl_environment import StepType, TimeStep

from accord.certifying.by_play import certify_by_play
from accord.certifying.exact import certify
from accord.deviations.modification import Modification
from accord.deviations.rechistory import ROOT, RechistoryTree
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError, MismatchError, MissingDependencyError
from accord.game.library import kuhn, library_device, library_game
from accord.game.tree import Game
from accord.interop.deviator_env import deviator_env
from accord.play.deviator import modification_of
from accord.play.discovery import discover
from accord.play.game_env import GameEnvironment
from accord.runs.solve import solve
from accord.treeplex.form import sequence_form
from tests.support.environments import Hidden
from tests.support.policies import grown_game

GAMES = [
    pytest.param(grown_game(0, 2, 60), id="two players"),
    pytest.param(grown_game(1, 3, 60), id="three players"),
    pytest.param(kuhn(), id="kuhn"),
]


def early(game: Game, k: float = 1) -> CorrelatedPolicy:
    """A policy that can be improved on."""
    return solve(game, k, iterations=3, components=3).policy


def agent_of(phi: Modification) -> Callable[[Any], int]:
    """The agent that plays ``phi``, from observations alone."""
    tree, plex = phi.tree, phi.tree.plex
    path_of: dict[int, list[tuple[int, int]]] = {}
    for x in range(plex.n_infosets):
        seq = int(plex.parent_seq[x])
        above = int(plex.seq_infoset[seq]) if seq else -1
        path_of[x] = [*path_of[above], (above, seq - int(plex.first_seq[above]))] if seq else []

    def act(seen: Any) -> int:
        x, cell = int(seen[0]) - 1, ROOT
        for layer, (y, a) in enumerate([*path_of[x], (x, -1)]):
            node, told = phi.continuing(y, cell), max(int(seen[1 + layer]) - 1, 0)
            assert tree.is_swap[node] == (seen[1 + layer] > 0)
            cell = int(tree.arrays.first_cell[node]) + told * int(plex.n_actions[y]) + a
        return int(phi.choice[tree.first_row[node] + told])

    return act


@pytest.mark.parametrize("game", GAMES)
def test_a_loaded_game_is_an_environment(game: Game) -> None:
    env, form = GameEnvironment(game), sequence_form(game)
    assert env.payoff_bounds == tuple(Hidden(game).payoff_bounds)
    for found, plex in zip(discover(env), form.plexes, strict=True):
        assert sorted(found.infoset_labels) == sorted(plex.infoset_labels)
        assert found.n_sequences == plex.n_sequences


@pytest.mark.parametrize("k", [0, 1, 2, math.inf])
@pytest.mark.parametrize("game", GAMES)
def test_observations_are_all_that_a_deviation_needs(game: Game, k: float) -> None:
    """The best deviation, asked through observations, is the best deviation."""
    policy = early(game, 1)
    for i, witness in enumerate(certify(game, policy, k)[k].witnesses):
        best: Any = witness.modification
        tree = RechistoryTree.build(policy.plexes[i], k)
        phi = modification_of(agent_of(best), policy.plexes[i], tree)
        for _, parts in policy.components():
            np.testing.assert_allclose(
                phi.sequence_form(parts[i]), best.sequence_form(parts[i]), atol=1e-12
            )


@pytest.mark.parametrize("k", [0, 1, math.inf])
def test_the_mediator_is_silent_after_k_deviations(k: float) -> None:
    game = library_game("separation:k=1")
    env = deviator_env(game, CorrelatedPolicy.from_device(game, library_device(game.name)), 0, k)
    rng, silent, spoke = np.random.default_rng(0), 0, 0
    for _ in range(100):
        seen, info = env.reset(seed=int(rng.integers(2**31)))
        over, deviations, layer = False, 0, 0
        while not over:
            assert env.observation_space.contains(seen)
            assert info["deviations_left"] == k - deviations
            told = info["recommendation"]
            assert (told is None) == (deviations >= k)
            assert seen[1 + layer] == (0 if told is None else told + 1)
            assert not seen[2 + layer :].any()
            silent, spoke = silent + (told is None), spoke + (told is not None)
            action = int(rng.integers(len(info["actions"])))
            deviations += told is not None and action != told
            seen, _, over, _, info = env.step(action)
            layer += 1
        with pytest.raises(ResetNeeded):
            env.step(0)
    assert (silent > 0) == (k < math.inf)
    assert (spoke > 0) == (k > 0)


@pytest.mark.parametrize("game", GAMES)
def test_obeying_pays_the_value(game: Game) -> None:
    """An action that does not exist counts as the recommendation."""
    policy, plays = early(game), 3000
    span = sequence_form(game).leaves.payoff_range
    for i, value in enumerate(certify(game, policy, 1).values):
        env = deviator_env(game, policy, i)
        env.reset(seed=i)
        paid = []
        for _ in range(plays):
            _, info = env.reset()
            over = False
            while not over:
                _, reward, over, _, info = env.step(99)
                assert info["deviations_left"] == 1
            paid.append(reward)
        assert abs(np.mean(paid) - value) <= 4.0 * span[i] / (2.0 * math.sqrt(plays))


def test_gymnasium_accepts_it() -> None:
    game = kuhn()
    check_env(deviator_env(game, early(game), "1"), skip_render_check=True)
    seen = [deviator_env(Hidden(game), early(game), 0).reset(seed=5)[0].tolist() for _ in range(2)]
    assert seen[0] == seen[1]


def trained(env: Any, episodes: int) -> Callable[[Any], int]:
    """What OpenSpiel's tabular Q-learning finds in a seat."""
    np.random.seed(0)  # noqa: NPY002 - it draws from the global generator
    n = int(env.action_space.n)
    learner = QLearner(0, n, step_size=0.05, discount_factor=1.0)

    def as_step(seen: Any, info: Any, reward: float, kind: StepType) -> TimeStep:
        legal = np.flatnonzero(info["action_mask"]).tolist()
        state = seen.astype(float).tolist()
        shown = {"info_state": [state], "legal_actions": [legal], "current_player": 0}
        return TimeStep(shown, [reward], [1.0], kind)

    env.reset(seed=1)
    for _ in range(episodes):
        seen, info = env.reset()
        step = as_step(seen, info, 0.0, StepType.FIRST)
        while not step.last():
            action = learner.step(step).action
            seen, reward, over, _, info = env.step(action)
            step = as_step(seen, info, reward, StepType.LAST if over else StepType.MID)
        learner.step(step)

    def act(seen: Any) -> int:
        values = learner._q_values[str(seen.astype(float).tolist())]
        return max(range(n), key=lambda a: values[a])

    return act


@pytest.mark.slow
def test_a_q_learner_comes_close_to_the_gap_and_never_above_it() -> None:
    """With the confidence of the bound; it holds for both players together."""
    game = kuhn()
    policy = early(game)
    exact = certify(game, policy, 1)[1].player_gaps
    agents = {i: trained(deviator_env(game, policy, i), 15_000) for i in range(2)}
    found = certify_by_play(GameEnvironment(game), policy, 1, plays=20_000, deviator=agents)[1]
    for i in range(2):
        assert 0.6 * exact[i] < found.player_lower[i] <= exact[i]
        assert found.witnesses[i].gain <= exact[i] + 0.05
        assert found.witnesses[i].is_found
    missed = sum(
        certify_by_play(
            GameEnvironment(game), policy, 1, plays=400, seed=s, confidence=0.5, deviator=agents
        )[1].lower > max(exact)
        for s in range(20)
    )  # fmt: skip
    assert missed <= 10


def test_an_agent_that_obeys_gains_nothing() -> None:
    game = kuhn()
    policy = early(game)

    class Predicts:
        def predict(self, seen: Any) -> tuple[Any, None]:
            return np.array(-1), None

    found = certify_by_play(
        GameEnvironment(game), policy, 1, plays=400, deviator={"1": Predicts()}
    )[1]
    assert found.player_lower[0] == 0.0
    assert not found.witnesses[0].is_found
    assert found.witnesses[0].gain == 0.0


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    game, policy = kuhn(), early(kuhn())
    with pytest.raises(ArgumentError, match="player must be one of 1, 2, or a number"):
        deviator_env(game, policy, 2)
    with pytest.raises(MismatchError, match="has 3 players; the policy is for 2"):
        deviator_env(library_game("kuhn:players=3"), policy, 0)
    with pytest.raises(ArgumentError, match="must be a function from observations"):
        certify_by_play(Hidden(game), policy, plays=40, deviator={0: "me"})
    with pytest.raises(ArgumentError, match="agents must be those of 1, 2"):
        certify_by_play(Hidden(game), policy, plays=40, deviator={"Ann": len})
    with pytest.raises(ArgumentError, match="deviator must be agents by their players"):
        certify_by_play(Hidden(game), policy, plays=40, deviator=len)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "accord.interop.gymnasium_env", raising=False)
    with pytest.raises(MissingDependencyError, match="gymnasium"):
        deviator_env(game, policy, 0)
