"""The picture of a region: its polygons, points and labels."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.patches import Polygon

import accord
from accord.game.library import chicken, kuhn, signalling
from accord.optimal.polygon import area
from accord.reports.chart import to_svg
from accord.reports.colors import MUTED
from accord.reports.region import picture
from accord.reports.touch import region_page
from accord.reports.write import write_report
from tests.support.pages import texts


@pytest.fixture(scope="module")
def found() -> accord.runs.Region:
    return accord.region(signalling())


def drawn(figure) -> list[np.ndarray]:
    patches = [patch for patch in figure.axes[0].patches if isinstance(patch, Polygon)]
    return [patch.get_xy()[:-1] for patch in patches if not patch.get_fill()]


def marks(figure, marker: str) -> set[tuple[float, float]]:
    lines = [line for line in figure.axes[0].lines if line.get_marker() == marker]
    return {tuple(np.round(place, 9) + 0.0) for line in lines for place in line.get_xydata()}


def dashed(figure) -> int:
    lines = (line for line in figure.axes[0].lines if line.get_color() != MUTED)
    return sum(line.get_linestyle() == "--" for line in lines)


@pytest.mark.parametrize("narrow", [False, True])
def test_equal_polygons_are_drawn_once(found, narrow):
    figure = picture(found, narrow=narrow)
    feasible, outer, inner = drawn(figure)
    np.testing.assert_allclose(feasible, [(0, 6), (3, 3), (5, 5), (2, 8)], atol=1e-12)
    np.testing.assert_array_equal(outer, [v.payoffs for v in found[0].vertices])
    np.testing.assert_array_equal(inner, [v.payoffs for v in found[math.inf].vertices])
    assert marks(figure, "o") in ({(4.0, 6.0)}, {(3.5, 6.5)})  # both have a welfare of 10
    assert marks(figure, "D") == {(0.0, 6.0)}
    assert dashed(figure) == 0
    shown = " ".join(texts(to_svg(figure)))
    for text in ("K = 0 (NFCCE)", "K ≥ 1 (EFCE)", "payoff of student"):
        assert text in shown
    for text in (
        "payoff of professor", "best welfare", "pure Nash equilibrium", "feasible payoffs",
    ):  # fmt: skip
        assert text in shown


def test_other_notions_are_drawn_by_size():
    found = accord.region(signalling(), (0, "efcce", "afce", 1))
    figure = picture(found)
    sizes = [area(polygon) for polygon in drawn(figure)]
    assert sizes == sorted(sizes, reverse=True)
    shown = " ".join(texts(to_svg(figure)))
    for text in ("K = 0 (NFCCE)", "EFCCE", "AFCE", "K ≥ 1 (EFCE)"):
        assert text in shown


def test_everything_is_inside_the_picture(found):
    axes = picture(found).axes[0]
    outer = [point for polygon in found.polygons for point in polygon.outer]
    places = np.array([*outer, *found.feasible])
    assert (places[:, 0] > axes.get_xlim()[0]).all()
    assert (places[:, 0] < axes.get_xlim()[1]).all()
    assert (places[:, 1] > axes.get_ylim()[0]).all()
    assert (places[:, 1] < axes.get_ylim()[1]).all()


def test_a_region_stays_large_among_feasible_payoffs():
    b = accord.GameBuilder(players=["a", "b"])
    b.move(player="a", infoset="x", actions="l r")
    b.payoff("l", 0, 0)
    b.payoff("r", -1, 100)
    alone = accord.region(b.build(), 1)
    axes = picture(alone).axes[0]
    assert axes.get_ylim()[1] > 100  # the region is a point
    found = accord.region(signalling(), 1)  # which pays the professor 6 to 6.5, of 3 to 8
    axes = picture(found).axes[0]
    assert np.diff(axes.get_ylim()) < 0.5 * 1.2
    assert axes.get_xlim()[1] > 5  # the student can have 0 to 4, of 0 to 5
    spots = re.findall(r'aria-label="(\d[^"]*)', region_page(found))
    corner = "corner of the feasible payoffs"
    assert f"0, 6: vertex of K ≥ 1 (EFCE); pure Nash equilibrium; {corner}" in spots
    assert not any(spot.startswith("3, 3:") for spot in spots)
    within = replace(found, feasible=((-50.0, -50.0), (60.0, -50.0), (60.0, 60.0), (-50.0, 60.0)))
    assert "feasible payoffs" not in texts(to_svg(picture(within)))


def test_bounds_that_are_not_tight_are_dashed():
    figure = picture(accord.region(signalling(), (0, 1), directions=2))
    assert dashed(figure) >= 1


def test_points_segments_and_nothing():
    figure = picture(accord.region(kuhn()))
    assert marks(figure, "o") == {(round(-1 / 18, 9), round(1 / 18, 9))}
    assert "Nash equilibrium" in texts(to_svg(figure))
    b = accord.GameBuilder(players=["$a_1$", "2"])
    b.move(player="2", infoset="x", actions="l r")
    b.payoff("l", 0, 1)
    b.payoff("r", 5, 1)
    segment = accord.region(b.build(), 1)
    shown = texts(to_svg(picture(segment)))
    assert any("$a_1$" in text for text in shown)
    assert "payoff of player 2" in shown
    empty = replace(segment, polygons=(replace(segment[1], vertices=(), welfare=None),))
    assert dashed(picture(empty)) == 1


def test_pictures_are_the_same_every_time(found):
    assert to_svg(picture(found)) == to_svg(picture(accord.region(signalling())))
    assert to_svg(picture(found)) != to_svg(picture(accord.region(chicken())))


def test_welfare_that_is_the_same_everywhere_is_not_marked():
    b = accord.GameBuilder(players=["a", "b", "c"])
    b.move(player="c", infoset="x", actions="l r")
    b.payoff("l", 0, 3, 1)
    b.payoff("r", 2, 1, 1)
    figure = picture(accord.region(b.build(), 1))
    assert marks(figure, "o") == set()
    assert "best welfare" not in texts(to_svg(figure))


@pytest.mark.slow
def test_reports_on_small_optima_have_the_region(tmp_path):
    accord.optimize(signalling(), 1, {"professor": 1}, folder=tmp_path / "small")
    files = [path.name for path in write_report(tmp_path / "small")]
    assert {"report-region.svg", "report-region.png"} <= set(files)
    page = (tmp_path / "small" / "report.html").read_text()
    assert "All equilibria" in page
    assert "no equilibrium lies outside" in page
    assert "this run" in texts((tmp_path / "small" / "report-region.svg").read_text())
    accord.optimize(kuhn(players=3), 1, seconds=0, folder=tmp_path / "large")
    accord.solve(signalling(), 1, iterations=10, folder=tmp_path / "solved")
    for other in ("large", "solved"):
        write_report(tmp_path / other)
        assert "All equilibria" not in (tmp_path / other / "report.html").read_text()
