"""The pages of the server in a real browser: two seats at once, two tabs, phone and desktop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from accord.serve.hall import Hall
from tests.support.browser import find, find_all
from tests.support.server import device_policy, open_hall, operator_link, running

pytestmark = pytest.mark.slow

PATIENCE = 30.0
"""Seconds after which a page that should have changed has not."""


@pytest.fixture
def hall(tmp_path: Path) -> Hall:
    return open_hall(tmp_path / "plays.db", device_policy("chicken"))


@pytest.fixture
def server(hall: Hall, browser: Any) -> Iterator[str]:
    first = browser.window_handles[0]
    with running(hall) as url:
        yield url
        for window in browser.window_handles[1:]:
            browser.switch_to.window(window)
            browser.close()
        browser.switch_to.window(first)
        browser.get("about:blank")
    complaints = [entry["message"] for entry in browser.get_log("browser")]
    assert [text for text in complaints if "404" not in text] == []


def until(true: Callable[[], bool]) -> None:
    """Wait for a page to change by itself."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.1)


def text(browser: Any) -> str:
    """What is shown now, read at one moment: the page may be replaced at any other."""
    found = browser.execute_script("return document.querySelector('main')?.innerText ?? ''")
    return " ".join(str(found).split())


def shows(browser: Any, words: str) -> None:
    until(lambda: words in text(browser))


def open_tab(browser: Any, url: str) -> str:
    browser.switch_to.new_window("tab")
    browser.get(url)
    return str(browser.current_window_handle)


CLICK = """
const button = [...document.querySelectorAll('button')].find(b => b.innerText === arguments[0]);
button?.click();
return button !== undefined;
"""


def press(browser: Any, label: str) -> None:
    until(lambda: browser.execute_script(CLICK, label))


def test_the_operator_and_two_seats_at_once(browser: Any, hall: Hall, server: str) -> None:
    browser.get(server + operator_link(hall))
    operator = browser.current_window_handle
    press(browser, "Create")
    shows(browser, "Play 1 open")
    name = find(browser, "input[name=name]")
    name.clear()
    name.send_keys("Ann")
    press(browser, "Rename")
    shows(browser, "Ann as row")
    press(browser, "Make the missing links")
    shows(browser, "Links are shown only now")
    links = [item.text for item in find_all(browser, ".links dd")]
    row, col = (open_tab(browser, link) for link in links)
    browser.switch_to.window(row)
    assert "Ann, you play as row" in text(browser)
    assert "Not started yet" in text(browser)

    browser.switch_to.window(operator)
    press(browser, "Start")
    told = {}
    for window in (row, col):  # the pages change by themselves
        browser.switch_to.window(window)
        shows(browser, "Your turn")
        told[window] = find(browser, ".told strong").text
    browser.switch_to.window(row)
    press(browser, told[row])
    shows(browser, "Please wait")
    browser.switch_to.window(col)
    time.sleep(2)
    assert "Your turn" in text(browser)  # nothing shows that Ann has moved
    assert "Ann" not in text(browser)
    press(browser, told[col])
    shows(browser, "The play is over")
    browser.switch_to.window(row)
    shows(browser, "The play is over")
    assert f"you were told {told[row]} and played {told[row]}" in text(browser)
    browser.switch_to.window(operator)
    shows(browser, "Play 1 over")


def test_stopping_a_play_asks_first(browser: Any, hall: Hall, server: str) -> None:
    (play,) = hall.create()
    browser.get(f"{server}{operator_link(hall)}/play/{play}")
    find(browser, "form[action$=stop] button").click()
    browser.switch_to.alert.dismiss()
    assert hall.watch(play).status == "open"
    find(browser, "form[action$=stop] button").click()
    browser.switch_to.alert.accept()
    shows(browser, "Play 1 stopped")


def seat_links(hall: Hall, server: str) -> list[str]:
    (play,) = hall.create()
    links = [f"{server}/seat/{hall.invite(play, player)}" for player in (0, 1)]
    hall.start(play)
    return links


def test_the_operators_page_changes_under_the_keyboard(
    browser: Any, hall: Hall, server: str
) -> None:
    """It shows what has happened, and neither focus nor position are lost."""
    hall.create(30)
    browser.get(server + operator_link(hall))
    browser.execute_script(
        "window.first = true; [...document.querySelectorAll('a')].find(a => a.innerText === '2')"
        ".focus(); scrollTo(0, 500)"
    )
    assert "running" not in text(browser)
    hall.start("7")
    shows(browser, "running")
    state = "return [window.first, document.activeElement.innerText, scrollY]"
    assert browser.execute_script(state) == [True, "2", 500]
    find(browser, "input[name=id]").send_keys("room 4")
    hall.start("8")
    time.sleep(2)
    assert find(browser, "input[name=id]").get_attribute("value") == "room 4"
    browser.execute_script("document.activeElement.blur()")
    hall.stop("8")
    shows(browser, "stopped")
    assert find(browser, "input[name=id]").get_attribute("value") == "room 4"
    browser.get(browser.current_url + "/play/7")
    for player in (0, 1):
        hall.act("7", player, 0, 0)
    shows(browser, "Play 7 over")


def test_two_tabs_and_a_reload(browser: Any, hall: Hall, server: str) -> None:
    row, _ = seat_links(hall, server)
    first, second = open_tab(browser, row), open_tab(browser, row)
    browser.switch_to.window(first)
    press(browser, "dare")
    shows(browser, "Please wait")
    browser.refresh()
    assert "Please wait" in text(browser)
    browser.switch_to.window(second)
    if browser.execute_script(CLICK, "yield"):  # else this tab has noticed already
        shows(browser, "That move came too late, or you had already made another.")
    shows(browser, "Please wait")
    assert "played dare" in text(browser)
    assert len(hall.look("1", 0).moves) == 1


def test_a_double_click(browser: Any, hall: Hall, server: str) -> None:
    row, _ = seat_links(hall, server)
    open_tab(browser, row)
    browser.execute_script(
        "const button = document.querySelector('form button'); button.click(); button.click();"
    )
    shows(browser, "Please wait")
    assert "too late" not in text(browser)
    assert len(hall.look("1", 0).moves) == 1


def test_a_page_survives_a_restart(browser: Any, hall: Hall, tmp_path: Path) -> None:
    """The server goes away and comes back at the same place; the open page continues."""
    port = None
    with running(hall) as server:
        row, col = seat_links(hall, server)
        port = int(server.rsplit(":", 1)[1])
        open_tab(browser, row)
        press(browser, "dare")
        shows(browser, "Please wait")
    hall.store.close()
    shows(browser, "There is no connection to the server.")
    again = open_hall(tmp_path / "plays.db", device_policy("chicken"))
    with running(again, listen=port):
        until(lambda: "no connection" not in text(browser))
        again.act("1", 1, 0, 1)
        shows(browser, "You earned 7")
        browser.get("about:blank")
    browser.get_log("browser")  # that the server was away
    assert col


def test_time_runs_out(browser: Any, tmp_path: Path) -> None:
    hall = open_hall(tmp_path / "plays.db", device_policy("chicken"), limit=4)
    with running(hall) as server:
        row, col = seat_links(hall, server)
        open_tab(browser, row)
        assert "Time left: " in text(browser)
        assert "a robot moves for you, as recommended" in text(browser)
        shows(browser, "The play is over")
        shows(browser, "a robot played")
        browser.get("about:blank")
    assert col


@pytest.mark.parametrize("width", [320, 390, 1200])
def test_nothing_is_wider_than_the_screen(
    browser: Any, hall: Hall, server: str, width: int
) -> None:
    row, _ = seat_links(hall, server)
    operator = server + operator_link(hall)
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.switch_to.new_window("tab")
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    hall.create(id="the play of the people in room 4")
    pages = [row, operator, f"{operator}/play/1", f"{server}/nothing"]
    for n, page in enumerate([*pages, *pages[:3]]):
        if n == len(pages):  # once more with long names, and at the end
            for player in (0, 1):
                hall.rename("1", player, "Ann " + "Withaverylongfamilynamethatneverends")
                hall.act("1", player, 0, 0)
        browser.get(page)
        script = "return [document.documentElement.scrollWidth, innerWidth]"
        content, screen = browser.execute_script(script)
        assert content <= screen == width, page
        hidden = (
            "[...document.querySelectorAll('.scroll')].some(e => e.scrollWidth > e.clientWidth)"
        )
        assert not browser.execute_script(f"return {hidden}"), page
        for button in find_all(browser, "button"):
            assert button.rect["height"] >= 38, (page, button.text)


def test_dark_pages_have_light_ink(browser: Any, hall: Hall, server: str) -> None:
    row, _ = seat_links(hall, server)
    open_tab(browser, row)
    shades = {}
    for scheme in ("dark", "light"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        style = "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
        shades[scheme] = [
            sum(map(int, shade.strip("rgb()").split(",")))
            for shade in browser.execute_script(style)
        ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    (dark, light_ink), (light, dark_ink) = shades["dark"], shades["light"]
    assert dark + 450 < light_ink
    assert dark_ink + 450 < light


def test_the_keyboard_is_enough(browser: Any, hall: Hall, server: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    row, _ = seat_links(hall, server)
    open_tab(browser, row)
    ActionChains(browser).send_keys(Keys.TAB, Keys.ENTER).perform()
    shows(browser, "Please wait")
    assert "played dare" in text(browser)


def test_pages_work_without_scripts(browser: Any, hall: Hall, server: str) -> None:
    row, _ = seat_links(hall, server)
    browser.switch_to.new_window("tab")
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    browser.get(row)
    press(browser, "dare")
    shows(browser, "Please wait")
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
