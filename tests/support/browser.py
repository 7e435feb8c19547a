"""Chromium, without a window, driven as a reader would.

Without Chromium and its driver these tests are skipped; where ``CI`` is set that is a failure.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--force-prefers-reduced-motion",  # a click does not wait for smooth scrolling
    "--window-size=1200,900",
)


def program(*names: str) -> str | None:
    return next(filter(None, map(shutil.which, names)), None)


@contextmanager
def screen(browser: Any, width: int) -> Iterator[None]:
    """The browser with a screen of this many pixels: that of a phone, if it is narrow."""
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def page_and_screen(browser: Any) -> list[int]:
    """The widths of the page and of the screen."""
    widths: list[int] = browser.execute_script(
        "return [document.documentElement.scrollWidth, innerWidth]"
    )
    return widths


@contextmanager
def chromium(profile: Path) -> Iterator[Any]:
    """A browser with an empty profile."""
    browser = program("chromium", "chromium-browser", "google-chrome")
    driver = program("chromedriver")
    if browser is None or driver is None:
        message = "needs chromium and chromedriver, which are not installed"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield started
    finally:
        started.quit()


def find(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def find_all(browser: Any, selector: str) -> list[Any]:
    return list(browser.find_elements("css selector", selector))
