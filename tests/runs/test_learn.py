"""``learn`` on loaded games: what comes out, and what may go in."""

from __future__ import annotations

import json
import math
import re
import signal
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accord._arrays import Floats
from accord.certifying.exact import certify
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError, BudgetError
from accord.game.builder import GameBuilder
from accord.game.library import chicken, kuhn, library_game, matching_pennies
from accord.game.tree import Game
from accord.learning.simulator_play import SimulatorPlay
from accord.regret.methods import SAMPLED_METHODS
from accord.regret.sampled_matching import SampledRegretMatching
from accord.regret.swrhedge import SWRHedge
from accord.regret.wrhedge import WRHedge
from accord.runs.checkpoint import Checkpoint
from accord.runs.learn import learn
from accord.runs.request import LearnRequest
from accord.runs.result import Learned
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import Treeplex
from tests.support.resuming import resume

METHODS = tuple(SAMPLED_METHODS)


def same(one: Learned, other: Learned) -> bool:
    return (
        one.policy.behavior.tobytes() == other.policy.behavior.tobytes()
        and one.gap == other.gap
        and one.values == other.values
    )


@pytest.mark.parametrize(
    ("options", "method", "each", "iterations"),
    [
        ({}, "prm", 3, 3333),  # one episode that all learn from, and one for each player
        ({"method": "rm"}, "rm", 3, 3333),
        # C(3, 2) + 1 - 1 = 3 episodes for the first player, C(2, 2) = 1 for the second
        ({"method": "swrhedge"}, "swrhedge", 4, 2500),
    ],
)
def test_the_result(options: dict[str, Any], method: str, each: int, iterations: int) -> None:
    game = kuhn()
    learned = learn(game, 1, episodes=10_001, seed=3, components=40, **options)
    assert learned.episodes_per_iteration == each
    assert learned.iterations == iterations
    assert learned.episodes == each * iterations
    assert learned.policy.n_components == 40
    assert (learned.game, learned.k, learned.method) == (game, 1, method)
    certificate = certify(game, learned.policy, 1)
    assert learned.gap == max(learned.player_gaps)
    assert learned.player_gaps == pytest.approx(certificate[1].player_gaps, abs=1e-12)
    assert learned.values == pytest.approx(certificate.values, abs=1e-12)
    assert learned.seconds > 0
    assert learned.to_json() == {
        "game": "kuhn",
        "k": 1,
        "method": method,
        "episodes": each * iterations,
        "iterations": iterations,
        "episodes_per_iteration": each,
        "gap": learned.gap,
        "players": list(learned.player_gaps),
        "error": learned.error,
        "components": 40,
        "values": list(learned.values),
        "value_error": learned.value_error,
        "advice": learned.advice,
        "seconds": learned.seconds,
    }
    assert learn(game, math.inf, episodes=100, **options).to_json()["k"] == "inf"


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


@pytest.mark.parametrize("method", METHODS)
def test_an_extended_run_measures_what_it_saves(method: str, tmp_path: Path) -> None:
    """More episodes than planned thin the iterates: the gap is that of those that are left."""
    game = kuhn()
    learn(game, 1, episodes=4000, components=40, method=method, folder=tmp_path / "run")
    for episodes in (7000, 9000, 30_000):
        longer = resume(game, tmp_path / "run", episodes=episodes)
        assert longer.policy.n_components == 40
        assert longer.gap == pytest.approx(certify(game, longer.policy, 1)[1].gap, abs=1e-12)
        assert longer.certificate[1].gap == pytest.approx(longer.gap, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_interrupted_before_anything_was_kept(method: str, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"episodes": 40_000, "components": 1, "method": method}
    game, whole = kuhn(), learn(kuhn(), 1, **asked)

    def interrupt(point: Checkpoint) -> None:
        if point.iteration == 1:
            assert math.isnan(point.gap)
            signal.raise_signal(signal.SIGINT)

    part = learn(game, 1, **asked, folder=tmp_path / "run", progress=interrupt)
    assert part.interrupted
    assert part.policy.n_components == 1
    assert part.iterations < 100
    rest = resume(game, tmp_path / "run")
    assert same(rest, whole)


def test_the_iterates_are_self_plays() -> None:
    game = kuhn()
    learned = learn(
        game, 1, episodes=400, seed=9, components=10, method="swrhedge", learning_rate_scale=5.0
    )
    form = sequence_form(game)
    play = SimulatorPlay(form, 1, 400, np.random.default_rng(9), method=SWRHedge(scale=5.0))
    kept = np.empty((100, form.n_sequences))
    play.advance(100, kept)
    np.testing.assert_array_equal(learned.policy.behavior, kept[9::10])
    np.testing.assert_array_equal(learned.policy.weights, 0.1)


@pytest.mark.parametrize("components", [1, 7, 25, 100, 1000])
@pytest.mark.parametrize(("method", "episodes"), [("prm", 90), ("rm", 90), ("swrhedge", 60)])
def test_components(method: str, episodes: int, components: int) -> None:
    learned = learn(matching_pennies(), 1, episodes=episodes, components=components, method=method)
    assert learned.iterations == 30
    assert learned.policy.n_components == min(components, 30)


# --- components that average ----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("method", ["prm", "rm"])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize(
    ("components", "averages"),
    [(1, 10), (2, 5), (10, 4), (12, 4), (13, 3), (22, 2), (26, 1), (44, 1), (133, 1)],
)
def test_components_average_evenly_spaced_iterates(
    components: int, averages: int, k: float, method: str
) -> None:
    """400 episodes of 3 decisions visit 12 infosets 100 times; a half or a tenth of it is free."""
    game, episodes = kuhn(), 400
    form = sequence_form(game)
    learned = learn(game, k, episodes=episodes, seed=9, components=components, method=method)
    iterations = learned.iterations
    assert iterations == 133
    single = replace(SAMPLED_METHODS[method].config, averages=1)
    play = SimulatorPlay(form, k, episodes, np.random.default_rng(9), method=single)
    kept = np.empty((iterations, form.n_sequences))
    assert play.advance(iterations, kept) == iterations
    stride = iterations // components
    ends = [math.ceil((n + 1) * stride / averages) for n in range(averages)]
    assert learned.policy.n_components == components
    for c, component in enumerate(learned.policy.behavior):
        stretch = [c * stride + end - 1 for end in ends]
        for i, plex in enumerate(form.plexes):
            own = form.split(component)[i]
            iterates = [form.split(kept[t])[i] for t in stretch]
            reach = sum(np.array(reach_of(plex, iterate)) for iterate in iterates)
            for x in range(plex.n_infosets):
                seqs = slice(plex.first_seq[x], plex.first_seq[x + 1])
                if (total := reach[seqs].sum()) > 1e-9:
                    np.testing.assert_allclose(own[seqs], reach[seqs] / total, atol=1e-12)
                assert own[seqs].sum() == pytest.approx(1.0)


def reach_of(plex: Treeplex, behavior: Floats) -> list[float]:
    """The product of the probabilities of all own moves up to each sequence."""
    reach = [1.0] * plex.n_sequences
    for x in range(plex.n_infosets):
        for seq in range(plex.first_seq[x], plex.first_seq[x + 1]):
            reach[seq] = reach[plex.parent_seq[x]] * float(behavior[seq])
    return reach


@pytest.mark.parametrize(
    ("episodes", "method", "components"),
    [
        (30, "prm", 10),  # every iterate
        (300, "prm", 50),  # 37 would take half of the time, but 50 are the fewest
        (1600, "prm", 200),  # 1,600 episodes of 3 decisions, half of it, for 12 infosets
        (1600, "rm", 200),
        (9000, "prm", 1000),
        (1600, "swrhedge", 400),  # every iterate
        (9000, "swrhedge", 1000),
    ],
)
def test_how_many_components_are_saved_by_default(
    episodes: int, method: str, components: int
) -> None:
    assert learn(kuhn(), 1, episodes=episodes, method=method).policy.n_components == components


def test_components_may_average_more_or_fewer() -> None:
    """One component of three iterates is their mean where the player always decides."""
    game = matching_pennies()
    form, asked = sequence_form(game), {"episodes": 9, "seed": 2}
    three = learn(game, 1, components=1, method=SampledRegretMatching(averages=3), **asked)
    each = learn(game, 1, components=3, method=SampledRegretMatching(averages=1), **asked)
    assert three.iterations == each.policy.n_components == 3
    assert form.n_sequences == 6
    np.testing.assert_allclose(
        three.policy.behavior[0], each.policy.behavior.mean(axis=0), atol=1e-15
    )


# --- exploration ----------------------------------------------------------------------------------

WHOLE = SWRHedge(whole_plays=True)


@pytest.mark.parametrize(
    ("method", "default", "others"),
    [
        ("prm", "spread", ["uniform", "balanced"]),
        ("rm", "spread", ["uniform", "balanced"]),
        ("swrhedge", "balanced", ["uniform"]),
        (WHOLE, "balanced", []),
    ],
)
def test_every_method_explores_in_its_own_way(
    method: Any, default: str, others: list[str], tmp_path: Path
) -> None:
    game = library_game("unbalanced:horizon=3,actions=2")  # where they differ

    def run(exploration: str | None) -> Learned:
        name = tmp_path / str(exploration)
        options: dict[str, Any] = {"method": method, "exploration": exploration, "folder": name}
        return learn(game, 1, episodes=600, components=20, **options)

    unsaid = run(None)
    asked = json.loads((tmp_path / "None" / "run.json").read_text())["asked"]
    assert asked["exploration"] == default
    assert same(unsaid, run(default))
    for other in others:
        assert not same(unsaid, run(other))
    known = ", ".join([default, *others])
    for unknown in {"spread", "uniform", "balanced", "none"} - {default, *others}:
        with pytest.raises(ArgumentError, match=f"exploration must be one of {known}; got"):
            run(unknown)
    with pytest.raises(ArgumentError, match=r"exploration must be a name, .* or a function .* 7"):
        run(7)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["prm", "rm"])
def test_balanced_exploration_of_whole_plays_takes_the_papers_episodes(method: str) -> None:
    learned = learn(kuhn(), 1, episodes=10_001, method=method, exploration="balanced")
    assert (learned.episodes_per_iteration, learned.episodes) == (4, 10_000)
    assert learned.gap < 0.05


# --- configured minimizers ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [
        WHOLE,
        SWRHedge(scale=3.0, failure_prob=0.1, whole_plays=True),
        SampledRegretMatching(window=2.0, shared=2, follow=0.5, averages=3),
        SampledRegretMatching(window=0.0, shared=0, baseline_rate=0.0, trace=1.0),
        SampledRegretMatching(shared=np.int64(2), averages=np.int32(2)),
    ],
)
def test_a_configured_minimizer_is_kept_and_resumed(method: Any, tmp_path: Path) -> None:
    game, folder = kuhn(), tmp_path / "run"
    asked: dict[str, Any] = {"episodes": 4000, "components": 20, "seed": 5, "method": method}
    first = learn(game, 1, **asked, folder=folder)
    kept = json.loads((folder / "run.json").read_text())["asked"]
    assert (first.method, kept["method"]) == (method.name, method.name)
    assert kept["options"] == asdict(method)
    assert LearnRequest.from_json(kept).minimizer == method
    assert same(first, learn(game, 1, **asked))
    assert same(first, resume(game, folder))

    sent = []

    def interrupt(point: Checkpoint) -> None:
        if point.iteration > 100 and not sent:
            sent.append(point)
            signal.raise_signal(signal.SIGINT)

    part = learn(game, 1, **asked, folder=tmp_path / "part", progress=interrupt)
    assert part.interrupted
    assert part.iterations < first.iterations
    assert same(first, resume(game, tmp_path / "part"))


def test_shared_episodes_are_as_many_as_configured() -> None:
    for shared in (0, 1, 5):
        learned = learn(kuhn(), 1, episodes=1000, method=SampledRegretMatching(shared=shared))
        assert learned.episodes_per_iteration == shared + 2


def test_swrhedge_learns_from_whole_plays() -> None:
    """At the same learning rate, from the same number of episodes; seeds are fixed."""
    asked: dict[str, Any] = {"episodes": 40_000, "seed": 1}
    learned = learn(kuhn(), 1, **asked, method=WHOLE)
    assert learned.episodes_per_iteration == 4
    assert learned.policy.n_components == 1000
    assert learned.gap < 0.11


# --- it learns ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "k", "few", "many"),
    [
        ("swrhedge", 0, 0.11, 0.05),
        ("swrhedge", 1, 0.11, 0.05),
        ("swrhedge", math.inf, 0.12, 0.06),
        ("prm", 0, 0.02, 0.008),
        ("prm", 1, 0.02, 0.008),
        ("prm", math.inf, 0.03, 0.012),
        ("rm", 0, 0.02, 0.008),
        ("rm", 1, 0.02, 0.008),
        ("rm", math.inf, 0.03, 0.012),
    ],
)
def test_kuhn_gets_better(method: str, k: float, few: float, many: float) -> None:
    """Seeds are fixed, so these are facts; the bounds leave room for other machines' rounding."""
    gaps = [learn(kuhn(), k, episodes=n, method=method, seed=3).gap for n in (40_000, 400_000)]
    assert gaps[0] < few
    assert gaps[1] < many
    assert gaps[1] < 0.7 * gaps[0]


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["chicken", "shapley", "signalling", "separation:k=1"])
def test_small_games(name: str, method: str) -> None:
    game = library_game(name)
    span = float(sequence_form(game).leaves.payoff_range.max())
    assert learn(game, 1, episodes=100_000, method=method, seed=1).gap < 0.03 * span


@pytest.mark.parametrize("method", ["prm", "rm"])
def test_values_of_matching_pennies(method: str) -> None:
    learned = learn(matching_pennies(), 1, episodes=200_000, method=method)
    np.testing.assert_allclose(learned.values, np.mean(learned.values) * np.ones(2), atol=0.01)


def test_the_multiplier_on_the_learning_rate() -> None:
    """It is as if the rate had been that much larger: too small a one has not learned anything."""
    game, asked = kuhn(), {"episodes": 40_000, "method": "swrhedge"}
    slow, slower = (learn(game, 1, learning_rate_scale=c, **asked) for c in (0.1, 0.01))
    assert learn(game, 1, **asked).gap < 0.5 * slow.gap < 0.5 * slower.gap
    form, play = sequence_form(game), {}
    for scale in (1.0, 4.0, 1e100):
        rng = np.random.default_rng(0)
        play[scale] = SimulatorPlay(form, 1, 40_000, rng, method=SWRHedge(scale=scale))
    np.testing.assert_allclose(play[4.0].schedule.rates, 4 * play[1.0].schedule.rates, rtol=1e-15)
    assert (play[1e100].schedule.rates <= 1e100).all()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["prm", "rm"])
def test_long_corridors_are_explored(method: str) -> None:
    """Uniform play would get to the end of a corridor once in 2^12 episodes.

    Seeds differ by a factor of four.
    """
    game = library_game("unbalanced:horizon=12,actions=2")
    gaps = [learn(game, 1, episodes=200_000, method=method, seed=s).gap for s in range(5)]
    assert np.median(gaps) < 0.05


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
    assert learned.episodes_per_iteration == {"prm": 2, "rm": 2, "swrhedge": 3}[method]


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
            {"episodes": 2},
            "episodes must be at least 3, enough for one iteration; got 2; play more",
        ),
        (
            {"episodes": 3, "method": "swrhedge"},
            "episodes must be at least 4, enough for one iteration; got 3; play more",
        ),
        ({"seed": -1}, "seed must be a whole number, 0 or more; got -1"),
        ({"seed": 0.5}, "seed must be a whole number"),
        ({"seed": None}, "seed must be a whole number"),
        ({"components": 0}, "components must be a whole number, 1 or more; got 0"),
        ({"components": 2.0}, "components must be a whole number"),
        ({"method": "wrhedge"}, "method must be one of prm, rm, swrhedge; got 'wrhedge'"),
        ({"method": 0}, "method must be one of"),
        (
            {"method": WRHedge()},
            "SWRHedge, SampledRegretMatching, or a minimizer of your own; got WRHedge",
        ),
        ({"learning_rate_scale": 0.0}, "learning_rate_scale must be positive"),
        ({"learning_rate_scale": -1.0}, "learning_rate_scale must be positive"),
        ({"learning_rate_scale": math.inf}, "learning_rate_scale must be positive"),
        ({"learning_rate_scale": math.nan}, "learning_rate_scale must be positive"),
        (
            {"learning_rate_scale": 2.0, "method": "rm"},
            "needs a named method with a learning rate",
        ),
        ({"learning_rate_scale": 2.0}, "with a learning rate; got 2.0 for prm"),
    ],
)
def test_bad_values(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        learn(kuhn(), **{"episodes": 100, **arguments})


@pytest.mark.parametrize("value", [0.0, 1.0, math.nan])
def test_bad_probabilities_of_failure(value: float) -> None:
    with pytest.raises(ArgumentError, match="failure_prob must be between 0 and 1, both excluded"):
        SWRHedge(failure_prob=value)


def test_generators_draw_the_seed(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"episodes": 300, "components": 10}
    drawn = learn(kuhn(), 1, seed=np.random.default_rng(5), folder=tmp_path / "run", **asked)
    seed = int(np.random.default_rng(5).integers(2**63))
    assert drawn.request.seed == seed
    assert json.loads((tmp_path / "run" / "run.json").read_text())["asked"]["seed"] == seed
    assert same(drawn, learn(kuhn(), 1, seed=seed, **asked))
    rng = np.random.default_rng(5)
    assert not same(*(learn(kuhn(), 1, seed=rng, **asked) for _ in range(2)))


def test_what_is_no_game() -> None:
    with pytest.raises(ArgumentError, match="got 'kuhn'"):
        learn("kuhn", episodes=100)  # type: ignore[arg-type]


def test_numpy_numbers_will_do() -> None:
    learned = learn(chicken(), np.int64(1), episodes=np.int32(300), seed=np.uint8(1))
    assert learned.episodes == 300


def test_too_large_at_this_k() -> None:
    game = library_game("unbalanced:horizon=60,actions=3")
    with pytest.raises(BudgetError, match="try a smaller k"):
        learn(game, math.inf, episodes=10**6)


def test_results_are_shown_in_one_line() -> None:
    learned = learn(kuhn(), math.inf, episodes=400)
    assert re.fullmatch(
        r"Learned\('kuhn', k=inf, method='prm', episodes=399, gap=[\d.]+\)", repr(learned)
    )
