"""The benchmark harness: it runs, its adapters tell the truth, and its page is what was measured.

No time is asserted here, only that times were taken and what is made of them.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms.exploitability import exploitability

import accord
from accord._arrays import Floats
from accord._format import NOTHING
from accord.certifying.exact import certify
from accord.equilibrium.policy import CorrelatedPolicy
from accord.game.tree import Game
from accord.interop.openspiel_games import openspiel_game
from accord.interop.openspiel_policies import from_openspiel
from accord.regret.methods import METHODS
from accord.treeplex.form import sequence_form
from accord.treeplex.strategy import behavior_to_reach, uniform_behavior
from accord.treeplex.treeplex import Treeplex
from benchmarks import catch_up, tables, zero_sum
from benchmarks.__main__ import PARTS, main
from benchmarks.bandit import LEARNERS, averaged_gap, learned_gap, quartiles
from benchmarks.games import GAMES, HELD_OUT
from benchmarks.kefr import kefr
from benchmarks.measure import TimeUpError, Timing, cpu_limit, fitted_exponent, take_turns
from benchmarks.other_k import LAYERED
from benchmarks.pages import figures, page
from benchmarks.peers import (
    CFR,
    CausalEFR,
    CFRPlus,
    OutcomeSampling,
    Peer,
    SampledPeer,
    TwiceInformedEFR,
    peers,
    sampled_peers,
    tuned_peers,
)
from benchmarks.ratios import (
    catch_up_ratios,
    episode_ratios,
    gap_ratios,
    iteration_ratios,
    learning_ratios,
    other_k_ratios,
)
from benchmarks.results import OUT, load, save
from benchmarks.time_to_gap import SHARES, JudgedPeer
from tests.support.policies import random_policy

pytestmark = pytest.mark.slow

MCCFR = OutcomeSampling.name

UNEVEN = "goofspiel(imp_info=True,num_cards=3,points_order=descending)"
"""Simultaneous moves, action sets of several sizes, action numbers with gaps."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results and page of the small benchmarks."""
    path = tmp_path_factory.mktemp("benchmarks")
    main(["--small", "--out", str(path)])
    return path


def numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [x for item in value.values() for x in numbers(item)]
    if isinstance(value, (list, tuple)):
        return [x for item in value for x in numbers(item)]
    return [value] if isinstance(value, (int, float)) else []


# What is measured


def test_every_part_is_measured(folder: Path) -> None:
    results = json.loads((folder / "results.json").read_text())
    assert results["format"] == "accord-benchmarks"
    assert set(results["parts"]) == set(PARTS)
    for part in results["parts"].values():
        assert part["machine"]["packages"]["accord"]
        assert part["cpu_seconds"] > 0
        found = numbers(part)
        assert found and np.isfinite(found).all()


def test_everybody_takes_part(folder: Path) -> None:
    parts = load(folder)
    [game] = parts["iterations"]["games"]
    timed = {e["name"]: e for e in game["entrants"]}
    for k in ("0", "1", "2", "inf"):
        for method in METHODS:
            assert timed[f"K-EFR {method}, K = {k}"]["seconds"] > 0
    for peer in peers():
        entry = timed[peer.name]
        assert 0 < entry["low"] <= entry["seconds"] <= entry["high"]
    [game] = parts["gap"]["games"]
    assert {e["name"] for e in game["entrants"]} == {
        *(f"K-EFR {method}, K = 1" for method in METHODS),
        *(peer.name for peer in peers()),
    }
    for group in ("games", "held_out"):
        [game] = parts["bandit"][group]
        learners = {e["name"] for e in game["gaps"]}
        assert {*LEARNERS, "OpenSpiel OS-MCCFR"} <= learners
    [game] = parts["bandit"]["games"]
    assert {e["name"] for e in game["gaps"] if not e["name"].startswith("Accord")} == {
        peer.name for peer in sampled_peers()
    }


def test_a_gap_after_episodes_is_the_median_of_what_learn_saves(folder: Path) -> None:
    [game] = load(folder)["bandit"]["games"]
    entries = [e for e in game["gaps"] if e["name"] == "Accord prm"]
    assert [e["episodes"] for e in entries] == [100, 1000]
    kuhn = accord.load_game("kuhn_poker")
    certificates = [accord.learn(kuhn, 1, episodes=1000, seed=s).certificate for s in range(3)]
    gaps = [certificate[1].relative for certificate in certificates]
    assert entries[1]["gaps"] == pytest.approx(gaps, rel=1e-4)
    assert entries[1]["gap"] == sorted(entries[1]["gaps"])[1]
    assert entries[1]["low"] <= entries[1]["gap"] <= entries[1]["high"]


@pytest.mark.parametrize(("name", "how"), LEARNERS.items())
def test_every_learner_is_asked_as_its_name_says(
    folder: Path, name: str, how: dict[str, Any]
) -> None:
    [game] = load(folder)["bandit"]["games"]
    found = next(e for e in game["gaps"] if e["name"] == name and e["episodes"] == 1000)
    learned = accord.learn(accord.load_game("kuhn_poker"), 1, episodes=1000, seed=1, **how)
    assert found["gaps"][1] == pytest.approx(learned.certificate[1].relative, rel=1e-4, abs=1e-12)


def test_exploitability_is_that_of_openspiel(folder: Path) -> None:
    """After 1,000 episodes of MCCFR: the measure here, and OpenSpiel's own, over the range."""
    form = sequence_form(accord.load_game("kuhn_poker"))
    peer = OutcomeSampling(form.game, seed=0)
    peer.advance(500)
    ours = zero_sum.exploitability(form, CorrelatedPolicy.product(form.game, peer.average()))
    theirs = exploitability(openspiel_game("kuhn_poker"), peer._solver.average_policy())
    assert ours == pytest.approx(theirs / form.leaves.payoff_range[0], rel=1e-9)
    [game] = load(folder)["zero-sum"]["games"]
    point = next(p for p in game["points"] if p["name"] == MCCFR and p["episodes"] == 1000)
    assert point["exploitability"]["gaps"][0] == pytest.approx(ours, rel=1e-4)


def test_an_average_has_the_mean_reach_of_its_components() -> None:
    form = sequence_form(accord.load_game(UNEVEN))
    policy = random_policy(form.game, 3, components=3)
    [mean] = [behaviors for _, behaviors in zero_sum.average(form, policy).components()]
    for i, plex in enumerate(form.plexes):
        wanted = sum(w * behavior_to_reach(plex, parts[i]) for w, parts in policy.components())
        np.testing.assert_allclose(behavior_to_reach(plex, mean[i]), wanted, atol=1e-12)


def test_gaps_reached_are_in_the_record(folder: Path) -> None:
    [game] = load(folder)["gap"]["games"]
    reached = 0
    for entry in game["entrants"]:
        gap_at = {iteration: gap for iteration, _, gap in entry["record"]}
        for point in entry["reached"]:
            reached += 1
            assert gap_at[point["iterations"]] <= point["share"]
            earlier = [gap for t, gap in gap_at.items() if t < point["iterations"]]
            assert all(gap > point["share"] for gap in earlier)
    assert reached > len(SHARES)


def test_ratios_are_ratios(folder: Path) -> None:
    parts = load(folder)
    [row] = iteration_ratios(parts["iterations"]).values()
    assert set(row) == {peer.name for peer in peers()}
    times = {e["name"]: e["seconds"] for e in parts["iterations"]["games"][0]["entrants"]}
    assert row["OpenSpiel CFR"] == times["OpenSpiel CFR"] / times["K-EFR rm, K = 0"]
    assert row["OpenSpiel EFR tips"] == times["OpenSpiel EFR tips"] / times["K-EFR rm, K = 1"]
    [gaps] = gap_ratios(parts["gap"]).values()
    found = [*row.values(), *(cell[0] for cell in gaps if cell)]
    found += numbers(episode_ratios(parts["bandit"]))
    found += numbers(learning_ratios(parts["bandit"], parts["bandit"]["held_out"]))
    found += [ratio for ratio in catch_up_ratios(parts["catch-up"]).values() if ratio]
    found += other_k_ratios(parts["other-k"]).values()
    assert len(found) > len(row) + 2
    assert all(math.isfinite(ratio) and ratio > 0 for ratio in found)


def test_a_peer_without_time_is_named_and_has_no_number(folder: Path) -> None:
    parts = load(folder)
    entrants = parts["iterations"]["games"][0]["entrants"]
    slow = next(e for e in entrants if e["name"] == "OpenSpiel EFR tips")
    for what in ("seconds", "low", "high", "turns"):
        del slow[what]
    slow["note"] = "more than 30 s"
    entry = next(e for e in parts["gap"]["games"][0]["entrants"] if e["name"] == slow["name"])
    entry["record"], entry["reached"] = [], []
    [row] = iteration_ratios(parts["iterations"]).values()
    assert slow["name"] not in row
    text = page(parts)
    assert "| OpenSpiel EFR tips | more than 30 s |" in text
    assert f"| OpenSpiel EFR tips | {NOTHING} |" in text


def test_parts_run_alone_and_keep_the_others(folder: Path, tmp_path: Path) -> None:
    before = load(folder)
    save(tmp_path, {name: part for name, part in before.items() if name != "bandit"})
    main(["--small", "--out", str(tmp_path), "bandit"])
    after = load(tmp_path)
    assert after["gap"] == before["gap"]
    assert set(after) == set(PARTS)
    assert (tmp_path / "index.md").exists()


def test_a_game_is_measured_alone_and_the_others_are_kept(folder: Path, tmp_path: Path) -> None:
    before = load(folder)
    save(tmp_path, before)
    main(["--small", "--out", str(tmp_path), "--game", "Kuhn, 4 players", "bandit"])
    after = load(tmp_path)["bandit"]
    assert after["games"] == before["bandit"]["games"]
    assert [game["title"] for game in after["held_out"]] == ["Kuhn, 4 players"]
    times = [game["cpu_seconds"] for group in ("games", "held_out") for game in after[group]]
    assert times[1] != before["bandit"]["held_out"][0]["cpu_seconds"]
    assert after["cpu_seconds"] == pytest.approx(sum(times), rel=1e-4)


def test_an_entrant_is_measured_again_and_the_others_are_kept(folder: Path, tmp_path: Path) -> None:
    before = load(folder)
    changed = json.loads(json.dumps(before))
    for point in changed["bandit"]["games"][0]["gaps"]:
        point["gap"] = -1.0
    save(tmp_path, changed)
    main(["--small", "--out", str(tmp_path), "--only", "Accord joint", "bandit"])
    after = load(tmp_path)["bandit"]
    assert after["again"]["entrants"] == ["Accord joint"]
    [game], [wanted] = after["games"], before["bandit"]["games"]
    assert game["entrants"] == wanted["entrants"]
    points = {(p["name"], p["episodes"]): p["gap"] for p in wanted["gaps"]}
    assert {(p["name"], p["episodes"]) for p in game["gaps"]} == set(points)
    for point in game["gaps"]:
        joint = point["name"] == "Accord joint"
        assert point["gap"] == (points[point["name"], point["episodes"]] if joint else -1.0)
    assert "Accord joint of bandit" in (tmp_path / "index.md").read_text()


@pytest.mark.parametrize(
    "arguments",
    [["nothing"], ["--small"], ["--game", "Chess"], ["--only", "Accord joint", "gap"]],
)
def test_wrong_arguments(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert "error:" in capsys.readouterr().err


# The page


def test_a_record_is_one_line(tmp_path: Path) -> None:
    parts = {
        "gap": {"games": [{"name": "a", "entrants": [{"k": 1, "curve": [[1, 0.5], [2, 0.25]]}]}]},
        "empty": {"games": [], "settings": {}},
    }
    save(tmp_path, parts)
    assert load(tmp_path) == parts
    lines = (tmp_path / "results.json").read_text().splitlines()
    assert '{"k": 1, "curve": [[1, 0.5], [2, 0.25]]}' in map(str.strip, lines)


def test_page_is_made_of_the_results(folder: Path) -> None:
    parts = load(folder)
    text = (folder / "index.md").read_text()
    assert text == page(parts)
    assert "{{" not in text and "nan" not in text.lower()
    for name in figures(parts):
        assert f"]({name})" in text
        assert "<svg" in (folder / name).read_text()
    for peer in peers():
        assert peer.name in text


def test_committed_page_is_made_of_the_committed_results() -> None:
    parts = load(OUT)
    assert (OUT / "index.md").read_text() == page(parts)
    for name in figures(parts):
        assert (OUT / name).exists()
    for part in ("iterations", "gap", "bandit", "catch-up", "other-k"):
        assert {game["title"] for game in parts[part]["games"]} == set(GAMES)
    assert {game["title"] for game in parts["bandit"]["held_out"]} == set(HELD_OUT)
    assert not set(GAMES.values()) & set(HELD_OUT.values())


def _learning(gaps: list[tuple[float, float, float, float]]) -> tuple[Any, list[Any]]:
    """Games with these gaps of prm and MCCFR after 100 episodes, and after 1,000."""
    games = [
        {
            "title": str(place),
            "gaps": [
                {"name": name, "episodes": episodes, "gap": gap, "low": gap, "high": gap}
                for (name, episodes), gap in zip(
                    [(name, n) for n in (100, 1000) for name in ("Accord prm", MCCFR)],
                    row,
                    strict=True,
                )
            ],
        }
        for place, row in enumerate(gaps)
    ]
    return {"settings": {"episodes": [100, 1000]}}, games


def test_goals_are_counted_and_marked() -> None:
    part, games = _learning([(1, 2, 1, 2), (3, 2, 3, 4), (1, 2, 3, 2)])
    assert learning_ratios(part, games) == {"0": (0.5, 0.5), "1": (1.5, 0.75), "2": (0.5, 1.5)}
    text = tables.verdict(part, games)
    assert "2 of 3 games after 100 episodes and on 2 of 3 after 1,000" in text
    assert "half of MCCFR's on 1 of 3" in text
    rows = tables.learning_table(part, games).splitlines()[2:]
    assert rows[0].startswith("| 0 | 1 | 2 | **0.5** | 1 | 2 | **0.5** |")
    assert rows[1].startswith("| 1 | 3 | 2 | 1.5 | 3 | 4 | 0.75 |")


def test_joint_feedback_is_compared_with_own() -> None:
    def game(title: str, joint: float, own: list[float], seeds: int = 3) -> dict[str, Any]:
        rows = {"Accord joint": [joint] * seeds, "Accord prm": own}
        gaps = [{"name": n, "episodes": 100, **quartiles(r)} for n, r in rows.items()]
        return {"title": title, "gaps": gaps}

    part = {
        "settings": {"episodes": [100], "seeds": 3},
        "games": [game("better", 1.0, [1.0, 2.0, 3.0]), game("level", 2.5, [1.0, 2.0, 3.0])],
        "held_out": [game("worse", 4.0, [1.0, 2.0, 3.0], seeds=2)],
    }
    assert "| better | **0.5** |" in tables.feedback_table(part)
    text = tables.feedback_verdict(part)
    assert "in 1 of 3 cases" in text
    assert "but within the range of the seeds of own feedback, on level after 100" in text
    assert "and beyond the range of the seeds of own feedback, on worse after 100" in text
    assert "worse (2)" in tables.fewer_seeds(part)


def test_a_gap_that_learn_does_not_reach_is_not_a_ratio() -> None:
    part = {"games": [{"title": "hard", "target": 0.1, "episodes": None}]}
    assert catch_up_ratios(part) == {"hard": None}
    assert "| hard | 0.1 | not reached |" in tables.catch_up_table(part)
    assert "on 0 of 1 games" in tables.catch_up_verdict(part)


def test_notions_that_got_worse_are_named() -> None:
    def games(gap: float) -> list[Any]:
        return [{"title": "Kuhn", "gaps": [{"k": "0", "gap": gap}, {"k": "inf", "gap": 0.1}]}]

    part = {"games": games(0.3), "before": games(0.2)}
    assert "not larger in 1 of 2 cases; it is larger on Kuhn at K" in tables.other_k_verdict(part)
    part = {"games": games(0.1), "before": games(0.2)}
    assert tables.other_k_verdict(part).endswith("in 2 of 2 cases.")


def test_gaps_before_whole_plays_are_of_the_same_games() -> None:
    before = json.loads(LAYERED.read_text())["games"]
    assert [game["title"] for game in before] == list(GAMES)
    for game in before:
        ks = [entry["k"] for entry in game["gaps"]]
        assert ks == ["0", "2", "inf"] or game["title"] == "Liar's Dice 6"
        assert all(len(entry["gaps"]) == 5 for entry in game["gaps"])


def test_panels_of_learning_have_the_same_axes(folder: Path) -> None:
    drawn = figures(load(folder))
    panels = [
        axes
        for name in ("episodes-to-gap.svg", "episodes-to-gap-held-out.svg")
        for axes in drawn[name].axes
    ]
    assert len(panels) == 2
    assert len({(axes.get_xlim(), axes.get_ylim()) for axes in panels}) == 1
    for axes in panels:
        assert len(axes.collections) == len(axes.lines) >= 4  # a band for each curve


# Measuring


@pytest.mark.parametrize("power", [0.5, 1.0, 3.0])
def test_fitted_exponent_recovers_a_known_one(power: float) -> None:
    sizes = [10, 30, 100, 1000]
    assert fitted_exponent(sizes, [7.0 * n**power for n in sizes]) == pytest.approx(power)


def test_fitted_exponent_of_noisy_times() -> None:
    rng = np.random.default_rng(0)
    sizes = np.geomspace(10, 10_000, 30)
    noisy = 3e-6 * sizes**2 * rng.lognormal(sigma=0.1, size=30)
    assert fitted_exponent(list(sizes), list(noisy)) == pytest.approx(2.0, abs=0.05)


def test_turns_are_taken_one_after_the_other() -> None:
    log: list[str] = []

    class Busy:
        def __init__(self, name: str) -> None:
            self.name = name

        def advance(self, iterations: int, /) -> None:
            log.append(self.name)
            sum(range(20_000 * iterations))

    timings = take_turns({"a": Busy("a"), "b": Busy("b")}, turns=3, turn_seconds=1e-4)
    assert log[-6:] == ["a", "b"] * 3
    assert all(t.turns == 3 and 0 < t.low <= t.seconds <= t.high for t in timings.values())


def test_timing_is_a_median() -> None:
    timing = Timing.of([5.0, 1.0, 2.0])
    assert (timing.seconds, timing.low, timing.high, timing.turns) == (2.0, 1.0, 5.0, 3)
    assert timing.per(2).seconds == 1.0


def test_cpu_limit_ends_what_takes_too_long() -> None:
    with pytest.raises(TimeUpError), cpu_limit(0.05):
        while True:
            pass
    with cpu_limit(60):
        pass
    sum(range(1_000_000))  # no limit any more


# Those who are compared


def _split(game: Game, joint: Floats) -> tuple[tuple[Treeplex, ...], tuple[Floats, ...]]:
    form = sequence_form(game)
    return form.plexes, form.split(joint)


@pytest.mark.parametrize("method", METHODS)
def test_kefr_is_what_solve_runs(method: str) -> None:
    game = accord.load_game("kuhn_poker")
    solution = accord.solve(game, k=1, method=method, target_gap=1e-9, seconds=0.01)
    play = kefr(sequence_form(game), 1, method)
    play.advance(solution.iterations)
    assert tuple(play.gaps()) == solution.average_player_gaps


@pytest.mark.parametrize("peer", peers(), ids=lambda peer: peer.name)
@pytest.mark.parametrize("name", ["kuhn_poker", UNEVEN])
def test_iterates_begin_uniform(peer: type[Peer], name: str) -> None:
    game = accord.load_game(name)
    for plex, part in zip(*_split(game, peer(game).iterate()), strict=True):
        assert part == pytest.approx(uniform_behavior(plex))


@pytest.mark.parametrize("name", ["kuhn_poker(players=3)", UNEVEN])
def test_iterates_are_read_as_openspiel_reads_them(name: str) -> None:
    game = accord.load_game(name)
    spiel = openspiel_game(name)
    solver = pyspiel.CFRSolver(spiel)
    for _ in range(7):
        solver.evaluate_and_update_policy()
    cfr, efr = CFR(game), CausalEFR(game)
    cfr.advance(7)
    efr.advance(2)
    for peer, policy in (
        (cfr, solver.tabular_current_policy()),
        (efr, efr._solver.current_policy()),
    ):
        plexes, parts = _split(game, peer.iterate())
        wanted = from_openspiel(game, policy, spiel)
        for part, own in zip(parts, wanted, strict=True):
            assert part == pytest.approx(own)
        moved = [abs(b - uniform_behavior(p)).max() for p, b in zip(plexes, wanted, strict=True)]
        assert max(moved) > 0.1


def test_meter_agrees_with_the_certificate() -> None:
    game = accord.load_game(UNEVEN)
    form = sequence_form(game)
    judged, peer = JudgedPeer(form, CFRPlus), CFRPlus(game)
    judged.advance(12)
    iterates = []
    for _ in range(12):
        iterates.append(peer.iterate())
        peer.advance(1)
    weights = np.arange(1.0, 13.0)
    policy = CorrelatedPolicy(game, weights / weights.sum(), np.array(iterates))
    assert judged.relative_gap() == pytest.approx(certify(game, policy, 1)[1].relative)


@pytest.mark.parametrize(
    ("peer", "k", "iterations", "least"),
    [
        (CFR, 0, 1000, 10),
        (CFRPlus, 0, 300, 30),
        (CausalEFR, 1, 200, 3),
        (TwiceInformedEFR, 1, 200, 3),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_peers_approach_what_their_theory_says(
    peer: type[Peer], k: float, iterations: int, least: float
) -> None:
    """On Kuhn poker the gap of the mixture of iterates falls, and not because it is misread."""
    judged = JudgedPeer(sequence_form(accord.load_game("kuhn_poker")), peer, k)
    judged.advance(10)
    early = judged.relative_gap()
    judged.advance(iterations - 10)
    assert 0 < judged.relative_gap() < early / least


@pytest.mark.parametrize("kind", sampled_peers(), ids=lambda kind: kind.name)
def test_outcome_sampling_learns(kind: type[SampledPeer]) -> None:
    game = accord.load_game("kuhn_poker")
    peer = kind(game, seed=0)
    gaps = []
    for iterations in (50, 20_000):
        peer.advance(iterations)
        policy = CorrelatedPolicy.product(game, peer.average())
        gaps.append(certify(game, policy, 1)[1].relative)
        assert averaged_gap(sequence_form(game), peer) == pytest.approx(gaps[-1])
    assert gaps[1] < gaps[0] / 4


@pytest.mark.parametrize("kind", sampled_peers(), ids=lambda kind: kind.name)
def test_one_run_of_outcome_sampling_gives_all_its_gaps(kind: type[SampledPeer]) -> None:
    game = accord.load_game(UNEVEN)
    averages = []
    for steps in ([300], [100, 0, 200]):
        peer = kind(game, seed=5)
        for iterations in steps:
            peer.advance(iterations)
            average = np.concatenate(peer.average())
        averages.append(average)
    np.testing.assert_array_equal(*averages)


def test_what_is_timed_is_what_learn_does() -> None:
    form = sequence_form(accord.load_game("leduc_poker"))
    seconds, gap = catch_up._learned(form, 3_000, seed=2)
    assert seconds > 0
    assert gap == pytest.approx(learned_gap(form, 1, 3_000, 2, "prm"), rel=1e-9)


def test_the_search_finds_the_first_number_that_suffices(monkeypatch: pytest.MonkeyPatch) -> None:
    form = sequence_form(accord.load_game("kuhn_poker"))

    def found(target: float) -> int | None:
        return catch_up._episodes_to(form, target, range(3), 1_000_000)

    monkeypatch.setattr(catch_up, "learned_gap", lambda _form, _k, n, _seed, _m: n**-0.5)
    for target in (0.03, 0.01, 0.0011):
        number = found(target)
        assert number is not None
        assert number**-0.5 <= target < (number / catch_up.SPACING) ** -0.5 * 1.01
    assert found(0.001) == 1_000_000
    assert found(0.0009) is None


def test_quartiles() -> None:
    summary = quartiles([5.0, 1.0, 3.0, 2.0, 4.0])
    assert (summary["low"], summary["gap"], summary["high"]) == (2.0, 3.0, 4.0)
    assert summary["gaps"] == [5.0, 1.0, 3.0, 2.0, 4.0]


def test_liteefg_and_openspiel_agree_on_cfr_plus() -> None:
    """Two programs, one algorithm: so both are read rightly."""
    pytest.importorskip("LiteEFG")
    from benchmarks.peers import LiteCFRPlus

    game = accord.load_game("leduc_poker")
    one, other = CFRPlus(game), LiteCFRPlus(game)
    for _ in range(5):
        one.advance(1)
        other.advance(1)
        assert one.iterate() == pytest.approx(other.iterate(), abs=1e-9)


def test_tuned_peers_learn_with_their_rates() -> None:
    """A rate that is far too small learns nothing; a good one does."""
    pytest.importorskip("LiteEFG")
    form = sequence_form(accord.load_game("kuhn_poker"))
    for peer in tuned_peers():
        far = []
        for rate in (1e-6, 0.01):
            entrant = peer.at(rate)(form.game, 0)
            entrant.advance(10_000)
            policy = CorrelatedPolicy.product(form.game, entrant.average())
            far.append(zero_sum.exploitability(form, policy))
        assert far[1] < 0.3 * far[0]
