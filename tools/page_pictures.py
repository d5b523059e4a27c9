"""Takes the pictures of a server's page that docs/service.md shows, by headless Chromium.

Run as `python -m tools.page_pictures`, with what `make test` installs.
"""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

import cloakwork as cw
from cloakwork.runtime.client import Client
from cloakwork.service.client.remote import RemoteJob, Server
from cloakwork.service.server.settings import Settings
from tests.chromium import chromium, resize, text_of, until
from tests.service.in_thread import pace_workers, served
from tests.service.serving import put

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"
# What the longest of the jobs takes.
_SECONDS = 20.0


WEIGHTS = np.random.default_rng(0).uniform(-0.2, 0.2, (64, 8))


def scores(x: Any) -> Any:
    return (x @ WEIGHTS) ** 2


def norm(x: Any) -> Any:
    return x @ x


def distance(x: Any, y: Any) -> Any:
    return (x - y) @ (x - y)


def _programs() -> dict[str, cw.Program]:
    return {
        "scores": cw.compile(scores, (64,)),
        "norm": cw.compile(norm, (16,)),
        "distance": cw.compile(distance, (16,), (16,)),
    }


class _Sender:
    """A user with a key for each program."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._clients: dict[str, Client] = {}

    def send(self, name: str, *values: Any) -> RemoteJob:
        """Have a program run."""
        if name not in self._clients:
            self._clients[name] = self._server.interface(name).client()
        client = self._clients[name]
        return self._server.evaluator(name, client).submit(client.encrypt(*values))


@contextmanager
def _busy_server(folder: Path) -> Iterator[str]:
    """A server with jobs in all states."""
    put(folder, **_programs())
    with pytest.MonkeyPatch.context() as patch:
        pace = pace_workers(folder / "pace", patch)
        for number in range(3):
            (pace / f"{number}").touch()
        with served(Settings(folder)) as address, cw.connect(address) as server:
            sender = _Sender(server)
            sender.send("norm", np.ones(16)).results()
            sender.send("distance", np.ones(16), np.zeros(16)).results()
            (pace / "2").unlink()
            first = sender.send("scores", np.zeros(64))
            # What a server says of the next one is how long this one took.
            time.sleep(_SECONDS)
            (pace / "2").touch()
            first.results()
            (pace / "2").unlink()
            sender.send("scores", np.linspace(-1, 1, 64))
            sender.send("norm", np.zeros(16))
            sender.send("distance", np.zeros(16), np.zeros(16)).cancel()
            yield address
            (pace / "2").touch()


def _is_there(browser: Chrome) -> bool:
    jobs = text_of(browser, "#jobs")
    return "sum over x" in jobs and "failed" in jobs and "queued" in jobs


def _open_program(browser: Chrome) -> None:
    browser.execute_script("document.querySelectorAll('summary')[2].click()")
    until(browser, lambda _: browser.execute_script("return !!document.querySelector('img')"))


def _pictured(browser: Chrome, name: str, width: int, part: tuple[int, int]) -> None:
    """Keep what is between two heights of the page, or its end."""
    height = browser.execute_script("return document.documentElement.scrollHeight")
    resize(browser, width, height)
    # It is drawn anew.
    time.sleep(0.5)
    picture = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
    picture = picture.crop((0, part[0], width, min(part[1], picture.height)))
    reduced = picture.quantize(256, dither=Image.Dither.NONE)
    reduced.save(FOLDER / f"{name}.png", optimize=True)


@contextmanager
def _showing(address: str, width: int, *, dark: bool = False) -> Iterator[Chrome]:
    with chromium(still=True, dark=dark) as browser:
        resize(browser, width, 900)
        browser.get(address)
        until(browser, _is_there)
        yield browser


def main() -> None:
    """Take them all."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, _busy_server(Path(folder)) as address:
        with _showing(address, 1100) as browser:
            _pictured(browser, "page", 1100, (0, 2000))
        with _showing(address, 360) as browser:
            _pictured(browser, "page-phone", 360, (0, 900))
        with _showing(address, 1100, dark=True) as browser:
            _open_program(browser)
            section = "return document.querySelectorAll('section')[1].getBoundingClientRect()"
            place = browser.execute_script(section)
            part = int(place["top"]) - 24, int(place["bottom"]) + 24
            _pictured(browser, "page-program", 1100, part)


if __name__ == "__main__":
    main()
