"""What notebooks show of games, policies, certificates and results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import accord
from accord._format import pretty, shortened
from accord.reports.chart import Plot
from accord.reports.marginals import marginals, telling
from tests.support.environments import NoisyChicken
from tests.support.pages import Page


@pytest.fixture(scope="module")
def game() -> accord.Game:
    return accord.load_game("signalling")


@pytest.fixture(scope="module")
def solution(game: accord.Game) -> accord.runs.Solution:
    return accord.solve(game, k=1, iterations=40)


@pytest.fixture(scope="module")
def optimum(game: accord.Game) -> accord.runs.Optimum:
    return accord.optimize(game, 1)


def shown(thing: object, *, touched: bool = False) -> str:
    """The HTML of something, which must load nothing and, unless it can be touched, run nothing."""
    html: str = thing._repr_html_()  # type: ignore[attr-defined]
    page = Page(html)
    assert page.outside == []
    assert ("script" in page.tags) == touched
    assert "<table>" not in html  # sites such as MkDocs Material dress tables without a class
    return html


def words(html: str) -> str:
    """The text of a piece of HTML, without its style."""
    text = re.sub(r"<style>.*?</style>", " ", html, flags=re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def test_a_small_game_is_drawn_and_a_large_one_described(game: accord.Game) -> None:
    html = shown(game)
    assert html.count('class="node') == 6
    assert html.count("edge never") == 0  # without a policy no move is one that is never told
    assert {"student", "professor", "chance", "dashed"} <= set(words(html).split())
    assert "dashed" not in words(shown(accord.load_game("in_out")))  # nothing is
    large = shown(accord.load_game("kuhn:players=3"))
    assert "<svg" not in large
    assert "infosets" in words(large)


def test_light_and_dark_follow_the_notebook(game: accord.Game) -> None:
    html = shown(game)
    assert "prefers-color-scheme: dark" in html
    for sign in ('[data-jp-theme-light="false"]', ".vscode-dark", '[data-md-color-scheme="slate"]'):
        assert sign in html


def test_a_policy_shows_its_device(game: accord.Game) -> None:
    policy = accord.optimize(game, 1, {"professor": 1}).policy  # only one point is best
    text = words(shown(policy))
    plain = text.replace("\N{NO-BREAK SPACE}", " ")
    assert re.search(r"1/3 good (X|Y) bad \1 \1 accept", plain)  # X and Y are symmetric
    assert text.count("accept") == words(shown(policy.device())).count("accept") == 4


def test_a_policy_with_too_many_plans_shows_what_is_told_at_infosets() -> None:
    kuhn = accord.load_game("kuhn")
    html = shown(accord.solve(kuhn, k=1, iterations=30).policy)
    assert "recommendations at each infoset" in html
    assert "The mediator draws" not in html


def test_names_of_bars_tell_infosets_apart() -> None:
    observed = "[Observer: 0][Private: {}][Round 1][Player: 0][Pot: {}][Money: 99 99][Round1: {}]"
    labels = [observed.format(*rest) for rest in ((0, 2, ""), (1, 2, ""), (0, 4, "1 2"))]
    assert telling(labels) == [
        "[Private: 0][Pot: 2][Round1: ]",
        "[Private: 1][Pot: 2][Round1: ]",
        "[Private: 0][P…4][Round1: 1 2]",
    ]
    assert telling(["start", "start again"]) == ["start", "start again"]
    assert telling(labels[:1]) == [shortened(labels[0], 30)]
    assert telling([]) == []


def test_labels_stay_inside_their_bars() -> None:
    """The parts of a bar are narrower where the names of infosets are long."""
    policy = accord.solve(accord.load_game("leduc_poker"), k=1, iterations=30).policy
    figure = marginals(policy)
    assert figure is not None
    (axes,) = figure.axes
    figure.draw_without_rendering()
    bars = [bar.get_window_extent() for bar in axes.patches]
    inside = [text for text in axes.texts if "plays" not in text.get_text()]
    assert inside
    for text in inside:
        extent = text.get_window_extent()
        assert any(bar.x0 <= extent.x0 and extent.x1 <= bar.x1 for bar in bars), text


def test_one_bar_is_a_chart() -> None:
    """In equilibrium many games end with the first move."""
    b = accord.GameBuilder(players=["entrant", "incumbent"])
    b.move(player="entrant", infoset="market", actions="enter stay")
    b.move("enter", player="incumbent", infoset="entered", actions="fight yield")
    b.payoff("stay", 0, 3)
    b.payoff("enter fight", -1, -1)
    b.payoff("enter yield", -1, 1)
    figure = accord.optimize(b.build(), 1).policy.plot()
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == [
        "player entrant at market"
    ]


def test_a_certificate_shows_the_ladder_and_the_best_deviation(
    game: accord.Game, solution: accord.runs.Solution
) -> None:
    certificate = accord.certify(game, solution)
    text = words(shown(certificate))
    assert [name for name in ("NFCCE", "EFCE", "2-EFCE", "BCE", "NFCE") if name not in text] == []
    assert "player professor at 'X' told 'accept' plays 'refuse' instead" in text.replace(
        "&#39;", "'"
    )


def test_gaps_of_rounding_are_shown_as_none(
    game: accord.Game, optimum: accord.runs.Optimum
) -> None:
    for k in (0, 1):
        text = words(shown(accord.certify(game, optimum, k)))
        assert "no player can gain by deviating" in text
        assert "gains" not in text
    assert "equilibrium to rounding" in words(shown(optimum))
    assert "<svg" not in shown(optimum)


def test_a_solution_shows_payoffs_gap_and_curve(solution: accord.runs.Solution) -> None:
    html = shown(solution)
    assert words(html).index("expected payoff") < words(html).index("No player gains more than")
    assert "<svg" in html
    other = shown(accord.solve(solution.game, k=2, iterations=40))
    ids = [set(re.findall(r'id="([^"]+)"', one)) for one in (html, other)]
    assert ids[0] and not ids[0] & ids[1]


def test_labels_are_only_text() -> None:
    b = accord.GameBuilder("<b>", players=["<i>x", "y"])
    b.move(player="<i>x", infoset="<script>alert(1)</script>", actions=["<u>", "d"])
    b.move(("<u>",), ("d",), player="y", infoset="<img src=x>", actions="l r")
    for first in ("<u>", "d"):
        b.payoff((first, "l"), 1, 0)
        b.payoff((first, "r"), 0, 1)
    game = b.build()
    found = accord.solve(game, k=1, iterations=20)
    for thing in (game, found, found.policy, found.policy.device(), accord.certify(game, found)):
        assert "<script>alert" not in shown(thing)


def test_plots_are_figures_that_a_notebook_shows(
    solution: accord.runs.Solution, optimum: accord.runs.Optimum
) -> None:
    for figure in (solution.plot(), optimum.plot(), solution.policy.plot()):
        assert isinstance(figure, Plot)
        assert figure._repr_png_().startswith(b"\x89PNG")


def test_a_region_is_shown_as_its_picture() -> None:
    found = accord.region(accord.load_game("chicken"), 1, tolerance=1e-3)
    assert "<svg" in shown(found, touched=True)
    assert isinstance(found.plot(), Plot)


def test_learning_without_a_game_shows_payoffs_and_bounds() -> None:
    found = accord.learn(NoisyChicken(), episodes=300, seed=1, plays=100)
    text = words(shown(found))
    assert f"Means of {found.plays} fresh plays" in text
    assert all(pretty(value) in text for value in found.values)
    assert found.certificate is not None
    assert pretty(found.certificate[1].upper) in text


def test_bounds_that_were_refused_are_missed_with_the_reason() -> None:
    found = accord.learn(NoisyChicken(), episodes=300, seed=1, plays=10)
    assert found.certificate is None
    reason = "bounds on the gap need at least 40 plays; there were 10"
    assert f"there are no bounds on the gap: {reason}." in words(shown(found))


def test_learning_with_a_game_has_gaps_where_they_are_known() -> None:
    env, game = accord.OpenSpielEnvironment("kuhn_poker"), accord.load_game("kuhn_poker")
    found = accord.learn(env, k=1, episodes=600, seed=1, game=game, plays=10)
    known = [point for point in found.history if point.player_gaps]
    assert isinstance(found.plot(), Plot)
    frame = found.to_frame()
    assert len(frame) == len(found.history)
    assert frame["gap of 0"].dropna().tolist() == [point.player_gaps[0] for point in known]


@pytest.mark.slow
def test_reports_of_results(
    solution: accord.runs.Solution, optimum: accord.runs.Optimum, tmp_path: Path
) -> None:
    page = accord.report(solution)
    assert "<iframe srcdoc=" in page._repr_html_()
    written = page.save(tmp_path / "page.html")
    assert written[0].read_text() == page.html
    assert {path.name for path in written} > {"page.html", "page-convergence.svg", "page-tree.svg"}
    assert "proved to be the best" in accord.report(optimum).html
    with pytest.raises(accord.errors.ArgumentError, match="use the command accord report"):
        accord.report("solution")  # type: ignore[arg-type]
