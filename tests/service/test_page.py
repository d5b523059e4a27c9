"""The page of a server, as a browser shows it to its users."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import MissingDependencyError
from cloakwork.service.client.remote import RemoteJob
from cloakwork.service.server import explained
from cloakwork.service.server.access import new_token
from cloakwork.service.server.page import FILES
from cloakwork.service.server.settings import Settings
from tests.chromium import chromium, resize, text_of, told_by, until
from tests.service.in_thread import pace_workers, served
from tests.service.serving import put
from tests.service.test_service import FOREVER, SMALL

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

HOSTILE = "\"'><img src=x onerror=hacked=1><b>&amp;"
# WCAG 2.2, 1.4.3.
LEAST_CONTRAST = 4.5
_CONTRASTS = """
const channel = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
const parsed = (text) => text.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
function ground(node) {
  for (; node; node = node.parentElement) {
    const found = parsed(getComputedStyle(node).backgroundColor);
    if (found.length === 3 || found[3] === 1) return found;
  }
  return [255, 255, 255];
}
return [...document.querySelectorAll("body *")]
  .filter((node) => node.checkVisibility() && !["SCRIPT", "PROGRESS"].includes(node.tagName))
  .filter((node) => [...node.childNodes].some((each) => each.nodeType === 3 && each.data.trim()))
  .map((node) => {
    const both = [light(parsed(getComputedStyle(node).color)), light(ground(node))];
    return [(Math.max(...both) + 0.05) / (Math.min(...both) + 0.05), node.textContent];
  });
"""
_FOCUSED = """
const node = document.activeElement, style = getComputedStyle(node);
const shown = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
return [node.id || node.className || node.tagName, shown, node.matches(":focus-visible")];
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    with chromium() as made:
        yield made


@pytest.fixture
def page(browser: Chrome) -> Chrome:
    """A page of its own, without what others left."""
    resize(browser, 1100, 900)
    browser.get("about:blank")
    for kind in ("browser", "performance"):
        told_by(browser, kind)
    return browser


@pytest.fixture
def pace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return pace_workers(tmp_path / "pace", monkeypatch)


def _norm(name: str = "norm") -> cw.Program:
    def function(x: Any) -> Any:
        return x @ x

    function.__name__ = name
    return cw.compile(function, (16,), **SMALL)


def _settings(folder: Path, *users: str, **programs: cw.Program) -> Settings:
    put(folder, **programs)
    for user in users:
        (folder / user).write_text(new_token(folder / "tokens", user, FOREVER))
    return Settings(folder, tokens=folder / "tokens" if users else None, insecure=True)


def _submitted(
    address: str, name: str, *values: float, token: str | None = None
) -> list[RemoteJob]:
    with cw.connect(address, token=token, insecure=True) as server:
        client = server.interface(name).client()
        evaluator = server.evaluator(name, client)
        return [evaluator.submit(client.encrypt(np.full(16, value))) for value in values]


def _errors(browser: Chrome) -> list[Any]:
    return [each for each in told_by(browser, "browser") if each["level"] == "SEVERE"]


def _hosts(browser: Chrome) -> set[str]:
    """Where requests went."""
    messages = [json.loads(each["message"])["message"] for each in told_by(browser, "performance")]
    asked = [each["params"] for each in messages if each["method"] == "Network.requestWillBeSent"]
    urls = [httpx.URL(each["request"]["url"].removeprefix("blob:")) for each in asked]
    return {f"{each.scheme}://{each.netloc.decode()}" for each in urls if each.host}


def _is_live(browser: Chrome) -> bool:
    return text_of(browser, "#connection") == "Live"


def _has_plot(browser: Chrome) -> bool:
    return bool(browser.execute_script("return document.querySelectorAll('img').length"))


def _open_programs(browser: Chrome, plots: int) -> None:
    browser.execute_script("document.querySelectorAll('summary').forEach((each) => each.click())")
    drawn = (
        "return [...document.querySelectorAll('img')].filter((each) => each.naturalWidth).length"
    )
    until(browser, lambda _: browser.execute_script(drawn) == plots)


def test_it_shows_programs_and_asks_nobody_else(page: Chrome, tmp_path: Path) -> None:
    norm, doubled = _norm(), cw.compile(lambda x: 2 * x, (16,), **SMALL)
    with served(_settings(tmp_path, norm=norm, doubled=doubled)) as address:
        page.get(address)
        until(page, _is_live)
        _open_programs(page, 2)
        shown = page.execute_script(
            "return [...document.querySelectorAll('pre')].map((each) => each.textContent)"
        )
        names = page.execute_script(
            "return [...document.querySelectorAll('summary .name')].map((each) => each.textContent)"
        )
        assert names == ["doubled", "norm"]
        # Times are modelled anew.
        told = [cw.explain(each).partition("time")[0] for each in (doubled, norm)]
        assert [each.partition("time")[0] for each in shown] == told
        assert not _errors(page)
        assert _hosts(page) == {address}


def test_it_says_which_programs_are_not_served_and_why(page: Chrome, tmp_path: Path) -> None:
    settings = _settings(tmp_path, norm=_norm())
    (tmp_path / "programs" / "other.cw").write_text("something else")
    with served(settings) as address:
        page.get(address)
        until(page, _is_live)
        shown = text_of(page, "#programs .unserved")
        assert shown.startswith("other")
        assert "its file is refused" in shown
        assert not _errors(page)


def test_a_job_is_followed_until_it_ends(page: Chrome, tmp_path: Path, pace: Path) -> None:
    with served(_settings(tmp_path, norm=_norm())) as address:
        page.get(address)
        until(page, _is_live)
        assert "No jobs of yours" in text_of(page, "#jobs-none")
        page.execute_script("window.unloaded = 'no'")
        first, second = _submitted(address, "norm", 1.0, 0.5)
        (pace / "0").touch()
        until(page, lambda _: "25 %, 2 of 8, multiply x by constants" in text_of(page, "#jobs"))
        assert "place 1 in the queue" in text_of(page, "#jobs")
        assert page.execute_script("return document.querySelector('progress').value") == 0.25
        (pace / "1").touch()
        until(page, lambda _: "75 %, sum over x" in text_of(page, "#jobs"))
        (pace / "2").touch()
        until(page, lambda _: text_of(page, "#jobs").count("done") == 2)
        assert text_of(page, "#jobs").count("predicted") == 4
        until(page, lambda _: "1 set" in text_of(page, "#keys-count"))
        assert "Removed if unused" in text_of(page, "#keys")
        assert text_of(page, "#news") == "norm: done"
        assert page.execute_script("return window.unloaded") == "no"
        assert not _errors(page)
    assert first.name != second.name


def test_users_see_plans_where_the_operator_shows_them(page: Chrome, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys  # noqa: PLC0415

    settings = _settings(tmp_path, "ada", norm=_norm())
    token = (tmp_path / "ada").read_text()
    with served(replace(settings, uploads=True)) as address:
        with cw.connect(address, token=token, insecure=True) as server:
            server.put(_norm("own"), name="own")
            plot = server._connection.get("/v1/programs/norm/plot")
            assert (plot.status_code, "--show-plans" in plot.text) == (404, True)
        page.get(address)
        until(page, lambda _: text_of(page, "#access"))
        page.find_element("id", "token").send_keys(token, Keys.ENTER)
        until(page, _is_live)
        for each in page.find_elements("css selector", "summary"):
            each.click()
        until(page, lambda _: "keeps its plan to the server" in text_of(page, "#programs"))
        assert "Evaluation keys" in text_of(page, "#programs")
        until(page, lambda _: "one that you put" in text_of(page, "#programs"))
        assert not page.find_elements("css selector", "pre, img")


def test_what_lacks_is_told_and_asked_for_again(
    page: Chrome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(_: cw.Program) -> bytes:
        raise MissingDependencyError("cannot plot: there is no Matplotlib")

    with served(_settings(tmp_path, norm=_norm())) as address:
        page.get(address)
        until(page, _is_live)
        summary = page.find_element("css selector", "summary")
        with monkeypatch.context() as patch:
            patch.setattr(explained, "_drawn", lacking)
            summary.click()
            until(page, lambda _: "there is no Matplotlib" in text_of(page, ".plan"))
        assert text_of(page, "pre").startswith("norm")
        summary.click()
        summary.click()
        until(page, _has_plot)


def test_a_token_is_asked_for_and_stays_in_the_tab(
    page: Chrome, tmp_path: Path, pace: Path
) -> None:
    from selenium.webdriver.common.keys import Keys  # noqa: PLC0415

    with served(_settings(tmp_path, "ada", "bob", norm=_norm())) as address:
        ada, bob = ((tmp_path / user).read_text() for user in ("ada", "bob"))
        _submitted(address, "norm", 1.0, token=bob)
        page.get(address)
        until(page, lambda _: text_of(page, "#access"))
        assert not _errors(page)
        page.find_element("id", "token").send_keys("guessed", Keys.ENTER)
        until(page, lambda _: "does not know this token" in text_of(page, "#refusal"))
        assert {each["source"] for each in _errors(page)} == {"network"}
        page.find_element("id", "token").send_keys(ada, Keys.ENTER)
        until(page, _is_live)
        assert "norm" in text_of(page, "#programs")
        # What is bob's is not there, and comes by no event.
        (pace / "0").touch()
        (mine,) = _submitted(address, "norm", 0.5, token=ada)
        until(page, lambda _: text_of(page, "#jobs"))
        assert page.execute_script("return document.querySelectorAll('#jobs li').length") == 1
        until(page, lambda _: text_of(page, "#keys-count").startswith("1 set"))
        kept = "return [Object.values(sessionStorage), localStorage.length, document.cookie]"
        assert page.execute_script(kept) == [[ada], 0, ""]
        assert page.current_url == f"{address}/"
        page.find_element("id", "forget").click()
        assert page.execute_script("return sessionStorage.length") == 0
        assert not text_of(page, "#shown")
        for number in (1, 2):
            (pace / f"{number}").touch()
    assert mine.name


def test_names_are_text(page: Chrome, tmp_path: Path) -> None:
    with served(_settings(tmp_path, **{HOSTILE: _norm(HOSTILE)})) as address:
        (job,) = _submitted(address, HOSTILE, 1.0)
        page.get(address)
        until(page, lambda _: "done" in text_of(page, "#jobs"))
        _open_programs(page, 1)
        assert HOSTILE in text_of(page, "#jobs")
        assert HOSTILE in text_of(page, "summary")
        until(page, lambda _: HOSTILE in text_of(page, "#keys"))
        assert "<img src=x" in text_of(page, "pre")
        assert page.execute_script("return document.querySelectorAll('b, img[src=x]').length") == 0
        assert page.execute_script("return typeof window.hacked") == "undefined"
        assert not _errors(page)
    assert job.name


def test_a_server_that_goes_is_awaited(page: Chrome, tmp_path: Path) -> None:
    settings = _settings(tmp_path, norm=_norm())
    with served(settings) as address:
        page.get(address)
        until(page, _is_live)
        page.execute_script("window.unloaded = 'no'")
    until(page, lambda _: "The server does not answer" in text_of(page, "#gone"))
    assert "norm" in text_of(page, "#programs")
    with served(settings, int(address.rsplit(":", 1)[1])):
        until(page, _is_live)
        assert not text_of(page, "#gone")
        assert page.execute_script("return window.unloaded") == "no"


def test_the_keyboard_reaches_everything(page: Chrome, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys  # noqa: PLC0415

    settings = _settings(tmp_path, "ada", norm=_norm())
    with served(replace(settings, plans=True)) as address:
        page.get(address)
        until(page, lambda _: text_of(page, "#access"))
        page.switch_to.active_element.send_keys((tmp_path / "ada").read_text(), Keys.ENTER)
        until(page, _is_live)
        page.find_element("css selector", "body").send_keys(Keys.NULL)
        page.execute_script("document.activeElement.blur()")
        reached: list[str] = []
        for _ in range(8):
            page.switch_to.active_element.send_keys(Keys.TAB)
            name, has_outline, is_visible = page.execute_script(_FOCUSED)
            if name != "BODY":
                assert has_outline, name
                assert is_visible, name
            if name == "SUMMARY" and name not in reached:
                page.switch_to.active_element.send_keys(Keys.ENTER)
                until(page, _has_plot)
            reached.append(name)
        assert set(reached) >= {"skip", "forget", "SUMMARY", "scrolled"}
        assert reached.count("scrolled") >= 2
        for part in ("header", "main", "h1", "section[aria-labelledby]", "label", "[aria-live]"):
            assert page.find_elements("css selector", part)


@pytest.mark.parametrize("dark", [False, True])
def test_it_is_read_on_a_phone_by_day_and_by_night(tmp_path: Path, pace: Path, dark: bool) -> None:
    long_name = "a_program_of_many_words_" * 4
    with (
        served(_settings(tmp_path, norm=_norm(), **{long_name: _norm()})) as address,
        chromium(dark=dark, still=True) as browser,
    ):
        (pace / "0").touch()
        _submitted(address, long_name, 1.0, 0.5)
        (failed,) = _submitted(address, "norm", 0.25)
        with cw.connect(address, insecure=True) as server:
            assert server._connection.delete(f"/v1/jobs/{failed.name}").is_success
        resize(browser, 360, 700)
        browser.get(address)
        until(browser, lambda _: "queued" in text_of(browser, "#jobs"))
        _open_programs(browser, 2)
        width = "return document.documentElement.scrollWidth"
        assert browser.execute_script(width) == 360
        found = browser.execute_script(_CONTRASTS)
        assert len(found) > 20
        assert not [each for each in found if each[0] < LEAST_CONTRAST]
        moves = "return getComputedStyle(document.querySelector('summary'), '::before').transition"
        assert "none" in browser.execute_script(moves)
        (pace / "1").touch()
        (pace / "2").touch()


def test_its_files_are_held_to_this_host(tmp_path: Path) -> None:
    with served(_settings(tmp_path)) as address, httpx.Client(base_url=address) as client:
        for path, (_, media_type) in FILES.items():
            answer = client.get(path)
            assert answer.headers["content-type"].startswith(media_type)
            assert answer.headers["content-security-policy"].startswith("default-src 'self';")
            assert "unsafe" not in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "no-referrer"
            assert not [each for each in ("style=", "<script>", "onclick=") if each in answer.text]
        assert "innerHTML" not in client.get("/page.js").text
        missing = client.get("/v1/programs/none/plot")
        assert (missing.status_code, missing.json()["type"]) == (
            404,
            "urn:cloakwork:NotServedError",
        )
