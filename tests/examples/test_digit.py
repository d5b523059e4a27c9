"""The page on which one draws a digit: its client in WebAssembly, in a browser, at 128 bits."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pytest
import torch

import cloakwork as cw
from examples.digit.__main__ import HOST, compiled, samples
from examples.digit.engine import is_built
from examples.digit.recipe import recipe_of
from examples.digit.site import PAGE
from examples.nn.training import Trained, train_perceptron
from tests.chromium import chromium, resize

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

ROOT = Path(__file__).parents[2]
SECONDS = 60
FOUR = (((0.56, 0.12), (0.26, 0.62), (0.76, 0.62)), ((0.6, 0.4), (0.58, 0.9)))


def test_a_recipe_says_where_numbers_go_and_where_results_are() -> None:
    weights = np.random.default_rng(1).uniform(-1, 1, (6, 3))
    program = cw.compile(lambda x: (x @ weights) ** 2, (6,))
    recipe = recipe_of("squares", program)
    interface = cw.Interface.of(program)
    x = np.random.default_rng(2).uniform(-1, 1, 6)
    packed = np.asarray(interface.pack({"x": x}, "pack").runs[0].some([0])[0])
    mine = [0.0 if number < 0 else x[number] for number in recipe["input"]["numbers"]]
    assert np.array_equal(mine, packed)
    slots = np.random.default_rng(3).uniform(-1, 1, program.scheme.parameters.slots)
    unpacked = interface.packing.unpack_parts([[{0: slots}]], None)
    assert np.array_equal(slots[recipe["result"]["slots"]], unpacked)
    assert interface.required_keys is not None
    assert dict(recipe["keys"]["rotations"]) == dict(interface.required_keys.rotations)


@pytest.mark.parametrize(
    "function",
    [lambda x, y: x * y, lambda x: (x, x + 1)],
    ids=["two inputs", "two results"],
)
def test_programs_that_a_recipe_does_not_say_all_of_are_refused(
    function: Callable[..., Any],
) -> None:
    shapes = [(4,)] * function.__code__.co_argcount
    program = cw.compile(function, *shapes)
    with pytest.raises(cw.errors.InvalidArgumentError, match="serve it to clients in Python"):
        recipe_of("other", program)


@pytest.fixture(scope="module")
def trained() -> Trained:
    """The network of the page, in the clear; training gives the same on every run."""
    return train_perceptron()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the page is; its process ends by Ctrl-C, without a word."""
    if not is_built(PAGE / "engine"):
        pytest.skip("the engine for browsers is not compiled: make browser")
    command = [sys.executable, "-m", "examples.digit", "--no-browser"]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.stdout.readline().split()[-1]
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=SECONDS)
        assert (process.returncode, errors) == (0, "")


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    with chromium() as made:
        yield made


def _opened(browser: Any, address: str, width: int = 1100) -> None:
    """Load the page anew, and wait until its keys are on the server."""
    resize(browser, width, 1300)
    browser.get("about:blank")
    browser.get(address)
    _wait(browser, lambda: browser.find_element("id", "status").text == "Ready")


def _wait(browser: Any, is_over: Callable[[], bool]) -> None:
    from selenium.webdriver.support.wait import WebDriverWait  # noqa: PLC0415

    WebDriverWait(browser, SECONDS, poll_frequency=0.05).until(lambda _: is_over())


def _scores(browser: Any) -> list[float]:
    """The scores that the page shows next."""
    status = browser.find_element("id", "status")
    _wait(browser, lambda: "answered after" in status.text)
    lines = browser.find_elements("css selector", "#scores li")
    return [float(line.get_attribute("data-score")) for line in lines]


@pytest.mark.slow
def test_twenty_digits_are_classified_as_in_the_clear(
    browser: Any, address: str, trained: Trained
) -> None:
    offered, error = samples(trained), compiled(trained).error
    assert len(offered) == 20
    assert error is not None
    _opened(browser, address)
    for number, sample in enumerate(offered):
        browser.find_element("id", "clear").click()
        button = browser.find_elements("css selector", "#samples button")[number]
        assert button.get_attribute("aria-label") == f"Sample of a {sample['digit']}"
        # As a keyboard does.
        button.send_keys("\n")
        found = _scores(browser)
        with torch.no_grad():
            clear = trained.module(torch.tensor(sample["pixels"]).reshape(1, 1, 8, 8))[0].tolist()
        assert np.abs(np.subtract(found, clear)).max() <= error
        assert np.argmax(found) == np.argmax(clear)
        digit = browser.find_element("id", "digit").text
        assert digit.split() == ["This", "is", "a", f"{np.argmax(clear)}"]
    assert browser.get_log("browser") == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 1100])
def test_a_drawn_digit_is_answered(browser: Any, address: str, width: int) -> None:
    _opened(browser, address, width)
    assert browser.execute_script("return document.documentElement.scrollWidth") == width
    _draw(browser, FOUR)
    assert int(np.argmax(_scores(browser))) == 4
    told = [browser.find_element("id", name).text for name in ("keys", "sent", "received")]
    assert all(re.match(r"[\d.]+\s[kM]B, ", each) for each in told), told
    assert "stays on this page" in browser.find_element("id", "secret").text
    assert browser.get_log("browser") == []


def _draw(browser: Any, strokes: Any) -> None:
    """Draw strokes whose points are parts of the paper, with a finger."""
    script = "const {x, y, width} = document.getElementById('paper').getBoundingClientRect();"
    left, top, side = browser.execute_script(f"{script} return [x, y, width]")
    for stroke in strokes:
        points = [{"x": left + x * side, "y": top + y * side} for x, y in stroke]
        kinds = ["touchStart", *["touchMove"] * (len(points) - 1)]
        for kind, point in zip(kinds, points, strict=True):
            _touch(browser, kind, [point])
        _touch(browser, "touchEnd", [])


def _touch(browser: Any, kind: str, points: Any) -> None:
    event = {"type": kind, "touchPoints": points}
    browser.execute_cdp_cmd("Input.dispatchTouchEvent", event)


@pytest.mark.slow
def test_others_than_the_page_are_refused(address: str) -> None:
    place, _, token = address.partition("#")
    server, told = httpx.URL(place), {"authorization": f"Bearer {token}"}
    assert httpx.get(server.join("/v1/programs")).status_code == 401
    assert httpx.get(server.join("/v1/programs"), headers=told).status_code == 200
    # A name of another site's that leads here.
    for path in ("", "facts.json", "/v1/programs"):
        found = httpx.get(server.join(path), headers={**told, "host": "elsewhere.example"})
        assert found.status_code == 400
    page = httpx.get(place)
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert token not in page.text
    assert server.host == HOST
