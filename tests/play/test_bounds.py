"""Payoff bounds that are estimated from plays, and bounds that are widened."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import accord
from accord.errors import ArgumentError, GameError, MismatchError
from accord.game.library import library_game
from accord.play.bounds import Bounded, bounded, noting
from accord.play.losses import Losses
from accord.reports.write import write_report
from tests.support.environments import Hidden, NoisyChicken


class Unknown(Hidden):
    """A game that does not say what it pays, and sometimes pays much."""

    def __init__(self, name: str = "kuhn", rare: int | None = None) -> None:
        super().__init__(library_game(name))
        self.payoff_bounds: Any = None
        self.rare, self.begun = rare, 0

    def reset(self, rng: np.random.Generator) -> None:
        self.begun += 1
        super().reset(rng)

    def payoffs(self) -> Any:
        paid = super().payoffs()
        return [10.0 * u for u in paid] if self.begun == self.rare else paid


class Stated(Unknown):
    """Another version of it that states bounds."""

    def __init__(self, *bounds: tuple[float, float], rare: int | None = None) -> None:
        super().__init__(rare=rare)
        self.payoff_bounds = list(bounds)


def test_bounds_are_estimated_and_marked(tmp_path: Path) -> None:
    learned = accord.learn(Unknown(), 1, episodes=300, plays=400, folder=tmp_path / "run")
    assert learned.bounds_estimated
    assert learned.payoff_bounds == ((-2.0, 2.0), (-2.0, 2.0))
    assert learned.certificate is not None and learned.certificate.bounds_estimated
    assert "payoff bounds were estimated from plays" in str(learned.certificate)
    kept = json.loads((tmp_path / "run" / "run.json").read_text())
    assert kept["asked"]["estimated"] is True
    assert kept["result"]["bounds_estimated"] is True
    assert kept["result"]["payoff_bounds"] == [[-2.0, 2.0], [-2.0, 2.0]]
    page = write_report(tmp_path / "run", tmp_path / "page.html")[0].read_text()
    assert "Payoff bounds were estimated from plays" in page


def test_stated_bounds_are_not_marked() -> None:
    learned = accord.learn(Hidden(library_game("kuhn")), 1, episodes=30, plays=40)
    assert not learned.bounds_estimated and "estimated from plays" not in str(learned.certificate)
    assert learned.to_json()["bounds_estimated"] is False


def test_estimated_bounds_change_nothing_but_their_mark() -> None:
    """Uniform plays of Kuhn poker show all its payoffs, so losses are the same to the bit."""
    told = accord.learn(Stated((-2, 2), (-2, 2)), 1, episodes=300, plays=400)
    found = accord.learn(Unknown(), 1, episodes=300, plays=400)
    assert np.array_equal(told.policy.behavior, found.policy.behavior)
    assert told.certificate is not None and found.certificate is not None
    assert told.certificate[1].upper == found.certificate[1].upper


def test_a_rare_payoff_widens_them_and_does_not_end_the_run() -> None:
    learned = accord.learn(Unknown(rare=5082), 1, episodes=6_000, plays=40)
    assert learned.episodes == 6_000
    assert learned.payoff_bounds is not None
    widest = max(best - worst for worst, best in learned.payoff_bounds)
    assert widest >= 12.0  # a bet of 10 or 20 beside one of -2


@pytest.mark.parametrize("late", [150, 450, 900])
def test_a_rare_payoff_among_fresh_plays_begins_the_certificate_again(late: int) -> None:
    """100 plays estimate, 30 learn, 20 give values, then come those of the certificate."""
    learned = accord.learn(Unknown(rare=late), 1, episodes=30, value_plays=20, plays=1_000)
    assert learned.payoff_bounds is not None and learned.certificate is not None
    assert max(best for _, best in learned.payoff_bounds) >= 10.0
    most = max(best - u for (_, best), u in zip(learned.payoff_bounds, learned.values, strict=True))
    assert learned.certificate[1].upper <= most + max(learned.certificate.value_errors) + 1e-9


def test_widened_losses_are_those_of_the_first_unit() -> None:
    env = Bounded(Unknown(), [(-1.0, 1.0), (-1.0, 1.0)])
    losses = Losses(env)
    assert losses.of([1.0, -1.0]) == [0.0, 1.0]
    assert losses.of([3.0, -5.0]) == [-1.0, 3.0]
    assert env.payoff_bounds == ((-1.0, 3.0), (-5.0, 1.0))
    clipped = Losses(env.for_certificate())
    assert clipped.of([9.0, -5.0]) == [0.0, 1.0]
    assert clipped.span == [4.0, 6.0]
    again = pickle.loads(pickle.dumps(env))
    assert again.payoff_bounds == env.payoff_bounds and again.name == env.name


def test_payoffs_must_be_finite_numbers_without_bounds_too() -> None:
    losses = Losses(noting(Unknown()))
    losses.of([1e6, -1e6])
    for wrong in ([1.0], [1.0, float("nan")], [1.0, "2"], 3.0):
        with pytest.raises(GameError, match=r"payoffs\(\) must be"):
            losses.of(wrong)  # type: ignore[arg-type]


def test_a_run_that_broke_its_bounds_is_resumed_with_wider_ones(tmp_path: Path) -> None:
    with pytest.raises(GameError, match="widen them, or set them to None") as broken:
        accord.learn(
            Stated((-2, 2), (-2, 2), rare=700), 1, episodes=1_200, plays=40, folder=tmp_path
        )
    assert broken.value.learned.episodes >= 600
    with pytest.raises(MismatchError, match="can only be widened"):
        accord.learn(
            Stated((-1, 1), (-2, 2)), 1, episodes=1_200, plays=40, folder=tmp_path, resume=True
        )
    wider = Stated((-20, 20), (-20, 20), rare=100)
    learned = accord.learn(wider, 1, episodes=1_200, plays=40, folder=tmp_path, resume=True)
    assert learned.episodes == 1_200 and not learned.bounds_estimated
    assert learned.payoff_bounds == ((-20.0, 20.0), (-20.0, 20.0))


def test_wider_bounds_leave_the_unit_of_a_resumed_run(tmp_path: Path) -> None:
    """A run goes on as if its bounds had never been widened, to the bit."""
    for name in ("same", "wider"):
        accord.learn(Stated((-2, 2), (-2, 2)), 1, episodes=600, plays=0, folder=tmp_path / name)
    same, wider = (
        accord.learn(
            Stated((-most, most), (-2, 2)), 1, episodes=900, plays=0, folder=tmp_path / name,
            resume=True,
        )
        for name, most in (("same", 2), ("wider", 50))
    )  # fmt: skip
    assert np.array_equal(same.policy.behavior, wider.policy.behavior)


def test_estimated_bounds_are_kept_in_checkpoints(tmp_path: Path) -> None:
    first = accord.learn(Unknown(rare=200), 1, episodes=300, plays=40, folder=tmp_path)
    assert first.payoff_bounds is not None
    again = accord.learn(Unknown(), 1, episodes=600, plays=40, folder=tmp_path, resume=True)
    assert again.payoff_bounds == first.payoff_bounds and again.bounds_estimated
    told = accord.learn(
        Stated((-20, 20), (-20, 20)), 1, episodes=900, plays=40, folder=tmp_path, resume=True
    )
    assert not told.bounds_estimated and told.payoff_bounds == ((-20.0, 20.0), (-20.0, 20.0))


def test_the_papers_method_needs_stated_bounds() -> None:
    with pytest.raises(ArgumentError, match="needs payoff bounds that are stated"):
        accord.learn(Unknown(), 1, episodes=3_000, method="swrhedge")


def test_bounds_of_noise_and_of_joint_plays() -> None:
    env = NoisyChicken()
    env.payoff_bounds = None  # type: ignore[assignment]
    joint = accord.learn(env, 1, episodes=200, plays=200, feedback="joint")
    assert joint.payoff_bounds == ((0.0, 7.0), (0.0, 7.0))
    several = accord.certify_by_play(env, joint, [0, 1], plays=200)
    assert several.bounds_estimated
    assert bounded(NoisyChicken(), 0).payoff_bounds is not None
