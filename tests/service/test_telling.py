"""What a server tells its operator of requests, and what it keeps to itself."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

import cloakwork as cw
from cloakwork.service.server.access import new_token
from cloakwork.service.server.settings import Settings
from cloakwork.service.server.telling import LOGGER
from tests.service.in_thread import served
from tests.service.serving import put


def test_requests_are_told_without_what_they_hold(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path, norm=cw.compile(lambda x: x @ x, (16,), log_n=9, insecure=True))
    token = new_token(tmp_path / "tokens", "ada", datetime(2100, 1, 1, tzinfo=UTC))
    settings = Settings(tmp_path, tokens=tmp_path / "tokens", insecure=True)
    digest = "ab" * 32
    with (
        caplog.at_level("INFO", "cloakwork.service"),
        served(settings) as url,
        httpx.Client(base_url=url) as client,
    ):
        known = {"authorization": f"Bearer {token}"}
        client.get("/v1/programs", headers=known)
        client.get("/v1/programs/secret?also=secret", headers=known)
        client.head(f"/v1/keys/{digest}", headers=known)
        client.get("/v1/programs", headers={"authorization": "Bearer secret"})
        client.get("/secret")
        client.request("SECRET", "/v1/programs", headers=known)
        told = client.get("/metrics").text
    told_lines = [each.getMessage() for each in caplog.records if each.name == LOGGER.name]
    lines = [re.sub(r"[\d.]+ ms", "T", line) for line in told_lines]
    assert lines[:6] == [
        "GET /v1/programs 200 T ada 127.0.0.1",
        "GET /v1/programs/{name} 404 T ada 127.0.0.1 error=NotServedError",
        "HEAD /v1/keys/{digest} 200 T ada 127.0.0.1",
        "GET /v1/programs 401 T - 127.0.0.1 error=AccessDeniedError",
        "GET other 404 T - 127.0.0.1",
        "other /v1/programs 405 T - 127.0.0.1",
    ]
    for each in (*lines, told):
        assert not re.search(f"secret|{token}|{digest}", each, re.IGNORECASE)
    labels = 'method="GET",route="/v1/programs/{name}",status="404"'
    assert f"cloakwork_requests_total{{{labels}}} 1.0" in told
    assert 'cloakwork_request_seconds_bucket{le="+Inf",route="/v1/programs"} 3.0' in told
    assert "cloakwork_queue_seconds 0.0" in told
    assert "cloakwork_key_bytes 0.0" in told


def test_a_job_is_told_by_its_name_and_why_it_has_no_results(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path, norm=cw.compile(lambda x: x @ x, (16,), log_n=9, insecure=True))
    settings = Settings(tmp_path, insecure=True)
    with (
        caplog.at_level("INFO", "cloakwork.service"),
        served(settings) as url,
        cw.connect(url, insecure=True) as server,
    ):
        client = server.interface("norm").client()
        job = server.evaluator("norm", client).submit(client.encrypt([0.5] * 16))
        job.results()
        httpx.delete(f"{url}/v1/jobs/{job.name}")
        httpx.get(f"{url}/v1/jobs/{job.name}")
    told = [each.getMessage() for each in caplog.records if each.name == LOGGER.name]
    of_job = [line for line in told if f"program=norm job={job.name}" in line]
    assert [line.split()[0] for line in of_job[:1] + of_job[-2:]] == ["POST", "DELETE", "GET"]
    assert of_job[-1].endswith(" error=RunCancelledError")


def test_figures_are_for_one_user_where_the_operator_says_so(tmp_path: Path) -> None:
    until = datetime(2100, 1, 1, tzinfo=UTC)
    tokens = {name: new_token(tmp_path / "tokens", name, until) for name in ("ada", "meter")}
    settings = Settings(tmp_path, tokens=tmp_path / "tokens", metrics_user="meter")
    with served(settings) as url, httpx.Client(base_url=url) as client:
        assert client.get("/metrics").status_code == 401
        found = {
            name: client.get("/metrics", headers={"authorization": f"Bearer {token}"})
            for name, token in tokens.items()
        }
    assert found["ada"].status_code == 401
    assert "--metrics-user" in found["ada"].json()["detail"]
    assert "cloakwork_key_bytes 0.0" in found["meter"].text
