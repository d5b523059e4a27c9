"""The body of the fuzz target of servers, on changes that are the same in every run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.choices import Drawn
from tests.fuzz.served import (
    Served,
    ask,
    attempt_database,
    attempt_receipt,
    attempt_request,
    attempt_tokens,
    served,
)
from tests.thoroughness import slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Served:
    return served(tmp_path_factory.mktemp("fuzzed"))


def test_the_requests_that_are_changed_are_right(server: Served) -> None:
    answers = ask(server, server.asked)
    wrong = [(each.request.url.path, each.status_code) for each in answers if not each.is_success]
    # There are neither such a job nor such a state.
    assert wrong == [("/v1/jobs/a", 404)]


@pytest.mark.parametrize("seed", [0, *slow(1, 2, 3)])
def test_changed_requests_are_answered_by_name(server: Served, seed: int) -> None:
    drawn = Drawn(seed)
    for _ in range(600):
        attempt_request(drawn, server)


@pytest.mark.parametrize("seed", [0, *slow(1, 2, 3)])
def test_changed_tokens_and_receipts_are_refused_by_name(server: Served, seed: int) -> None:
    drawn = Drawn(seed)
    for _ in range(600):
        attempt_tokens(drawn, server)
        attempt_receipt(drawn)


@pytest.mark.parametrize("seed", [0, *slow(1, 2, 3)])
def test_changed_databases_are_refused_by_name(tmp_path: Path, seed: int) -> None:
    drawn = Drawn(seed)
    for _ in range(40):
        attempt_database(drawn, tmp_path)
