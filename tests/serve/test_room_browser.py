"""The room in a real browser: phones and a desktop, three rounds with strangers, all pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accord.serve.design import Design
from accord.serve.room import Room
from tests.serve.test_browser import open_tab, press, shows, text, until
from tests.support.browser import find, find_all
from tests.support.server import open_room, operator_link, running

pytestmark = pytest.mark.slow

SIZES = ((320, 700), (390, 844), (1280, 900), (820, 1180))


def resize(browser: Any, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def check_fits(browser: Any, width: int) -> None:
    script = "return [document.documentElement.scrollWidth, innerWidth]"
    content, screen = browser.execute_script(script)
    assert content <= screen == width, text(browser)
    for control in find_all(browser, "main button, main input:not([type=hidden])"):
        assert control.rect["height"] >= 38


def follow(browser: Any) -> None:
    shows(browser, "Your turn")
    press(browser, find(browser, ".told strong").text)


def test_three_rounds_with_strangers_on_phones_and_a_desktop(browser: Any, tmp_path: Path) -> None:
    design = Design(
        rounds=3, rematch="perfect", roles="random", match="random", ask="name", quiz=True,
        consent="May we?", rate=0.5, currency="EUR",
    )  # fmt: skip
    room = open_room(tmp_path / "p.db", design=design)
    with running(room) as server:
        browser.get(server + operator_link(room.hall))
        operator = browser.current_window_handle
        people = []
        for n, size in enumerate(SIZES):
            window = open_tab(browser, "about:blank")
            resize(browser, *size)
            people.append((window, size[0]))
            browser.get(server)
            check_fits(browser, size[0])
            find(browser, "#given").send_keys(room.code.lower())
            press(browser, "Come in")
            shows(browser, "Your name")
            find(browser, "#given").send_keys(f"person {n}")
            press(browser, "Come in")
            shows(browser, "Consent")
            check_fits(browser, size[0])
            press(browser, "I agree and take part")
            shows(browser, "What you can earn")
            check_fits(browser, size[0])
            press(browser, "I have read this")
            shows(browser, "A few questions")
            check_fits(browser, size[0])
            questions = room.rules_of(n + 1).questions(n + 1)
            for q, question in enumerate(questions):
                find(browser, f"#q{q}").send_keys(f"{question.answer:g}")
            press(browser, "Check my answers")
            shows(browser, "Waiting room")
            check_fits(browser, size[0])
        browser.switch_to.window(operator)
        shows(browser, "4 people wait")
        press(browser, "Match those who wait")
        met = []
        for round in (1, 2, 3):
            for window, width in people:
                browser.switch_to.window(window)
                shows(browser, f"Round {round} of 3")
                shows(browser, "Your turn")
                check_fits(browser, width)
            with room.store.transaction():
                plays = [row.id for row in room.store.plays("running")]
                met += [frozenset(s.person for s in room.store.seats(play)) for play in plays]
            for window, _ in people:
                browser.switch_to.window(window)
                follow(browser)
            for window, width in people:
                browser.switch_to.window(window)
                shows(browser, "The play is over")
                check_fits(browser, width)
                if round < 3:
                    press(browser, "Continue to the next round")
        assert len(met) == len(set(met)) == 6  # everybody has met everybody once
        for window, width in people:
            browser.switch_to.window(window)
            shows(browser, "In all rounds together")
            shows(browser, "You are paid")
            check_fits(browser, width)
        browser.switch_to.window(operator)
        shows(browser, "finished")
        for window, _ in people:
            browser.switch_to.window(window)
            browser.close()
        browser.switch_to.window(operator)
        browser.get("about:blank")
    complaints = [entry["message"] for entry in browser.get_log("browser")]
    assert complaints == []


def in_the_middle(room: Room) -> list[str]:
    """People at every stage; their secrets."""
    tokens = [room.join(f"person {n}") for n in range(5)]
    for token, steps in zip(tokens, (0, 1, 2, 3, 3), strict=True):
        for step in ("consent", "instructions", "quiz")[:steps]:
            room.pass_step(room.find(token), step)
    return tokens


@pytest.mark.parametrize("width", [320, 390, 1200, 1920])
def test_nothing_is_wider_than_the_screen(browser: Any, tmp_path: Path, width: int) -> None:
    design = Design(rounds=2, consent="May we?", quiz=True, ask="name", practice=True)
    room = open_room(tmp_path / "p.db", "signalling", design)
    with running(room) as server:
        operator = server + operator_link(room.hall)
        pages = [f"{server}/seat/{token}" for token in in_the_middle(room)]
        pages += [f"{server}/", f"{server}/join/{room.code}", operator, f"{operator}/poster"]
        pages += [f"{operator}/results"]
        browser.switch_to.new_window("tab")
        resize(browser, width, 900)
        for page in pages:
            browser.get(page)
            check_fits(browser, width)
        browser.get("about:blank")
        browser.get_log("browser")


CONTRAST = """
const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
const linear = (v) => v <= 10 ? v / 3295 : ((v / 255 + .055) / 1.055) ** 2.4;
const light = ([r, g, b]) => .2126 * linear(r) + .7152 * linear(g) + .0722 * linear(b);
const behind = (e) => {
  for (; e; e = e.parentElement) {
    const color = numbers(getComputedStyle(e).backgroundColor);
    if (color.length < 4 || color[3] > 0) return color;
  }
  return [255, 255, 255];
};
const hasText = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
let worst = [21, ""];
for (const e of document.querySelectorAll("main *")) {
  if (!hasText(e) || !e.checkVisibility()) continue;
  const ink = light(numbers(getComputedStyle(e).color)), paper = light(behind(e));
  const ratio = (Math.max(ink, paper) + .05) / (Math.min(ink, paper) + .05);
  if (ratio < worst[0]) worst = [ratio, e.outerHTML.slice(0, 200)];
}
return worst;
"""

LABELS = """
const named = (e) => e.innerText || e.ariaLabel || e.labels?.length;
return [...document.querySelectorAll("main :is(button, input:not([type=hidden]), select, a)")]
  .filter((e) => !named(e)).map((e) => e.outerHTML);
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_labels_and_headings(browser: Any, tmp_path: Path, scheme: str) -> None:
    """Text has a contrast of at least 4.5 (WCAG 2.2, AA), and every control has a name."""
    design = Design(rounds=2, consent="May we?", quiz=True, ask="name", practice=True)
    room = open_room(tmp_path / "p.db", "chicken", design, limit=100)
    with running(room) as server:
        operator = server + operator_link(room.hall)
        pages = [f"{server}/seat/{token}" for token in in_the_middle(room)]
        pages += [f"{server}/", f"{server}/join/{room.code}", operator, f"{operator}/poster"]
        browser.switch_to.new_window("tab")
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        for page in pages:
            browser.get(page)
            ratio, where = browser.execute_script(CONTRAST)
            assert ratio >= 4.5, where
            assert browser.execute_script(LABELS) == []
            if "poster" not in page:
                assert len(find_all(browser, "h1")) == 1
            assert browser.execute_script("return document.documentElement.lang") == "en"
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        browser.get("about:blank")
        browser.get_log("browser")


def test_a_warning_before_time_runs_out(browser: Any, tmp_path: Path) -> None:
    room = open_room(tmp_path / "p.db", limit=12)
    with running(room) as server:
        tokens = [room.join() for _ in range(2)]
        for token in tokens:
            room.pass_step(room.find(token), "instructions")
        browser.get(f"{server}/seat/{tokens[0]}")
        assert not find(browser, "#soon").is_displayed()
        assert find(browser, "#soon").get_attribute("role") == "alert"
        until(lambda: "Less than 10 seconds are left." in text(browser))
        browser.get("about:blank")


def test_links_can_be_copied(browser: Any, tmp_path: Path) -> None:
    room = open_room(tmp_path / "p.db")
    with running(room) as server:
        room.hall.create()
        browser.get(f"{server}{operator_link(room.hall)}/play/1")
        press(browser, "Make the missing links")
        shows(browser, "All links as CSV")
        find(browser, ".copy").click()
        shows(browser, "Copied")
        browser.get("about:blank")
        browser.get_log("browser")
