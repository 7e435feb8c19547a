"""What a progress callback can do with the policy of a moment, and bounds at checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import accord
from accord.errors import ArgumentError
from accord.exports.trackers import scalars
from accord.game.library import library_game
from accord.reports.source import source_of_result
from accord.reports.write import write_report
from accord.runs.checkpoint import Checkpoint
from accord.runs.iterations import is_doubling, next_checkpoint
from tests.support.environments import Hidden

KUHN = library_game("kuhn")


def noted(run: Any, **options: Any) -> list[tuple[Checkpoint, Any]]:
    seen: list[tuple[Checkpoint, Any]] = []
    run(progress=lambda point: seen.append((point, point.policy)) and None, **options)
    return seen


@pytest.mark.parametrize(
    "run",
    [
        lambda **options: accord.solve(KUHN, 1, iterations=20, **options),
        lambda **options: accord.learn(KUHN, 1, episodes=600, **options),
        lambda **options: accord.learn(Hidden(KUHN), 1, episodes=600, plays=0, **options),
        lambda **options: accord.learn(KUHN, 1, episodes=600, feedback="joint", **options),
    ],
)
def test_callbacks_see_the_policy(run: Any) -> None:
    found = noted(run)
    point, policy = found[-1]
    assert isinstance(policy, accord.CorrelatedPolicy)
    assert point.policy is policy  # it was made once, and stays
    assert policy.weights.sum() == pytest.approx(1.0)


def test_its_gap_is_that_of_the_checkpoint() -> None:
    """As long as all components that are kept would be saved."""
    run = lambda **options: accord.learn(KUHN, 1, episodes=900, components=300, **options)  # noqa: E731
    for point, policy in noted(run):
        if policy is not None:
            gap = accord.certify(KUHN, policy, 1)[1].gap
            assert gap == pytest.approx(point.gap, abs=1e-9)


def test_the_policy_changes_nothing_and_ends_a_run_early() -> None:
    plain = accord.learn(KUHN, 1, episodes=3_000)

    def good(point: Checkpoint) -> bool:
        return point.policy is not None and accord.certify(KUHN, point.policy, 0)[0].gap < 0.1

    watched = accord.learn(KUHN, 1, episodes=3_000, progress=lambda point: point.policy and None)
    assert np.array_equal(plain.policy.behavior, watched.policy.behavior)
    stopped = accord.learn(KUHN, 1, episodes=100_000, progress=good)
    assert stopped.episodes < 100_000


def test_a_policy_that_is_asked_for_too_late() -> None:
    points: list[Checkpoint] = []
    result = accord.learn(KUHN, 1, episodes=600, progress=points.append)
    with pytest.raises(ArgumentError, match="while progress is called"):
        _ = points[-1].policy
    assert all(point.moment is None for point in result.history)


def test_bounds_at_checkpoints(tmp_path: Path) -> None:
    """They are of fresh plays, learners do not notice them, and all outputs have them."""
    env = Hidden(KUHN)
    plain = accord.learn(env, 1, episodes=600, plays=200)
    learned = accord.learn(
        env, 1, episodes=600, plays=200, checkpoint_plays=100, folder=tmp_path / "run"
    )
    assert np.array_equal(plain.policy.behavior, learned.policy.behavior)
    bounded = [point for point in learned.history if point.seen and point.seen.lower is not None]
    assert 5 <= len(bounded) <= 12  # about one for each power of two, and the last
    assert len([1 for point in plain.history if point.seen and point.seen.lower is not None]) == 1
    for point in bounded:
        assert point.seen is not None and point.seen.lower is not None
        assert point.seen.upper is not None and point.seen.lower <= point.seen.upper
        assert Checkpoint.from_json(point.to_json()).to_json() == point.to_json()
        assert {"gap/lower", "gap/upper"} <= scalars(point, KUHN.player_labels).keys()
    assert learned.certificate is not None and bounded[-1].seen is not None
    assert bounded[-1].seen.upper == learned.certificate[1].upper
    assert learned.plot() is not None
    drawn = source_of_result(learned).facts.learning
    assert sum(seen.lower is not None for _, seen in drawn) == len(bounded)
    page = write_report(tmp_path / "run", tmp_path / "page.html")[0].read_text()
    assert "confidence on its own; that all hold at the same time is less certain" in page
    again = accord.learn(
        env, 1, episodes=600, plays=200, checkpoint_plays=100, folder=tmp_path / "run", resume=True
    )
    assert [point.to_json() for point in again.history] == [
        point.to_json() for point in learned.history
    ]


def test_bounds_at_checkpoints_hold() -> None:
    """With 40 runs of few plays, far more than 95% of all bounds contain the exact gap."""
    env, outside, total = Hidden(KUHN), 0, 0
    for seed in range(10):
        exact: dict[int, float] = {}

        def note(point: Checkpoint, exact: dict[int, float] = exact) -> None:
            if point.policy is not None:
                exact[point.iteration] = accord.certify(KUHN, point.policy.in_game(KUHN), 1)[1].gap

        learned = accord.learn(
            env, 1, episodes=300, plays=0, checkpoint_plays=60, seed=seed, progress=note
        )
        for point in learned.history:
            if point.seen is not None and point.seen.lower is not None and point.iteration in exact:
                assert point.seen.upper is not None
                total += 1
                gap = exact[point.iteration]
                outside += not point.seen.lower <= gap <= point.seen.upper
    assert total > 40 and outside <= 0.05 * total


def test_what_doubles() -> None:
    points = [n for n in range(1, 3_000) if is_doubling(n, 3)]
    assert all(n == next_checkpoint(n - 1) for n in points)
    assert len({(3 * n).bit_length() for n in points}) == len(points)


def test_wrong_numbers_of_plays() -> None:
    with pytest.raises(ArgumentError, match="checkpoint_plays must be 0 or at least 40; got 39"):
        accord.learn(Hidden(KUHN), 1, episodes=300, checkpoint_plays=39)
    with pytest.raises(ArgumentError, match="checkpoint_plays is for environments"):
        accord.learn(KUHN, 1, episodes=300, checkpoint_plays=100)
