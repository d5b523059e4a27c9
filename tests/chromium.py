"""A browser without a window, that tests look at the page with."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

_T = TypeVar("_T")
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--force-color-profile=srgb",
)
_SECONDS = 20.0


def require_chromium() -> tuple[str, str]:
    """Where Chromium and its driver are; skips the test where there are none."""
    pytest.importorskip("selenium", reason="pip install selenium")
    found = shutil.which("chromium"), shutil.which("chromedriver")
    if found[0] is None or found[1] is None:
        pytest.skip("there is no Chromium with its driver: apt install chromium chromium-driver")
    return found[0], found[1]


@contextmanager
def chromium(*, dark: bool = False, still: bool = False) -> Iterator[Chrome]:
    """A browser.

    Args:
        dark: Whether its user likes dark pages.
        still: Whether its user likes pages that do not move.
    """
    browser, driver = require_chromium()
    from selenium.webdriver import Chrome, ChromeOptions  # noqa: PLC0415
    from selenium.webdriver.chrome.service import Service  # noqa: PLC0415

    options = ChromeOptions()
    options.binary_location = browser
    for each in _OPTIONS:
        options.add_argument(each)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    made = Chrome(options, Service(driver))
    features = [("prefers-color-scheme", "dark" if dark else "light")]
    features.append(("prefers-reduced-motion", "reduce" if still else "no-preference"))
    told = [{"name": name, "value": value} for name, value in features]
    try:
        made.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": told})
        yield made
    finally:
        made.quit()


def resize(browser: Chrome, width: int, height: int) -> None:
    """Let the page be so large, however small a window may be."""
    told = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", told)


def until(browser: Chrome, is_so: Callable[[Chrome], _T]) -> _T:
    """Wait until something is so, and what it is."""
    from selenium.webdriver.support.wait import WebDriverWait  # noqa: PLC0415

    return WebDriverWait(browser, _SECONDS, 0.05).until(is_so)


def text_of(browser: Chrome, selector: str) -> str:
    """All text of a part of the page that is to be seen; nothing of one that is not."""
    text = (
        "const node = document.querySelector(arguments[0]);"
        "return node?.checkVisibility() ? node.innerText : ''"
    )
    return str(browser.execute_script(text, selector))


def told_by(browser: Chrome, kind: str) -> list[dict[str, Any]]:
    """What a browser says since it was last asked, of its console or of what it does."""
    found: list[dict[str, Any]] = browser.get_log(kind)  # type: ignore[no-untyped-call]
    return found
