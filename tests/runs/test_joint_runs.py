"""Runs that learn from joint plays: folders, resuming, workers, refusals."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accord.errors import ArgumentError, MismatchError, ParseError
from accord.game.library import kuhn
from accord.interop.openspiel_env import OpenSpielEnvironment
from accord.interop.pettingzoo import PettingZooEnvironment
from accord.runs.checkpoint import Checkpoint
from accord.runs.learn import learn
from accord.runs.result import Learned
from accord.treeplex.form import sequence_form
from tests.support.command import refused, run, run_json
from tests.support.environments import Hidden, NoisyChicken, Open
from tests.support.pettingzoo_envs import Pennies
from tests.support.policies import grown_game
from tests.support.resuming import resume

JOINT = {"feedback": "joint", "seed": 3}


def same(one: Learned, other: Learned) -> None:
    np.testing.assert_array_equal(one.policy.behavior, other.policy.behavior)
    np.testing.assert_array_equal(one.policy.weights, other.policy.weights)


@pytest.mark.parametrize("playable", [kuhn(), Hidden(kuhn()), Open(kuhn())])
@pytest.mark.parametrize("first", [400, 1000, 1017])
def test_a_resumed_run_has_the_same_bits(playable: Any, first: int, tmp_path: Path) -> None:
    whole = learn(playable, 1, episodes=1300, **JOINT)
    learn(playable, 1, episodes=first, folder=tmp_path / "run", **JOINT)
    same(resume(playable, tmp_path / "run", episodes=1300), whole)


@pytest.mark.parametrize("kind", [Hidden, Open])
def test_workers_do_not_change_the_bits(kind: Any) -> None:
    env = kind(kuhn())
    alone = learn(env, 1, episodes=1100, **JOINT)
    same(learn(env, 1, episodes=1100, workers=2, **JOINT), alone)


@pytest.mark.parametrize("k", [0, 1, 2, math.inf])
@pytest.mark.parametrize("game", [grown_game(2, 2, 60), grown_game(3, 3, 60), kuhn()])
def test_the_gap_of_what_is_saved_is_small(game: Any, k: float) -> None:
    learned = learn(game, k, episodes=20_000, **JOINT)
    assert learned.gap <= 0.03 * sequence_form(game).leaves.payoff_range.max()
    assert learned.certificate is not None
    assert math.isclose(learned.certificate[k].gap, learned.gap, abs_tol=1e-12)
    assert learned.history[-1].covered == 1.0
    assert learned.policy.n_components == 200


def test_told_chance_needs_fewer_plays_than_counted_chance() -> None:
    """Once everything was seen, an environment that tells its chances is known exactly."""
    game = kuhn()
    told = learn(Open(game), 1, episodes=2000, game=game, **JOINT)
    counted = learn(Hidden(game), 1, episodes=2000, game=game, **JOINT)
    assert told.gap < 0.1 * counted.gap
    assert told.gap < 1e-3


def test_openspiel_tells_its_chances() -> None:
    learned = learn(OpenSpielEnvironment("kuhn_poker"), 1, episodes=1500, **JOINT)
    assert max(abs(learned.values[0] + 1 / 18), abs(learned.values[1] - 1 / 18)) < 0.1


def test_pettingzoo_is_learned_from_joint_plays() -> None:
    """Matching pennies with a public coin: after heads the edge is never better, so all is fair."""
    env = PettingZooEnvironment(Pennies(), (-1.0, 1.0))
    learned = learn(env, 1, episodes=2000, **JOINT)
    same(learn(env, 1, episodes=2000, workers=2, **JOINT), learned)
    assert learned.history[-1].covered == 1.0
    assert learned.certificate is not None
    assert learned.certificate[1].upper < 0.5  # of 2, between winning and losing
    own = learn(env, 1, episodes=2000, seed=3)
    assert own.certificate is not None
    assert learned.certificate[1].upper < own.certificate[1].upper


def test_what_is_learned_follows_the_components_that_are_asked_for() -> None:
    learned = learn(kuhn(), 1, episodes=1500, components=7, **JOINT)
    assert learned.policy.n_components == 7
    assert learned.request.method == "prm+"
    assert learn(kuhn(), 1, episodes=1, components=1, **JOINT).policy.n_components == 1


def test_progress_says_how_much_is_covered(tmp_path: Path) -> None:
    seen: list[Checkpoint] = []
    learn(kuhn(), 1, episodes=5000, folder=tmp_path / "run", progress=seen.append, **JOINT)
    assert [point.covered for point in seen] == [1.0] * len(seen)
    assert [point.episodes for point in seen] == [500, 1000, 2000, 4000, 5000]
    for point in seen:
        assert Checkpoint.from_json(point.to_json()) == point


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"feedback": "both"}, "feedback must be one of own, joint; got 'both'"),
        ({"method": "rm"}, "method is for feedback='own'"),
        ({"method": "swrhedge", "learning_rate_scale": 2.0}, "method is for feedback='own'"),
        ({"exploration": "uniform"}, "exploration is for feedback='own'"),
        ({"learning_rate_scale": 2.0}, "learning_rate_scale is for feedback='own'"),
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        learn(kuhn(), 1, episodes=100, **{**JOINT, **given})


def test_what_does_not_fit_an_environment_is_refused() -> None:
    with pytest.raises(ArgumentError, match="batch is for feedback='own'"):
        learn(NoisyChicken(), 1, episodes=100, batch=2, **JOINT)
    with pytest.raises(ArgumentError, match="plexes are for feedback='own'"):
        learn(Hidden(kuhn()), 1, episodes=9, plexes=sequence_form(kuhn()).plexes, **JOINT)


def test_feedback_cannot_change_when_a_run_is_resumed(tmp_path: Path) -> None:
    learn(kuhn(), 1, episodes=300, seed=3, folder=tmp_path / "run")
    with pytest.raises(MismatchError):
        learn(kuhn(), 1, episodes=600, folder=tmp_path / "run", resume=True, **JOINT)


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    learn(kuhn(), 1, episodes=1100, folder=folder, **JOINT)
    with np.load(folder / "checkpoint.npz") as content:
        state = dict(content)
    state["play_joint_node_edge"][-1] = 10**6
    np.savez(folder / "checkpoint.npz", **state)
    with pytest.raises(ParseError):
        resume(kuhn(), folder, episodes=2000)


def test_the_command(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    joint = ("learn", "kuhn", "--episodes", 1500, "--feedback", "joint")
    text = run(*joint, "--out", folder).stdout
    assert "EFCE learned by prm+ from 1,500 joint plays" in text
    assert run_json("learn", "--resume", folder, "--episodes", 3000)["episodes"] == 3000
    assert "feedback" in refused("learn", "--resume", folder, "--feedback", "own")
    assert "method is for" in refused(*joint, "--method", "rm")


def test_a_sweep_compares_what_learners_see(tmp_path: Path) -> None:
    asked = ("sweep", "kuhn", "--episodes", 900, "--seeds", 2, "--feedback", "own")
    out = ("--out", tmp_path / "runs")
    runs = run_json(*asked, "--feedback", "joint", *out)["runs"]
    assert [(one.get("feedback", "own"), one["method"], one["seed"]) for one in runs] == [
        (feedback, method, seed)
        for feedback, method in (("own", "prm"), ("joint", "prm+"))
        for seed in range(2)
    ]
    assert max(one["gap"] for one in runs[2:]) < min(one["gap"] for one in runs[:2])
    alone = learn(kuhn(), 1, episodes=900, seed=1, feedback="joint")
    assert runs[-1]["gap"] == alone.gap
    assert "--feedback must be one of own, joint" in refused(*asked, "--feedback", "all", *out)
    assert "--method is for" in refused(*asked, "--feedback", "joint", "--method", "rm", *out)
    solved = ("sweep", "kuhn", "--iterations", 9, "--feedback", "joint", *out)
    assert "--feedback needs --episodes" in refused(*solved)
