"""The benchmark of an episode's cost, in small: what it counts does not depend on the machine."""

from __future__ import annotations

import json

import numpy as np
import pytest

from accord.game.library import balanced
from accord.learning.simulator_play import SimulatorPlay
from accord.treeplex.form import SequenceForm, sequence_form
from benchmarks import episode_cost

pytestmark = pytest.mark.slow

SMALL, LARGE = 100, 4_000
METHODS = ("swrhedge", "prm")


def started(form: SequenceForm, method: str, iterations: int = 50) -> SimulatorPlay:
    play = SimulatorPlay(form, 1, 10**5, np.random.default_rng(3), method=method)
    play.averages = 1
    play.advance(iterations)
    return play


def test_the_result_is_json_and_adds_up() -> None:
    cost = episode_cost.episode_cost((SMALL, LARGE), episodes=60, repeats=1, traced=60)
    assert json.loads(json.dumps(cost)) == cost
    assert cost["sizes"] == [SMALL, LARGE]
    assert list(cost["methods"]) == list(METHODS)
    for result in cost["methods"].values():
        small, large, confined = (result[name] for name in ("small", "large", "confined"))
        assert small["infosets"] == SMALL
        assert large["infosets"] == confined["infosets"] == LARGE
        assert small["moves"] == large["moves"] == 5.0  # the deal, then two choices of each player
        assert large["bytes"] > 30 * small["bytes"]
        assert result["growth"] == large["nanoseconds"] - small["nanoseconds"]
        ratio = confined["nanoseconds"] / small["nanoseconds"]
        assert result["ratio_beyond_memory"] == ratio
    assert len(episode_cost.table(cost).splitlines()) == 1 + 2 * 3 + 2 * 4


@pytest.mark.parametrize("method", METHODS)
def test_lines_touched_do_not_grow_with_the_game(method: str) -> None:
    lines = []
    for size in (SMALL, LARGE):
        play = started(sequence_form(balanced(infosets=size)), method)
        trace = episode_cost.trace_episodes(play, 300)
        assert trace.episodes == 300
        assert trace.moves == 5 * 300
        assert (trace.line >= 0).all()
        assert (trace.line < trace.extent[trace.array]).all()
        lines.append(np.bincount(trace.array, minlength=len(trace.names)) / trace.episodes)
    small, large = lines
    assert large.sum() <= 1.1 * small.sum()
    of = dict(zip(trace.names, large, strict=True))
    assert of["simulator.nodes"] <= 6.0  # one line per move, and the end
    assert of["simulator.outcomes"] <= 1.5
    assert of["learner.infosets"] <= 4.0


@pytest.mark.parametrize("method", METHODS)
def test_what_is_traced_is_what_the_kernel_does(method: str) -> None:
    form = sequence_form(balanced(infosets=SMALL))
    traced, compiled = started(form, method), started(form, method)
    before = compiled.joint.regret.copy()
    episode_cost.trace_episodes(traced, 120)
    compiled.advance(120 // compiled.episodes_per_iteration)
    assert traced.iteration == compiled.iteration
    assert traced.rng.bit_generator.state == compiled.rng.bit_generator.state
    assert (compiled.joint.regret != before).any()
    np.testing.assert_allclose(traced.joint.regret, compiled.joint.regret, rtol=1e-9, atol=1e-12)


def test_confined_play_visits_few_infosets_of_many() -> None:
    game = balanced(infosets=LARGE)
    confined = episode_cost.with_few_deals(game, 20)
    assert confined.n_nodes == game.n_nodes
    visited = {
        name: np.count_nonzero(
            started(sequence_form(g), "swrhedge", 500).joint.infosets["stamp"] > 0
        )
        for name, g in (("all", game), ("few", confined))
    }
    assert visited["few"] <= 2 * SMALL
    assert visited["all"] > 1_000


def test_a_replay_loads_all_lines_in_either_order() -> None:
    memory = 10 ** np.arange(6)[:, None] * np.array([[0] * 1 + [1] * 7])
    lines = np.array([5, 0, 3, 3, 1])
    for groups in ([0, 5], [0, 2, 5], [0, 1, 2, 3, 4, 5]):
        assert episode_cost._load(memory, lines, np.array(groups)) == 0
    memory[0, 0] = 7  # not a leader of groups that start elsewhere, so it only adds
    assert episode_cost._load(memory, lines, np.array([0, 5])) == 7
