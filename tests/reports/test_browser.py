"""The report in a real browser: Chromium, without a window, driven as a reader would.

Without Chromium and its driver these tests are skipped; where ``CI`` is set that is a failure.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

import accord
from accord._format import percent, pretty
from accord.treeplex.form import sequence_form
from tests.support.browser import find, find_all, page_and_screen, screen
from tests.support.command import run
from tests.support.labels import NASTY, nasty_game

pytestmark = pytest.mark.slow

A4_WITHOUT_MARGINS = 687
"""Pixels: 210 mm less twice 14 mm, at 96 to the inch."""


@pytest.fixture(scope="module")
def kuhn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "kuhn"
    run("solve", "kuhn", "--iterations", 40, "--method", "rm", "--out", folder)
    run("report", folder)
    return folder


@pytest.fixture(scope="module", params=[2, 3, 4, 6])
def many(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report about this many players, with gaps that take many letters."""
    game = accord.load_game(f"random:players={request.param},depth=8,seed=4")
    folder: Path = tmp_path_factory.mktemp("runs") / "many"
    # On threads, players take their turns in kernels that do not depend on how many there are.
    accord.solve(game, 1, iterations=100, threads=2, folder=folder)
    run("report", folder)
    return folder / "report.html"


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[[Path], Any]]:
    """Opens a page; at the end the browser must have nothing to complain, and asked nobody."""
    pages: list[str] = []

    def open_page(path: Path) -> Any:
        for kind in ("browser", "performance"):
            browser.get_log(kind)  # what came before is not of this page
        pages.append(path.as_uri())
        browser.get(path.as_uri())
        return browser

    yield open_page
    assert browser.get_log("browser") == []
    asked = [
        message["params"]["request"]["url"]
        for entry in browser.get_log("performance")
        if (message := json.loads(entry["message"])["message"])["method"]
        == "Network.requestWillBeSent"
    ]
    assert asked, "the log of requests must see at least the page"
    assert [url for url in asked if url not in pages and not url.startswith("data:")] == []


def choose(browser: Any, name: str, value: object) -> None:
    find(browser, f"label:has(input[name={name}][value='{value}'])").click()


def rows(browser: Any) -> list[list[str]]:
    """The table of recommendations, as shown."""
    return [
        [cell.text.strip() for cell in find_all(row, "td")]
        for row in find_all(browser, "#panel table.told tbody tr")
    ]


def test_what_is_shown_is_what_certify_finds(opened: Callable[[Path], Any], kuhn: Path) -> None:
    browser = opened(kuhn / "report.html")
    game = accord.load_game("kuhn")
    policy = accord.load_policy(kuhn / "policy.npz", game)
    certificate = accord.certify(game, policy, 1)
    body = find(browser, "main").text
    assert f"No player gains more than {pretty(certificate[1].gap)} by disobeying once" in body
    checked = 0
    for i, witness in enumerate(certificate[1].witnesses):
        choose(browser, "player", i)
        plex = sequence_form(game).plexes[i]
        for place in witness.first_deviations[:3]:
            search = find(browser, "#find")
            search.clear()
            search.send_keys(place.infoset + Keys.ENTER)
            assert find(browser, "#where").text == place.infoset
            x = list(plex.infoset_labels).index(place.infoset)
            r = list(plex.action_labels[x]).index(place.told)
            told, _, _, response, _, gain = rows(browser)[r]
            assert told == place.told
            if place.probability > 1e-6:
                assert response == f"{place.plays} instead"
                assert gain == f"+{pretty(place.gain / place.probability)}"
                checked += 1
    assert checked >= 2


def test_probabilities_of_recommendations(opened: Callable[[Path], Any], kuhn: Path) -> None:
    browser = opened(kuhn / "report.html")
    game = accord.load_game("kuhn")
    policy = accord.load_policy(kuhn / "policy.npz", game)
    first = sequence_form(game).plexes[0].first_seq[0]
    share = policy.weights @ policy.behavior[:, first]  # the first infoset: nothing came before
    assert rows(browser)[0][1] == percent(float(share)).replace("\N{NO-BREAK SPACE}", " ")
    assert len(find_all(browser, "#list li")) == 6


def test_one_can_walk_through_the_tree(opened: Callable[[Path], Any], kuhn: Path) -> None:
    browser = opened(kuhn / "report.html")
    start = find(browser, "#where").text
    below = find(browser, "#panel .next button")
    label = below.text
    below.click()
    assert find(browser, "#where").text == label != start
    assert find(browser, "#list li[aria-selected=true] span").text == label
    last = "This is the player\N{RIGHT SINGLE QUOTATION MARK}s last decision."
    assert last in find(browser, "#panel").text
    find(browser, "#panel .crumbs button").click()
    assert find(browser, "#where").text == start


def test_the_keyboard_is_enough(opened: Callable[[Path], Any], kuhn: Path) -> None:
    browser = opened(kuhn / "report.html")
    labels = [item.text.splitlines()[0] for item in find_all(browser, "#list li")]
    box = find(browser, "#list")
    box.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert find(browser, "#where").text == labels[2]
    box.send_keys(Keys.END)
    assert find(browser, "#where").text == labels[-1]
    assert box.get_attribute("aria-activedescendant") == f"option-{len(labels) - 1}"
    node = find(browser, ".accord-tree .node[data-player='1']")
    node.send_keys(Keys.ENTER)
    label = node.get_attribute("aria-label")
    assert f"Inspect {find(browser, '#where').text} of player 2" == label
    assert find(browser, "input[name=player][value='1']").is_selected()
    assert "chosen" in node.get_attribute("class")


def test_k_can_be_chosen(opened: Callable[[Path], Any], kuhn: Path) -> None:
    browser = opened(kuhn / "report.html")
    assert find(browser, "input[name=k][value='1']").is_selected()
    choose(browser, "k", 0)
    assert "gets no recommendations" in find(browser, "#panel").text
    choose(browser, "k", "inf")
    find(browser, "#responses summary").click()
    assert len(find_all(browser, "#responses tbody tr")) == len(rows(browser)) == 2


def test_links_in_the_deviations_lead_to_the_inspector(
    opened: Callable[[Path], Any], kuhn: Path
) -> None:
    browser = opened(kuhn / "report.html")
    for link in find_all(browser, ".deviation-card > p a"):
        browser.execute_script("arguments[0].click()", link)
        assert find(browser, "#where").text == link.text
        player = link.get_attribute("data-go")
        assert find(browser, f"input[name=player][value='{player}']").is_selected()


def test_long_labels_are_told_apart(opened: Callable[[Path], Any], tmp_path: Path) -> None:
    labels = [f"[Observer: 0][Private: {card}][Round 1][Pot: 2][Money: 99 99]{9 * '[ ]'}"
              for card in range(2)]  # fmt: skip
    builder = accord.GameBuilder("cards", players=["a"])
    builder.chance({"low": 0.5, "high": 0.5})
    for card, label in zip(("low", "high"), labels, strict=True):
        builder.move(card, player="a", infoset=label, actions="stay go")
        builder.payoff((card, "stay"), 0)
        builder.payoff((card, "go"), 1)
    accord.solve(builder.build(), iterations=3, folder=tmp_path / "run")
    accord.interop.write_efg(builder.build(), tmp_path / "cards.efg")
    run("report", tmp_path / "run", "--game", tmp_path / "cards.efg")
    browser = opened(tmp_path / "run" / "report.html")
    shown = find_all(browser, "#device a .label")
    assert {label.text for label in shown} == {"… [Private: 0]", "… [Private: 1]"}
    assert {label.get_attribute("title") for label in shown} == set(labels)


@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_is_wider_than_the_screen(
    opened: Callable[[Path], Any], kuhn: Path, width: int
) -> None:
    browser = opened(kuhn / "report.html")
    with screen(browser, width):
        page, shown = page_and_screen(browser)
        assert page <= shown == width
        plots = [svg.is_displayed() for svg in find_all(browser, "figure .narrow svg")]
        assert plots == [width < 600] * 2


@pytest.mark.parametrize("width", [360, 390, 800, 1000, 1280])
def test_no_table_is_cut(opened: Callable[[Path], Any], many: Path, width: int) -> None:
    browser = opened(many)
    with screen(browser, width):
        hidden = browser.execute_script(
            "return [...document.querySelectorAll('.scroll:has(table):not(details *)')]"
            ".map(box => box.scrollWidth - box.clientWidth)"
        )
        assert len(hidden) >= 2
        assert max(hidden) == 0
        page, shown = page_and_screen(browser)
        assert page <= shown


def test_no_comparison_is_cut(opened: Callable[[Path], Any], kuhn: Path, tmp_path: Path) -> None:
    run("solve", "random:players=4,depth=6,seed=4", "--iterations", 9, "--out", tmp_path / "other")
    run("report", kuhn, tmp_path / "other", "--out", tmp_path / "both.html")
    browser = opened(tmp_path / "both.html")
    script = (
        "const box = document.querySelector('.scroll'); return [box.scrollWidth, box.clientWidth]"
    )
    for width in (390, 800, 1280):
        with screen(browser, width):
            table, shown = browser.execute_script(script)
            assert table <= shown


def test_no_table_is_cut_on_paper(opened: Callable[[Path], Any], many: Path) -> None:
    browser = opened(many)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        with screen(browser, A4_WITHOUT_MARGINS):
            page, paper = page_and_screen(browser)
            assert page <= paper == A4_WITHOUT_MARGINS
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_notebooks_fit_a_phone(opened: Callable[[Path], Any], tmp_path: Path) -> None:
    """Only drawings are wider than the screen, and they say so."""
    game = accord.load_game("random:players=4,depth=5,seed=4")
    found, best = accord.solve(game, 1, iterations=100), accord.optimize(game, 1)
    shown = [game, accord.load_game("leduc_poker"), found, found.policy, best, best.policy]
    shown += [best.policy.device(), accord.certify(game, found)]
    pieces = [thing._repr_html_() for thing in shown]  # type: ignore[attr-defined]
    path = tmp_path / "notebook.html"
    head = (
        '<!DOCTYPE html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    )
    path.write_text(head + '<link rel="icon" href="data:,">' + "".join(pieces))
    browser = opened(path)
    for width in (390, 1200):
        with screen(browser, width):
            page, shown = page_and_screen(browser)
            assert page <= shown == width
            tables = browser.execute_script(
                "return [...document.querySelectorAll('.scroll:has(table)')]"
                ".map(box => box.scrollWidth - box.clientWidth)"
            )
            assert len(tables) >= 5
            assert max(tables) == 0
            told = browser.execute_script(
                "return [...document.querySelectorAll('figure.scroll')].map(box => ["
                "box.scrollWidth > box.clientWidth,"
                "getComputedStyle(box.previousElementSibling).display === 'block'])"
            )
            assert all(wider == said for wider, said in told)
            assert any(wider for wider, _ in told) == (width < 600)


def test_dark_pages_have_light_ink(opened: Callable[[Path], Any], kuhn: Path) -> None:
    browser = opened(kuhn / "report.html")

    def brightness(scheme: str) -> tuple[int, int]:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        style = "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
        paper, ink = (
            sum(map(int, text.strip("rgb()").split(","))) for text in browser.execute_script(style)
        )
        return paper, ink

    paper, ink = brightness("dark")
    assert paper + 450 < ink
    paper, ink = brightness("light")
    assert ink + 450 < paper


def test_labels_are_only_text(opened: Callable[[Path], Any], tmp_path: Path) -> None:
    accord.interop.write_efg(nasty_game(), tmp_path / "game.efg")
    run("solve", tmp_path / "game.efg", "--iterations", 5, "--out", tmp_path / "run")
    run("report", tmp_path / "run")
    browser = opened(tmp_path / "run" / "report.html")
    assert browser.title.startswith(f"game {NASTY}")
    assert find_all(browser, "img") == []
    assert find(browser, "#where").text.endswith(NASTY)
    choose(browser, "player", 1)
    find(browser, "#panel .crumbs")
    assert find_all(browser, "img") == []


def test_a_large_game_stays_quick(opened: Callable[[Path], Any], tmp_path: Path) -> None:
    run("solve", "leduc_poker", "--iterations", 5, "--out", tmp_path / "run")
    run("report", tmp_path / "run")
    browser = opened(tmp_path / "run" / "report.html")
    assert "468 of 468 infosets" in find(browser, "#count").text
    start = time.perf_counter()
    for _ in range(5):
        below = find_all(browser, "#panel .next button")
        if not below:
            break
        browser.execute_script("arguments[0].click()", below[0])
    find(browser, "#find").send_keys("[Round 2] [Private: 3]")
    assert "468 of 468" not in find(browser, "#count").text
    assert time.perf_counter() - start < 10


def test_comparison(opened: Callable[[Path], Any], kuhn: Path, tmp_path: Path) -> None:
    run("solve", "kuhn", "--iterations", 20, "--out", tmp_path / "other")
    run("report", kuhn, tmp_path / "other", "--out", tmp_path / "both.html")
    browser = opened(tmp_path / "both.html")
    assert find(browser, "h1").text == "2 runs of kuhn"
    assert len(find_all(browser, "main tbody tr")) == 2


@pytest.fixture(scope="module")
def best(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of an optimum, which has a device, a region and a tree."""
    folder = tmp_path_factory.mktemp("runs") / "best"
    run("optimize", "signalling", "--objective", "player=professor", "--out", folder)
    run("report", folder)
    return folder / "report.html"


def chosen_device(browser: Any) -> tuple[str, list[tuple[float, list[str]]]]:
    """The words below a region, and the probabilities and recommendations of the plans."""
    plans = [
        (
            float(find(row, "th span").text.split()[0]) / 100,
            [item.text for item in find_all(row, "li")],
        )
        for row in find_all(browser, ".chosen tbody tr")
    ]
    return find(browser, ".chosen").text, plans


def as_policy(plans: list[tuple[float, list[str]]]) -> accord.CorrelatedPolicy:
    """A device of the signalling game, as a page shows it: two letters, then answers.

    Letters that nobody is told to send are refused, which the page leaves out.
    """
    total = sum(probability for probability, _ in plans)  # rounded
    device = []
    for probability, told in plans:
        words = [line.split() for line in told]
        answers = {"X": "refuse", "Y": "refuse", **dict(words[2:])}
        device.append((probability / total, [dict(words[:2]), answers]))
    return accord.CorrelatedPolicy.from_device(accord.load_game("signalling"), device)


def type_payoffs(browser: Any, *payoffs: float) -> None:
    for box, payoff in zip(find_all(browser, ".choice input[type=number]"), payoffs, strict=True):
        box.clear()
        box.send_keys(str(payoff), Keys.TAB)


@pytest.mark.parametrize("payoffs", [(3.5, 6.5), (2.0, 6.1), (2.7, 6.25), (1.0, 6.0)])
def test_a_point_of_the_region_has_a_device_with_its_payoffs(
    opened: Callable[[Path], Any], best: Path, payoffs: tuple[float, float]
) -> None:
    browser = opened(best)
    type_payoffs(browser, *payoffs)
    words, plans = chosen_device(browser)
    assert "In this EFCE the mediator" in words and "No EFCE" not in words
    assert sum(probability for probability, _ in plans) == pytest.approx(1.0, abs=2e-3)
    policy = as_policy(plans)
    assert policy.values() == pytest.approx(payoffs, abs=2e-2)
    assert accord.certify(policy.game, policy, 1)[1].gap <= 2e-2, "the probabilities are rounded"
    assert len(plans) == len({tuple(told) for _, told in plans}), "a plan stands there twice"


def test_payoffs_that_no_equilibrium_has(opened: Callable[[Path], Any], best: Path) -> None:
    browser = opened(best)
    type_payoffs(browser, 3, 7)
    words, plans = chosen_device(browser)
    assert "No EFCE pays 3 for player student and 7 for player professor" in words
    assert as_policy(plans).values()[1] == pytest.approx(6.5 - 0.01, abs=0.02)


def test_equilibria_that_stand_out_are_buttons(opened: Callable[[Path], Any], best: Path) -> None:
    browser = opened(best)
    spots = [spot for spot in find_all(browser, ".touch .spot") if spot.is_displayed()]
    names = [spot.get_attribute("aria-label") for spot in spots]
    nash = next(name for name in names if "pure Nash equilibrium" in name)
    assert nash.startswith("0, 6:")
    spots[names.index(nash)].send_keys(Keys.ENTER)
    words, plans = chosen_device(browser)
    assert "Expected payoffs: 0 for player student and 6 for player professor" in words
    assert len(plans) == 1


def test_a_plan_is_shown_as_its_play(opened: Callable[[Path], Any], best: Path) -> None:
    browser = opened(best)
    row = find(browser, "#device [data-plan]")
    told = dict(item.text.split() for item in find_all(row, "li"))
    button = find(row, "button")
    button.click()
    played = [edge.find_element("tag name", "title") for edge in find_all(browser, ".edge.played")]
    moves = [title.get_attribute("textContent").split()[0] for title in played]
    # Chance makes both students, each sends the letter of the plan, and the professor answers.
    expected = ["good", "bad", told["good"], told["bad"], told[told["good"]], told[told["bad"]]]
    assert sorted(moves) == sorted(expected)
    button.click()
    assert not find_all(browser, ".edge.played")


def test_binding_constraints_are_named(opened: Callable[[Path], Any], best: Path) -> None:
    browser = opened(best)
    choose(browser, "player", 1)
    search = find(browser, "#find")
    search.send_keys("X" + Keys.ENTER)
    assert not find_all(browser, "#panel .binding")
    search.clear()
    search.send_keys("Y" + Keys.ENTER)
    text = find(browser, "#panel .binding").text
    assert text == "Binding: told accept, playing refuse instead pays the same."


def test_a_page_of_a_region_alone(opened: Callable[[Path], Any], tmp_path: Path) -> None:
    run(
        "region",
        "kuhn_poker(players=3)",
        "-k",
        0,
        "--tolerance",
        0.01,
        "--out",
        tmp_path / "r.html",
    )
    browser = opened(tmp_path / "r.html")
    spot = next(spot for spot in find_all(browser, ".touch .spot") if spot.is_displayed())
    spot.send_keys(" ")
    assert "for player 2." in find(browser, ".chosen p").text, "the others are paid, too"
    with screen(browser, 390):
        wide, width = page_and_screen(browser)
        assert wide <= width


def test_a_point_of_a_curve_has_its_device(opened: Callable[[Path], Any], tmp_path: Path) -> None:
    objectives = ("--objective", "player=prosecutor", "--objective", "welfare")
    words = ("persuasion:prior=x", "x=0.1:0.5:0.1", *objectives, "--commits", "prosecutor")
    run("curve", *words, "--out", tmp_path / "c")
    browser = opened(tmp_path / "c" / "curve.html")
    slider = find(browser, ".choice input[type=range]")
    slider.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert slider.get_attribute("aria-valuetext") == "x = 0.3"
    text, plans = chosen_device(browser)
    assert "x = 0.3: 0.6 (player=prosecutor). No equilibrium has a better value." in text
    assert "0.6 for player prosecutor, 0.7 for player judge" in text
    game, device = accord.load_game("persuasion:prior=0.3"), []
    for probability, told in plans:
        said = dict(line.split() for line in told)
        own = {label: said.pop(label) for label in game.infoset_labels[0]}
        device.append((probability, [own, {"accuse": "convict", "clear": "acquit", **said}]))
    total = sum(probability for probability, _ in device)  # rounded
    policy = accord.CorrelatedPolicy.from_device(game, [(p / total, plan) for p, plan in device])
    assert policy.values() == pytest.approx([0.6, 0.7], abs=5e-3)
    spots = [spot for spot in find_all(browser, ".touch .spot") if spot.is_displayed()]
    assert [spot.get_attribute("aria-label") for spot in spots[4:6]] == [
        "x = 0.5: 1, player=prosecutor",
        "x = 0.1: 1.1, welfare",
    ]
    spots[-1].click()
    assert chosen_device(browser)[0].startswith("x = 0.5: 1.5 (welfare).")
    with screen(browser, 390):
        wide, width = page_and_screen(browser)
        assert wide <= width
