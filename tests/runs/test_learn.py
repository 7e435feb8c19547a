"""``learn`` on loaded games: what comes out, and what may go in."""

from __future__ import annotations

import math
import re
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accord.equilibrium.certificate import certify
from accord.equilibrium.correlated import CorrelatedPolicy
from accord.errors import ArgumentError, BudgetError
from accord.game.builder import GameBuilder
from accord.game.library import chicken, kuhn, library_game, matching_pennies
from accord.game.tree import Game
from accord.learning.sampled_self_play import SampledSelfPlay
from accord.regret.swrhedge import SWRHedge
from accord.runs.learn import learn, resume_learn
from accord.runs.loop import Checkpoint
from accord.runs.result import Learned
from accord.treeplex.form import sequence_form

METHODS = ("swrhedge", "rm")


def same(one: Learned, other: Learned) -> bool:
    return (
        one.policy.behavior.tobytes() == other.policy.behavior.tobytes()
        and one.gap == other.gap
        and one.values == other.values
    )


def test_the_result() -> None:
    game = kuhn()
    learned = learn(game, 1, episodes=10_001, seed=3, components=40)
    # C(3, 2) + 1 - 1 = 3 episodes for the first player, C(2, 2) = 1 for the second
    assert learned.episodes_per_iteration == 4
    assert learned.iterations == 2500
    assert learned.episodes == 10_000
    assert learned.policy.n_components == 40
    assert (learned.game, learned.k, learned.method) == (game, 1, "swrhedge")
    certificate = certify(game, learned.policy, 1)
    assert learned.gap == max(learned.player_gaps)
    assert learned.player_gaps == pytest.approx(certificate[1].player_gaps, abs=1e-12)
    assert learned.values == pytest.approx(certificate.values, abs=1e-12)
    assert learned.seconds > 0
    assert learned.to_json() == {
        "game": "kuhn",
        "k": 1,
        "method": "swrhedge",
        "episodes": 10_000,
        "iterations": 2500,
        "episodes_per_iteration": 4,
        "gap": learned.gap,
        "players": list(learned.player_gaps),
        "components": 40,
        "values": list(learned.values),
        "seconds": learned.seconds,
    }
    assert learn(game, math.inf, episodes=100).to_json()["k"] == "inf"


@pytest.mark.parametrize("method", METHODS)
def test_same_arguments_same_bits(method: str) -> None:
    game = library_game("kuhn:players=3")
    one, again, other = (
        learn(game, 1, episodes=5000, seed=seed, method=method, components=50) for seed in (1, 1, 2)
    )
    assert same(one, again)
    assert not same(one, other)


@pytest.mark.parametrize("method", METHODS)
def test_blocks_do_not_matter(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the clock cuts a run into calls, the result is the same."""
    game, seen = kuhn(), []
    whole = learn(game, 1, episodes=3000, seed=1, method=method, components=30)
    monkeypatch.setattr("accord.runs.loop.BLOCK_SECONDS", 0.0)  # one iteration at a time
    split = learn(
        game, 1, episodes=3000, seed=1, method=method, components=30, progress=seen.append
    )
    assert same(whole, split)
    played = [point.episodes for point in seen]
    assert played == sorted(played)
    assert played[-1] == 3000
    assert [point for point in seen if point.player_gaps] == list(split.history)
    assert [replace(p, seconds=0.0) for p in whole.history] == [
        replace(p, seconds=0.0) for p in split.history
    ]


@pytest.mark.slow
@pytest.mark.parametrize("game", [kuhn(), library_game("kuhn:players=3")], ids=["2", "3"])
@pytest.mark.parametrize("k", [0, 1, 2, math.inf])
def test_the_record_has_the_gaps_of_what_was_kept_so_far(game: Game, k: float) -> None:
    stride = 30
    each = learn(game, k, episodes=1000).episodes_per_iteration
    learned = learn(game, k, episodes=40 * stride * each, seed=4, components=40)
    for point in learned.history:
        count = point.iteration // stride
        part = CorrelatedPolicy(game, np.full(count, 1 / count), learned.policy.behavior[:count])
        certificate = certify(game, part, k)
        assert point.player_gaps == pytest.approx(certificate[k].player_gaps, abs=1e-12)
        assert point.gap == max(point.player_gaps)
        assert point.values == pytest.approx(certificate.values, abs=1e-12)
    assert learned.history[0].iteration >= stride
    assert len(learned.history) > 10
    assert (learned.history[-1].gap, learned.history[-1].episodes) == (
        learned.gap,
        learned.episodes,
    )


def test_an_extended_run_measures_what_it_saves(tmp_path: Path) -> None:
    """More episodes than planned thin the iterates: the gap is that of those that are left."""
    game = kuhn()
    learn(game, 1, episodes=4000, components=40, folder=tmp_path / "run")
    for episodes in (7000, 9000, 30_000):
        longer = resume_learn(game, tmp_path / "run", episodes=episodes)
        assert longer.policy.n_components == 40
        assert longer.gap == pytest.approx(certify(game, longer.policy, 1)[1].gap, abs=1e-12)
        assert longer.certificate[1].gap == pytest.approx(longer.gap, abs=1e-12)


def test_interrupted_before_anything_was_kept(tmp_path: Path) -> None:
    game, whole = kuhn(), learn(kuhn(), 1, episodes=40_000, components=1)

    def interrupt(point: Checkpoint) -> None:
        if point.iteration == 1:
            assert math.isnan(point.gap)
            signal.raise_signal(signal.SIGINT)

    part = learn(
        game, 1, episodes=40_000, components=1, folder=tmp_path / "run", progress=interrupt
    )
    assert part.interrupted
    assert part.policy.n_components == 1
    assert part.iterations < 100
    rest = resume_learn(game, tmp_path / "run")
    assert same(rest, whole)


def test_the_iterates_are_self_plays() -> None:
    game = kuhn()
    learned = learn(game, 1, episodes=400, seed=9, components=10, learning_rate_scale=5.0)
    form = sequence_form(game)
    play = SampledSelfPlay.of(form, 1, 400, np.random.default_rng(9), method=SWRHedge(scale=5.0))
    kept = np.empty((100, form.n_sequences))
    play.advance(100, kept)
    np.testing.assert_array_equal(learned.policy.behavior, kept[9::10])
    np.testing.assert_array_equal(learned.policy.weights, 0.1)


@pytest.mark.parametrize("components", [1, 7, 25, 100, 1000])
def test_components(components: int) -> None:
    learned = learn(matching_pennies(), 1, episodes=60, components=components)
    assert learned.iterations == 30
    assert learned.policy.n_components == min(components, 30)


# --- it learns ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "k", "few", "many"),
    [
        ("swrhedge", 0, 0.11, 0.05),
        ("swrhedge", 1, 0.11, 0.05),
        ("swrhedge", math.inf, 0.12, 0.06),
        ("rm", 0, 0.02, 0.008),
        ("rm", 1, 0.02, 0.008),
        ("rm", math.inf, 0.03, 0.012),
    ],
)
def test_kuhn_gets_better(method: str, k: float, few: float, many: float) -> None:
    """Seeds are fixed, so these are facts; the bounds leave room for other machines' rounding."""
    gaps = [learn(kuhn(), k, episodes=n, method=method).gap for n in (40_000, 400_000)]
    assert gaps[0] < few
    assert gaps[1] < many
    assert gaps[1] < 0.7 * gaps[0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["chicken", "shapley", "signalling", "separation:k=1"])
def test_small_games(name: str, method: str) -> None:
    game = library_game(name)
    span = float(sequence_form(game).leaves.payoff_range.max())
    assert learn(game, 1, episodes=100_000, method=method, seed=1).gap < 0.03 * span


def test_values_of_matching_pennies() -> None:
    learned = learn(matching_pennies(), 1, episodes=200_000, method="rm")
    np.testing.assert_allclose(learned.values, np.mean(learned.values) * np.ones(2), atol=0.01)


def test_the_multiplier_on_the_learning_rate() -> None:
    """It is as if the rate had been that much larger: too small a one has not learned anything."""
    game = kuhn()
    slow, slower = (learn(game, 1, episodes=40_000, learning_rate_scale=c) for c in (0.1, 0.01))
    assert learn(game, 1, episodes=40_000).gap < 0.5 * slow.gap < 0.5 * slower.gap
    form, play = sequence_form(game), {}
    for scale in (1.0, 4.0, 1e100):
        rng = np.random.default_rng(0)
        play[scale] = SampledSelfPlay.of(form, 1, 40_000, rng, method=SWRHedge(scale=scale))
    np.testing.assert_allclose(play[4.0].schedule.rates, 4 * play[1.0].schedule.rates, rtol=1e-15)
    assert (play[1e100].schedule.rates <= 1e100).all()


def test_long_corridors_are_explored() -> None:
    """Uniform play would get to the end of a corridor once in 2^12 episodes."""
    game = library_game("unbalanced:horizon=12,actions=2")
    assert learn(game, 1, episodes=200_000, method="rm").gap < 0.05


# --- trivial games --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_games_without_choices(method: str) -> None:
    builder = GameBuilder("one way", players=2)  # the second player never moves
    builder.move(player="1", infoset="here", actions="go")
    builder.move("go", player="1", infoset="there", actions="on")
    builder.payoff("go on", 3, 4)
    learned = learn(builder.build(), 1, episodes=50, method=method)
    assert learned.gap == 0.0
    assert learned.values == (3.0, 4.0)
    assert learned.episodes_per_iteration == 3


@pytest.mark.parametrize("method", METHODS)
def test_constant_payoffs(method: str) -> None:
    builder = GameBuilder("constant", players=1)
    builder.move(player="1", infoset="x", actions="a b")
    builder.payoff("a", 7)
    builder.payoff("b", 7)
    learned = learn(builder.build(), 1, episodes=50, method=method)
    assert learned.gap == 0.0
    assert learned.values == (7.0,)


@pytest.mark.parametrize("method", METHODS)
def test_scale_and_shift_of_payoffs_change_nothing(method: str) -> None:
    def make(scale: float, shift: float) -> Any:
        builder = GameBuilder("coin", players=2)
        builder.move(player="1", infoset="x", actions="h t")
        builder.move("h", "t", player="2", infoset="y", actions="h t")
        for play, u, v in (("h h", 1, 0), ("h t", 0, 1), ("t h", 0, 1), ("t t", 1, 0)):
            builder.payoff(play, scale * u + shift, scale * v + shift)
        return builder.build()

    small = learn(make(1.0, 0.0), 1, episodes=4000, method=method)
    large = learn(make(2.0**40, 2.0**41), 1, episodes=4000, method=method)
    assert small.policy.behavior.tobytes() == large.policy.behavior.tobytes()
    assert large.gap == pytest.approx(2.0**40 * small.gap, rel=1e-6)


# --- bad arguments --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": -1}, "k must be a whole number of deviations"),
        ({"k": 1.5}, "k must be"),
        ({"k": math.nan}, "k must be"),
        ({"k": True}, "k must be"),
        ({"episodes": 0}, "episodes must be a whole number, 1 or more; got 0"),
        ({"episodes": -5}, "episodes must be a whole number"),
        ({"episodes": 1e4}, "episodes must be a whole number, 1 or more; got 10000.0"),
        ({"episodes": True}, "episodes must be a whole number"),
        ({"episodes": "many"}, "episodes must be a whole number"),
        (
            {"episodes": 3},
            "episodes must be at least 4, enough for one iteration; got 3; play more",
        ),
        ({"seed": -1}, "seed must be a whole number, 0 or more; got -1"),
        ({"seed": 0.5}, "seed must be a whole number"),
        ({"seed": None}, "seed must be a whole number"),
        ({"components": 0}, "components must be a whole number, 1 or more; got 0"),
        ({"components": 2.0}, "components must be a whole number"),
        ({"failure_prob": 0.0}, "failure_prob must be between 0 and 1, both excluded; got 0.0"),
        ({"failure_prob": 1.0}, "failure_prob must be"),
        ({"failure_prob": math.nan}, "failure_prob must be"),
        ({"method": "wrhedge"}, "method must be one of swrhedge, rm; got 'wrhedge'"),
        ({"method": 0}, "method must be one of"),
        ({"learning_rate_scale": 0.0}, "learning_rate_scale must be positive"),
        ({"learning_rate_scale": -1.0}, "learning_rate_scale must be positive"),
        ({"learning_rate_scale": math.inf}, "learning_rate_scale must be positive"),
        ({"learning_rate_scale": math.nan}, "learning_rate_scale must be positive"),
        (
            {"learning_rate_scale": 2.0, "method": "rm"},
            "needs a named method with a learning rate",
        ),
    ],
)
def test_bad_values(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        learn(kuhn(), **{"episodes": 100, **arguments})


def test_what_is_no_game() -> None:
    with pytest.raises(ArgumentError, match="got 'kuhn'"):
        learn("kuhn", episodes=100)  # type: ignore[arg-type]


def test_numpy_numbers_will_do() -> None:
    learned = learn(chicken(), np.int64(1), episodes=np.int32(100), seed=np.uint8(1))
    assert learned.episodes == 100


def test_too_large_at_this_k() -> None:
    game = library_game("unbalanced:horizon=60,actions=3")
    with pytest.raises(BudgetError, match="try a smaller k"):
        learn(game, math.inf, episodes=10**6)


def test_results_are_shown_in_one_line() -> None:
    learned = learn(kuhn(), math.inf, episodes=400)
    assert re.fullmatch(
        r"Learned\('kuhn', k=inf, method='swrhedge', episodes=399, gap=[\d.]+\)", repr(learned)
    )
