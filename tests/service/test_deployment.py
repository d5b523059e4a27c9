"""How a server is started and watched: by systemd, in a container, behind a proxy."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

import cloakwork as cw
from cloakwork.service.server.access import new_token
from cloakwork.service.server.app import app
from cloakwork.service.server.settings import Settings
from examples.server.certificate import write_certificate
from tests.service.serving import Serving, put

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
UNIT = ROOT / "deploy" / "cloakwork.service"
SECONDS = 60
FOREVER = datetime(2100, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def program() -> cw.Program:
    """One that is secure, as servers ask for by default."""
    return cw.compile(lambda x: x + x, (4,))


@pytest.mark.parametrize("is_abstract", [False, True], ids=["file", "abstract"])
def test_a_manager_hears_when_a_server_is_ready_and_when_it_ends(
    tmp_path: Path, program: cw.Program, monkeypatch: pytest.MonkeyPatch, is_abstract: bool
) -> None:
    put(tmp_path / "served", doubled=program)
    name = f"cloakwork-{tmp_path.name}" if is_abstract else f"{tmp_path}/notify"
    monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}" if is_abstract else name)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{name}" if is_abstract else name)
        manager.settimeout(SECONDS)
        serving = Serving(tmp_path / "served")
        assert manager.recv(100) == b"READY=1"
        assert httpx.get(f"http://127.0.0.1:{serving.port}/readyz").status_code == 200
        serving.stop()
        assert manager.recv(100) == b"STOPPING=1"


def test_a_manager_that_is_gone_does_not_end_a_server(
    tmp_path: Path, program: cw.Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, doubled=program)
    monkeypatch.setenv("NOTIFY_SOCKET", f"{tmp_path}/nobody")
    serving = Serving(tmp_path)
    assert httpx.get(f"http://127.0.0.1:{serving.port}/livez").json() == {"live": True}
    serving.stop()
    assert serving.process.returncode in {0, -signal.SIGTERM}


def test_a_server_is_ready_from_its_start_on_until_it_ends(tmp_path: Path) -> None:
    served = app(Settings(tmp_path))

    async def told() -> list[tuple[int, Any]]:
        transport = httpx.ASGITransport(served)
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:

            async def asked() -> tuple[int, Any]:
                alive = await client.get("/livez")
                assert (alive.status_code, alive.json()) == (200, {"live": True})
                found = [await client.get(path) for path in ("/readyz", "/v2/health/ready")]
                assert found[0].json() == found[1].json()
                assert found[0].status_code == found[1].status_code
                return found[0].status_code, found[0].json()["ready"]

            before = await asked()
            async with served.router.lifespan_context(served):
                there = await asked()
                await served.state.release()
                return [before, there, await asked()]

    assert asyncio.run(told()) == [(503, False), (200, True), (503, False)]


def test_a_server_whose_worker_cannot_start_is_not_ready_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "executable", f"{tmp_path}/nothing")
    served = app(Settings(tmp_path))

    async def told() -> int:
        transport = httpx.ASGITransport(served)
        async with (
            httpx.AsyncClient(transport=transport, base_url="http://here") as client,
            served.router.lifespan_context(served),
        ):
            while not caplog.records:
                await asyncio.sleep(0.01)
            return (await client.get("/readyz")).status_code

    assert asyncio.run(asyncio.wait_for(told(), SECONDS)) == 503
    (record,) = caplog.records
    assert f"{tmp_path}/nothing" in record.getMessage()


def _of_image(start: str) -> list[str]:
    """The words of the line of the Dockerfile that begins so, which writes them as JSON."""
    (found,) = re.findall(rf"^{start} (\[.*\])$", DOCKERFILE, re.MULTILINE)
    words: list[str] = json.loads(found)
    return words


def _free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


@pytest.mark.parametrize("is_behind", [True, False], ids=["behind a proxy", "with a certificate"])
def test_an_image_serves_and_knows_that_it_does(
    tmp_path: Path, program: cw.Program, is_behind: bool
) -> None:
    put(tmp_path, doubled=program)
    token = new_token(tmp_path / "tokens", "ada", FOREVER)
    for made, name in zip(write_certificate(tmp_path), ("cert.pem", "cert.key"), strict=True):
        made.rename(tmp_path / name)
    port = f"{_free_port()}"

    def here(words: list[str]) -> list[str]:
        return [each.replace("/data", f"{tmp_path}").replace("8765", port) for each in words]

    options = ["--behind-tls"] if is_behind else here(_of_image("CMD"))
    health = [sys.executable, *here(_of_image("    CMD"))[1:]]
    assert subprocess.run(health, check=False).returncode == 1
    command = [sys.executable, "-m", *here(_of_image("ENTRYPOINT")), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = process.stdout.readline()
        assert told.startswith(f"serving at {'http' if is_behind else 'https'}://0.0.0.0:"), told
        assert subprocess.run(health, check=False).returncode == 0
        url = f"{'http' if is_behind else 'https'}://127.0.0.1:{port}"
        authority = None if is_behind else tmp_path / "cert.pem"
        with cw.connect(url, token=token, authority=authority) as server:
            assert server.programs == ("doubled",)
        # As containers are ended.
        process.terminate()
    assert process.returncode in {0, -signal.SIGTERM}


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        (["--host", "0.0.0.0", "--behind-tls"], "expected --token-file"),
        (["--host", "0.0.0.0", "--token-file", "tokens"], "say --behind-tls"),
        (["--behind-tls", "--tls-cert", "cert.pem"], "give one of them"),
    ],
)
def test_an_operator_is_told_what_others_would_reach(
    tmp_path: Path, options: list[str], advice: str
) -> None:
    command = [sys.executable, "-m", "cloakwork", "serve", f"{tmp_path}", "--port", "0"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert advice in done.stderr


def test_a_unit_of_systemd_is_right_and_lets_little_happen(tmp_path: Path) -> None:
    analyse = shutil.which("systemd-analyze")
    if analyse is None:
        pytest.skip("there is no systemd-analyze")
    # What it starts has to be there.
    started = UNIT.read_text().replace("/opt/cloakwork/bin/cloakwork", sys.executable)
    unit = tmp_path / UNIT.name
    unit.write_text(started)
    done = subprocess.run([analyse, "verify", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    # Tenths of what it calls the exposure.
    security = [analyse, "security", "--offline=yes", "--threshold=20", f"{unit}"]
    done = subprocess.run(security, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_what_a_unit_starts_is_a_command(tmp_path: Path) -> None:
    joined = UNIT.read_text().replace("\\\n", " ")
    (line,) = re.findall(r"^ExecStart=(.*)$", joined, re.MULTILINE)
    words = re.sub(r"\$\{\w+\}", f"{tmp_path}", line).split()
    done = subprocess.run(
        [sys.executable, "-m", "cloakwork", *words[1:]], capture_output=True, text=True, check=False
    )
    # All of its options are known: it looks for the certificate.
    assert f"cannot read {tmp_path}/cert.pem" in done.stderr
    assert "give the files of a certificate" in done.stderr
