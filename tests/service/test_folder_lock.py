"""One server at a time has a folder, however the one before it ended."""

from __future__ import annotations

from pathlib import Path

import pytest

import cloakwork as cw
from cloakwork.errors import FolderInUseError
from cloakwork.service.server.app import app
from cloakwork.service.server.settings import Settings
from tests.cli.command import Cloakwork
from tests.service.in_thread import served
from tests.service.serving import Serving, put

NORM = cw.compile(lambda x: x @ x, (16,), log_n=9, insecure=True)


def test_a_second_server_is_refused_until_the_first_is_killed(tmp_path: Path) -> None:
    put(tmp_path / "own", norm=NORM)
    serving = Serving(tmp_path / "own")
    told = Cloakwork(tmp_path).refusal("serve", "own", "--port", "0", "--insecure")
    assert "expected a folder that no other server has" in told
    # The first one answers as before.
    assert serving.connect().programs == ("norm",)
    serving.kill()
    serving.start()
    assert serving.connect().programs == ("norm",)
    serving.stop()


def test_a_server_that_ends_leaves_its_folder(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    with served(settings), pytest.raises(FolderInUseError, match="end that server first"):
        app(settings)
    with served(settings):
        pass
