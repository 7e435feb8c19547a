"""Plots: the curves in them, and their colors in a page."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import accord
from accord.reports import plots
from accord.reports.chart import to_inline, to_svg
from accord.reports.colors import LIGHT
from accord.reports.page import run_page
from accord.reports.source import read_source
from accord.reports.summary import players_of, summarize
from accord.reports.view import Advice, Axis, Group, RunView
from accord.runs.checkpoint import Checkpoint
from accord.runs.reading import Bounds
from tests.support.pages import texts


@pytest.fixture(scope="module")
def solved(folders: dict[str, Path]) -> RunView:
    """A run of Kuhn poker."""
    return summarize(read_source(folders["1"]))


def scaled(run: RunView, factor: float) -> RunView:
    """``run`` with other gaps on the way."""
    history = tuple(
        replace(
            moment,
            gap=factor * moment.gap,
            player_gaps=tuple(factor * gap for gap in moment.player_gaps),
        )
        for moment in run.facts.history
    )
    return replace(run, facts=replace(run.facts, checkpoints=history))


def test_convergence_has_bound_and_slope(solved: RunView) -> None:
    figure = plots.convergence(solved)
    assert figure is not None
    shown = texts(to_svg(figure))
    assert "slope −1/2" in shown  # noqa: RUF001
    assert "proved bound" in shown
    axes = figure.axes[0]
    assert axes.get_xscale() == axes.get_yscale() == "log"
    lines = [np.column_stack(line.get_data()) for line in axes.lines]
    gaps = [[moment.iteration, moment.gap] for moment in solved.facts.history]
    assert any(line.shape == (len(gaps), 2) and np.allclose(line, gaps) for line in lines)
    slopes = [np.diff(np.log(line), axis=0) for line in lines if len(line) == 2]
    assert any(abs(step[0, 1] / step[0, 0] + 0.5) < 1e-9 for step in slopes)
    bound = [[x, solved.bound.at(x)] for x in lines[-1][:, 0]]
    assert np.allclose(lines[-1], bound)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["wrhedge", "swrhedge"])
def test_the_bound_of_the_paper_is_the_curve_of_a_fixed_rate(method: str, tmp_path: Path) -> None:
    game, folder = accord.load_game("prisoners_dilemma"), tmp_path / "run"
    if method == "wrhedge":
        accord.solve(game, 1, method=method, iterations=3000, folder=folder)
        name = "paper's bound"
    else:
        accord.learn(game, 1, method=method, episodes=60_000, folder=folder)
        name = "bound, all iterates"
    found = summarize(read_source(folder))
    assert found.bound is not None
    figure = plots.convergence(found)
    assert figure is not None
    assert any(name in text for text in texts(to_svg(figure)))
    per = 1 if method == "wrhedge" else 2
    larger = scaled(found, 1e6 / found.facts.history[-1].gap)  # bring the curve into the chart
    figure = plots.convergence(larger)
    assert figure is not None
    line = np.column_stack(figure.axes[0].lines[-1].get_data())
    assert np.allclose(line, [[x, found.bound.at(max(1.0, x / per))] for x in line[:, 0]])
    tail = line[line[:, 1] < 0.99 * max(found.bound.ranges)]
    steps = np.diff(np.log(tail), axis=0)
    slopes = steps[:, 1] / steps[:, 0]
    assert slopes[0] < -0.55  # steeper than one over the square root
    assert np.all(np.diff(slopes) > 0)  # and flatter towards the end


def test_a_bound_far_away_is_said_not_drawn(solved: RunView) -> None:
    figure = plots.convergence(scaled(solved, 1e-6))
    assert figure is not None
    assert any("off the chart" in text for text in texts(to_svg(figure)))
    assert figure.axes[0].get_ylim()[1] < 1e-3


def test_ticks_have_room_beside_the_axis(solved: RunView) -> None:
    rows = tuple(replace(row, player_gaps=(3e5, 2e5), relative=0.1) for row in solved.gaps)
    figure = plots.gaps_by_k(replace(solved, gaps=rows), narrow=True)
    assert figure is not None
    FigureCanvasAgg(figure).draw()
    left = [label.get_window_extent().x0 for label in figure.axes[0].get_yticklabels()]
    assert len(left) > 2
    assert min(left) >= 0


def test_no_curve_without_positive_gaps(solved: RunView) -> None:
    gaps = tuple(replace(row, player_gaps=(0.0, -0.1)) for row in solved.gaps)
    found = replace(scaled(solved, 0.0), gaps=gaps)
    assert plots.convergence(found) is None
    assert plots.gaps_by_k(found) is None


def test_inline_plots_take_the_colors_of_the_page(solved: RunView) -> None:
    figure = plots.convergence(solved)
    assert figure is not None
    text = to_inline(to_svg(figure), "one", "label")
    assert "var(--ink)" in text
    assert not [color for color in LIGHT.values() if color in text]
    ids = re.findall(r'\bid="([^"]+)"', text)
    used = re.findall(r'(?:href="#|url\(#)([^")]+)', text)
    assert ids
    assert all(name.startswith("one-") for name in ids)
    assert set(used) <= set(ids)


def test_bands_span_all_seeds(solved: RunView) -> None:
    def history(scale: float) -> tuple[Checkpoint, ...]:
        return tuple(Checkpoint(t, scale / t, (scale / t,), (0.0,), 0.0) for t in (1, 2, 4, 8))

    runs = (replace(solved.facts, checkpoints=history(scale)) for scale in (1.0, 4.0, 2.0))
    group = Group("a", tuple(runs))
    figure = plots.overlay([group], Axis.ITERATIONS, relative=False)
    assert figure is not None
    axes = figure.axes[0]
    xs, ys = (np.asarray(column) for column in axes.lines[0].get_data())
    assert np.allclose(ys, 2.0 / xs)
    band = axes.collections[0].get_paths()[0].vertices
    product = band[:, 0] * band[:, 1]
    assert product.min() == pytest.approx(1.0)
    assert product.max() == pytest.approx(4.0)


@pytest.mark.parametrize("narrow", [False, True])
def test_long_names_are_put_below_the_chart(solved: RunView, narrow: bool) -> None:
    """Such as those of OpenSpiel games with all their parameters."""
    names = [f"sheriff({'item_penalty=1.0,' * 20}max_items={items})" for items in (3, 10)]
    groups = [Group(name, (solved.facts,)) for name in names]
    figure = plots.overlay(groups, Axis.ITERATIONS, relative=False, narrow=narrow)
    assert figure is not None
    shown = "".join(texts(to_svg(figure)))
    assert all(name in shown for name in names)
    axes, legend = figure.axes[0], figure.axes[0].get_legend()
    assert axes.get_position().width > 0.5
    assert legend is not None
    box = legend.get_window_extent(FigureCanvasAgg(figure).get_renderer())
    assert box.x1 <= figure.bbox.x1
    assert box.y0 >= figure.bbox.y0


@pytest.mark.parametrize("episodes", [(3000, 3000, 3000), (1000, 2000, 2000)])
def test_bounds_of_runs_with_equally_many_episodes_are_side_by_side(
    episodes: tuple[int, ...], solved: RunView
) -> None:
    """Also if the runs differ only in their seeds; and the axis says how many episodes."""
    runs = tuple(
        replace(solved.facts, episodes=n, bounds=Bounds((0.0,), (1.0 + n,), (False,), (), 0.95, n))
        for n in episodes
    )
    figure = plots.bounds_by_play([Group("prm", runs)])
    assert figure is not None
    (axes,) = figure.axes
    drawn = [bars.lines[2][0].get_segments()[0][0][0] for bars in axes.containers]
    assert len({round(float(x), 3) for x in drawn}) == 3
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == [f"{n:,}" for n in sorted(set(episodes))]


def test_pages_of_large_environments_show_some_infosets_first(solved: RunView) -> None:
    infosets = tuple(Advice(f"at {n}", (("left", 0.25), ("right", 0.75))) for n in range(25))
    values = (113 / 3000,)
    facts = replace(solved.facts, knows_game=False, gap=None, values=values, margins=(math.nan,))
    players = players_of(["0"], facts.values, margins=facts.margins)
    page = run_page(RunView(facts, players, None, 1, advice=(infosets,)), None, None)
    before, _, after = page.partition("<summary>5 more infosets</summary>")
    assert before.count("<strong>left</strong>") == 20
    assert after.count("<strong>left</strong>") == 5
    assert "player 0</h3>" in page
    assert "0.03767" in page and "113/3000" not in page  # an estimate is not a fraction
    order = ("expected payoff", "no bounds on the gap", "Recommendations")
    assert sorted(map(page.index, order)) == [*map(page.index, order)]  # payoffs first
