"""Joint plays beside players who learn for themselves, and the choice between them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from accord._arrays import Floats
from accord.equilibrium.gap import efce_gaps
from accord.equilibrium.policy import CorrelatedPolicy
from accord.game.library import kuhn, random_game
from accord.game.tree import Game
from accord.learning.joint_choice import (
    COVERED,
    DECIDED,
    HOPELESS,
    STEADY,
    TESTS,
    Choice,
    estimate_ends,
    measured_gap,
)
from accord.learning.joint_play import FINAL_COMPONENTS, ROUND_COMPONENTS, JointPlay
from accord.learning.joint_simulator import SimulatorJointPlay
from accord.learning.simulator_play import SimulatorPlay
from accord.play.joint_tree import is_tree
from accord.play.venue import venue
from accord.runs.learn import learn
from accord.runs.learning_run import in_environment, on_simulator
from accord.runs.request import LearnRequest
from accord.treeplex.form import Form, sequence_form
from tests.support.environments import Hidden, Open
from tests.support.policies import random_policy

EPISODES = 1500
GAME = random_game(1, depth=8, actions=4, min_actions=2, stop=0.02)
"""A game that so few plays cannot cover."""


MANY = random_game(2, depth=10, actions=3, min_actions=3, stop=0.0)
"""A game with 59,049 ends."""


def beside(
    kind: Any, memory: int | None = None, episodes: int = EPISODES, game: Game = GAME
) -> JointPlay:
    """A joint learner with players beside it, on a simulator or in an environment."""
    asked = LearnRequest(game="game", k=1, episodes=episodes, feedback="joint", memory=memory,
                         environment=None if kind is None else {})  # fmt: skip
    if kind is None:
        play, _ = on_simulator(game, asked)
    else:
        with venue(None, None) as where:
            play, _ = in_environment(kind(game), asked, None, where)
    assert isinstance(play, JointPlay)
    return play


def same(one: JointPlay, other: JointPlay) -> None:
    ours, theirs = one.state(), other.state()
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        np.testing.assert_array_equal(value, theirs[name], err_msg=name)


@pytest.mark.parametrize("kind", [None, Hidden, Open])
def test_calls_do_not_change_the_bits(kind: Any) -> None:
    """Neither if they end inside an iteration of the players, nor if the run is resumed there."""
    whole, parts, restored = beside(kind), beside(kind), beside(kind)
    whole.advance(EPISODES)
    assert 0 < whole.own_plays < EPISODES
    assert whole.tree.plays + whole._unrecorded + whole.pending == EPISODES
    for size in (499, 1, 1, 1, 48, 300, 100, EPISODES - 950):
        parts.advance(size)
    same(whole, parts)
    first = beside(kind)
    first.advance(551)
    assert first.iteration < first.own_end
    restored.restore({name: np.copy(value) for name, value in first.state().items()})
    restored.follow(first.behavior)
    restored.advance(EPISODES - 551)
    same(whole, restored)


@pytest.mark.parametrize("game", [kuhn(), GAME])
def test_visits_are_recorded_as_plays(game: Game) -> None:
    """Every node of the game has as many plays in the tree as came to it."""
    form = sequence_form(game)
    joint = SimulatorJointPlay(form, 1, np.random.default_rng(0))
    joint.advance(40)
    before = {at: int(joint.tree.arrays.nodes[d]["count"])
              for at, d in enumerate(joint._node_of) if d >= 0}  # fmt: skip
    own = SimulatorPlay(form, 1, 300, np.random.default_rng(1))
    joint.watch(own)
    own.advance(100)
    visits = own.visits.copy()
    assert visits[0] == 100 * own.episodes_per_iteration
    joint._record_own()
    assert not own.visits.any()
    assert is_tree(joint.tree.arrays)
    assert joint.tree.plays == 40 + visits[0]
    arrays = joint.tree.arrays
    for at, count in enumerate(visits.tolist()):
        total = before.get(at, 0) + count
        d = joint._node_of[at]
        assert (int(arrays.nodes[d]["count"]) if d >= 0 else 0) == total
        node = joint._simulator.nodes[at]
        if d >= 0 and node["n_children"] == 0:
            first = arrays.losses[arrays.nodes[d]["place"], 0]
            np.testing.assert_array_equal(first, joint._simulator.loss[node["place"]])


@pytest.mark.parametrize("k", [0, 1, 2])
def test_the_measured_gap_is_the_largest_of_the_exact_ones(k: int) -> None:
    game = kuhn()
    form, policy = sequence_form(game), random_policy(game, 2, components=4)
    even = CorrelatedPolicy(game, np.full(4, 0.25), policy.behavior)
    exact = efce_gaps(even, k) / form.leaves.payoff_range
    gap = measured_gap(form, k, form.split(policy.behavior))
    assert math.isclose(gap, exact.max(), rel_tol=1e-9)


def test_the_joint_learner_must_pass_several_tests() -> None:
    choice = Choice()
    assert choice.decide(math.inf, math.inf, 0, 500)  # nobody has played for themselves yet
    for own_plays in range(100, 100 * TESTS, 100):  # one test too few
        assert choice.decide(0.1, 0.3, own_plays, 800)
    assert not choice.decide(0.1, 0.3, 600, 850)
    assert choice.settled == (DECIDED * 0.3 * math.sqrt(600 / 850) >= 0.1)
    lucky = Choice()
    for joint in (0.4, 0.4, 0.01):
        assert lucky.decide(joint, 0.2, 400, 500)
    assert not lucky.settled


@pytest.mark.parametrize("kind", [Hidden, Open])
def test_players_continue_alone_when_joint_histories_do_not_fit(kind: Any, tmp_path: Any) -> None:
    play = beside(kind, memory=400_000)
    play.advance(EPISODES)
    assert play.given_up
    plays = play.tree.plays
    assert plays == play.own_start < EPISODES
    assert play.own_plays > EPISODES - plays - 3
    asked: dict[str, Any] = {"feedback": "joint", "memory": 400_000, "game": GAME}
    whole = learn(kind(GAME), 1, episodes=EPISODES, **asked)
    assert whole.episodes == EPISODES
    assert whole.history[-1].seen is not None
    assert whole.history[-1].seen.full
    learn(kind(GAME), 1, episodes=EPISODES, folder=tmp_path / "run", **asked)
    again = learn(
        kind(GAME), 1, episodes=EPISODES + 300, folder=tmp_path / "run", resume=True, **asked
    )
    assert again.episodes == EPISODES + 300
    assert whole.gap < 0.5 * sequence_form(GAME).leaves.payoff_range.max()


@pytest.mark.parametrize("stop", [0.0, 0.1])
def test_few_plays_tell_how_many_ends_there_are(stop: float) -> None:
    """Within a factor of two if few ends were seen, and exactly once all were."""
    game = random_game(3, depth=9, actions=3, min_actions=2 if stop else 3, stop=stop)
    play = SimulatorJointPlay(sequence_form(game), 1, np.random.default_rng(0))
    play.advance(499)
    seen, shown = play.tree.n_ends, estimate_ends(play.tree.arrays)
    assert seen < 0.5 * game.n_terminals
    assert 0.5 * game.n_terminals < shown < 2.0 * game.n_terminals
    small = SimulatorJointPlay(sequence_form(kuhn()), 1, np.random.default_rng(0))
    small.advance(3000)
    assert math.isclose(estimate_ends(small.tree.arrays), kuhn().n_terminals)


@pytest.mark.parametrize("kind", [None, Hidden, Open])
def test_players_continue_alone_in_a_game_with_too_many_ends(kind: Any) -> None:
    """From the end of the first round on, to the same bits if the run is resumed."""
    assert MANY.n_terminals == 59_049 > 2 * HOPELESS * 600
    whole, first, restored = (beside(kind, episodes=600, game=MANY) for _ in range(3))
    whole.advance(600)
    assert whole.given_up and not whole.is_full
    assert (whole.own_start, whole.own_plays) == (500, 100 - whole.pending)
    first.advance(551)
    restored.restore({name: np.copy(value) for name, value in first.state().items()})
    restored.follow(first.behavior)
    restored.advance(49)
    same(whole, restored)
    kept = Kept()
    whole.conclude(kept, None)
    assert whole.own is not None
    for mine, theirs in zip(kept.parts, whole.own.behaviors(), strict=True):
        np.testing.assert_array_equal(mine, theirs)


class Kept:
    """Keeps the mixture that it is given."""

    def replace(self, parts: list[Floats]) -> list[Floats]:
        self.parts = parts
        return parts


def after_tests(kind: Any = None) -> JointPlay:
    """A joint learner who has had whole rounds, while most of the game is unseen."""
    play = beside(kind, episodes=20_000)
    play.advance(1200)
    assert play.champion
    assert 0.0 < play.covered < COVERED
    return play


def test_the_champion_has_the_smallest_gap_of_those_that_were_tested() -> None:
    play, seen = beside(None, episodes=20_000), []
    challenge = play._challenge

    def watched(tested: float, model: Form, order: Any) -> None:
        rivals = [play.champion, play.behavior] if play.champion else [play.behavior]
        challenge(tested, model, order)
        gaps = [play._measured(model, order, rival) for rival in rivals]
        assert play._measured(model, order, play.champion) == min(gaps)
        seen.append(gaps)

    play._challenge = watched  # type: ignore[method-assign]
    play.advance(2500)
    assert any(len(gaps) == 2 and gaps[0] < gaps[1] for gaps in seen)  # some champion stayed
    assert any(len(gaps) == 2 and gaps[1] < gaps[0] for gaps in seen)  # and some did not


@pytest.mark.parametrize("steady", [True, False])
def test_the_champion_is_saved_if_tests_differ(steady: bool) -> None:
    play, kept = after_tests(), Kept()
    gap = play._measured(*play._model(), play.champion)
    play.choice.tests = [0.0, 0.0, gap * STEADY * (0.99 if steady else 1.01)]
    play.conclude(kept, None)
    saved = [part.tobytes() for part in kept.parts]
    assert (saved == [part.tobytes() for part in play.champion]) == (not steady)
    assert len(kept.parts[0]) == (FINAL_COMPONENTS if steady else ROUND_COMPONENTS)


def test_the_last_solution_is_saved_once_the_game_is_covered() -> None:
    play, kept = after_tests(), Kept()
    play.choice.tests, play.unseen = [1.0] * TESTS, 0.04 * play.tree.n_ends
    play.conclude(kept, None)
    assert len(kept.parts[0]) == FINAL_COMPONENTS


@pytest.mark.parametrize("kind", [None, Hidden])
def test_a_champion_survives_an_interruption(kind: Any) -> None:
    whole, first, restored = after_tests(kind), after_tests(kind), beside(kind, episodes=20_000)
    whole.advance(500)
    restored.restore({name: np.copy(value) for name, value in first.state().items()})
    restored.follow(first.behavior)
    restored.advance(500)
    same(whole, restored)
