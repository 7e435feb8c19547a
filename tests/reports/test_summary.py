"""What the page of a run shows, against certificates and theorems."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import accord
from accord._format import percent, pretty
from accord.learning.theory.guarantee import learn_bound, solve_bound
from accord.reports import plots, summary
from accord.reports.page import run_page
from accord.reports.source import read_source
from accord.reports.summary import small_device, summarize
from accord.reports.view import NEGLIGIBLE
from accord.reports.write import write_report
from accord.treeplex.form import sequence_form
from tests.support.pages import Page, texts


def test_gaps_are_those_of_certify(folders: dict[str, Path]) -> None:
    loaded = read_source(folders["1"])
    found = summarize(loaded)
    certificate = accord.certify(loaded.game, loaded.policy, (0, 1, 2, math.inf))
    assert [row.notion.k for row in found.gaps] == [0, 1, 2, math.inf]
    for shown, gap in zip(found.gaps, certificate.gaps, strict=True):
        assert shown.player_gaps == gap.player_gaps
        assert shown.relative == pytest.approx(gap.relative)
    assert [player.value for player in found.players] == list(certificate.values)
    every = accord.certify(loaded.game, loaded.policy)
    assert [row.notion.name for row in found.notions] == ["EFCCE", "AFCCE", "AFCE", "NFCE"]
    for row in found.notions:
        gap = every[row.notion]
        assert (row.player_gaps, row.relative) == (gap.player_gaps, gap.relative)
    assert found.trigger_gap == certificate.trigger.gap
    assert found.facts.gap == pytest.approx(found.gaps[1].gap)


@pytest.mark.parametrize("name", ["1", "inf", "0"])
def test_deviations_along_the_tree_are_the_witness(folders: dict[str, Path], name: str) -> None:
    loaded = read_source(folders[name])
    found = summarize(loaded)
    certificate = accord.certify(loaded.game, loaded.policy, (0, 1, 2, math.inf))
    seen = 0
    for shown in found.deviations:
        k = shown.k
        witness = certificate[k].witnesses[shown.player.index]
        assert shown.gain == witness.gain
        assert len(shown.places) == len(witness.first_deviations)
        steps = shown.steps
        if k == 0:
            seen += 1
            phi, plex = witness.modification, witness.modification.tree.plex
            assert [step.told for step in steps] == [None] * len(steps)
            for step in steps:
                node = phi.tree.arrays.first_node[step.infoset]
                assert phi.choice[phi.tree.first_row[node]] == step.action
            first = [step.probability for step in steps if plex.depth[step.infoset] == 0]
            assert sum(first) == pytest.approx(1.0 if witness.gain > 0 else 0.0)
        elif witness.first_deviations:
            seen += 1
            place = witness.first_deviations[0]
            assert (steps[0].label, steps[0].told, steps[0].plays) == (
                place.infoset,
                place.told,
                place.plays,
            )
            assert steps[0].probability == pytest.approx(place.probability)
            for step in steps[1:]:
                assert 0 < step.probability <= steps[0].probability
                assert (step.told is None) == (k == 1)
    assert seen > 4


def test_a_small_device_is_listed(tmp_path: Path) -> None:
    accord.solve(accord.load_game("chicken"), k=1, iterations=20, folder=tmp_path / "run")
    found = summarize(read_source(tmp_path / "run"))
    assert found.device is not None
    assert found.device.is_complete
    page = run_page(found, None, None)
    Page(page)
    start = page.index('<section id="device">')
    section = page[start : page.index("</section>", start)]
    assert section.count("<tr data-plan=") == len(found.device.plans)
    for plan in found.device.plans:
        assert percent(plan.probability) in section
    link = '<a href="#inspector" data-go="1" data-label="col"><span class="label">col</span></a>'
    assert f"<li>{link} <strong>yield</strong></li>" in section


def test_rare_plans_do_not_hide_a_device() -> None:
    """A policy that nearly always recommends the same has many plans, and one that matters."""
    game = accord.load_game("kuhn")
    nearly = np.concatenate([[1.0], np.tile([1 - 1e-6, 1e-6], 6)])
    device = small_device(accord.CorrelatedPolicy.product(game, [nearly, nearly]))
    assert device is not None
    (plan,) = device.plans
    assert plan.probability > 1 - 2e-5
    assert device.rest == pytest.approx(1 - plan.probability)
    often = np.concatenate([[1.0], np.tile([0.9, 0.1], 6)])  # twenty plans are not nearly all
    assert small_device(accord.CorrelatedPolicy.product(game, [often, often])) is None


def test_tiny_gaps_are_written_but_not_drawn(tmp_path: Path) -> None:
    accord.solve(accord.load_game("in_out"), k=1, iterations=1000, folder=tmp_path / "run")
    found = summarize(read_source(tmp_path / "run"))
    assert 0 < found.own_gaps.relative < NEGLIGIBLE
    assert plots.gaps_by_k(found) is None
    assert found.tree is not None
    assert not any(edge.marked for edge in found.tree.edges)


def test_a_large_device_is_not(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    source = read_source(folders["l1"])
    assert source.policy.device(10_000).is_complete
    large = summarize(source)
    assert large.device is None
    assert "<code>accord device</code> lists the likeliest" in run_page(large, None, None)
    monkeypatch.setattr(summary, "LISTED_PLANS", 10_000)
    assert summarize(source).device is None
    monkeypatch.setattr(summary, "MOST_TOLD", 10_000)
    assert summarize(source).device is not None


@pytest.mark.slow
def test_bounds_are_those_of_the_theorems(folders: dict[str, Path], tmp_path: Path) -> None:
    game = accord.load_game("kuhn")
    form = sequence_form(game)
    accord.solve(game, 1, method="wrhedge", iterations=50, folder=tmp_path / "hedge")
    accord.learn(game, 1, method="swrhedge", episodes=2000, folder=tmp_path / "episodes")
    expected = {
        folders["1"]: solve_bound(form, 1, accord.regret.RegretMatching(False, False), None, 0),
        folders["0"]: solve_bound(form, 0, accord.regret.RegretMatching(decay=0.2), None, 2),
        tmp_path / "hedge": solve_bound(form, 1, accord.regret.WRHedge(), 50, 0),
        tmp_path / "episodes": learn_bound(form, 1, accord.regret.SWRHedge(), 2000, "balanced"),
    }
    for folder, bound in expected.items():
        found = summarize(read_source(folder))
        assert found.bound == bound is not None
        assert found.guaranteed == bound.at(found.facts.history[-1].iteration)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "options"),
    [
        (accord.solve, {"method": "wrhedge", "target_gap": 0.5}),  # a rate for any length
        (accord.solve, {"method": "wrhedge", "iterations": 20, "averaging": "linear"}),
        (accord.solve, {"method": "dcfr", "iterations": 20}),
        (accord.learn, {"method": "rm", "episodes": 500}),
        (accord.learn, {"episodes": 500}),
        (accord.learn, {"exploration": "balanced", "episodes": 500}),
        (accord.learn, {"method": accord.regret.SWRHedge(whole_plays=True), "episodes": 500}),
        (accord.learn, {"method": "swrhedge", "episodes": 500, "exploration": "uniform"}),
    ],
)
def test_a_run_that_no_theorem_covers_has_no_bound(
    command: Any, options: dict[str, Any], tmp_path: Path
) -> None:
    command(accord.load_game("kuhn"), 1, folder=tmp_path / "run", **options)
    found = summarize(read_source(tmp_path / "run"))
    assert found.bound is found.guaranteed is found.iterations_needed is None
    write_report(tmp_path / "run")
    assert "No theorem covers this run" in (tmp_path / "run" / "report.html").read_text()
    drawn = texts((tmp_path / "run" / "report-convergence.svg").read_text())
    assert not [text for text in drawn if "bound" in text]


def test_k_that_is_too_large_is_left_out_and_says_so(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from accord.reports import source

    loaded = read_source(folders["1"])
    limit = loaded.work(1)
    assert limit < loaded.work(2)
    monkeypatch.setattr(source, "LARGEST_WORK", limit)
    found = summarize(loaded)
    assert [row.refusal is not None for row in found.gaps] == [False, False, True, True]
    assert "use accord certify" in str(found.gaps[2].refusal)
    assert {deviation.k for deviation in found.deviations} == {0, 1}
    monkeypatch.setattr(source, "LARGEST_WORK", 0)
    with pytest.raises(accord.errors.ArgumentError, match="too large for a report"):
        summarize(loaded)


def test_without_memory_there_is_a_report_of_the_rest(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(count: Any, budget: int | None = None) -> None:
        if count.k > 1:
            raise accord.errors.BudgetError("too many rechistories", 2, 1)

    monkeypatch.setattr(summary, "check_budget", check)
    found = summarize(read_source(folders["inf"]))
    assert [row.refusal for row in found.gaps] == [
        None,
        None,
        *["too many rechistories"] * 2,
    ]
    assert found.inspector["k"] == "1"
    page = run_page(found, None, None)
    Page(page)
    assert page.count("not computed: too many rechistories") == 2
    assert f"No player gains more than <strong>{pretty(found.facts.gap)}" in page
