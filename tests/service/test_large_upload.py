"""Evaluation keys that are far larger than memory may be, across a server that is killed."""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

import cloakwork as cw
from cloakwork.service.client.connection import at_once
from tests.service.serving import Serving, put

NORM = cw.compile(lambda x: x @ x, (16,), log_n=9, insecure=True)
# What sender and server may take beside what they have before.
MOST = 64 << 20
_PIECE = 1 << 20


class _Keys:
    """Stands for keys: a server looks at their hash alone until they are used.

    Args:
        size: How many bytes they have.
    """

    key_id = bytes(16)

    def __init__(self, size: int) -> None:
        self._size = size

    def save(self, path: Path) -> None:
        piece = os.urandom(_PIECE)
        with path.open("wb") as file:
            for number in range(self._size // _PIECE):
                file.write(number.to_bytes(8, "little") + piece[8:])


@pytest.mark.parametrize("size", [1 << 28, pytest.param(1 << 30, marks=pytest.mark.slow)])
def test_an_upload_goes_on_after_a_kill_and_is_never_in_memory(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, norm=NORM)
    serving, offsets = Serving(tmp_path), list[int]()
    handle = httpx.HTTPTransport.handle_request

    def noted(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        if request.method == "PATCH":
            offsets.append(int(request.headers["upload-offset"]))
        return handle(transport, request)

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", noted)
    try:
        server = serving.connect()
        interface = server.interface("norm")
        before, own_before = _bytes("VmRSS", serving.process.pid), _bytes("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")
        taken: list[int] = []

        def kill_half_way() -> None:
            while not any(each.stat().st_size >= size // 2 for each in tmp_path.glob("keys/*/*")):
                time.sleep(0.001)
            taken.append(_bytes("VmHWM", serving.process.pid) - before)
            serving.kill()
            serving.start()

        killing = threading.Thread(target=kill_half_way)
        killing.start()
        keys: Any = _Keys(size)
        digest = at_once(server._server._sent(keys, interface))
        killing.join()
        taken += [_bytes("VmHWM", serving.process.pid) - before, _bytes("VmHWM") - own_before]
        assert max(taken) < MOST, taken
        assert [offsets[0], offsets[-1] >= size // 2] == [0, True]
        (kept,) = tmp_path.glob(f"keys/*/{digest}")
        with kept.open("rb") as file:
            assert hashlib.file_digest(file, "sha256").hexdigest() == digest
    finally:
        serving.stop()


def _bytes(name: str, process: int | str = "self") -> int:
    """Bytes that the system says of a process."""
    found = re.search(rf"{name}:\s*(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return int(found[1]) << 10
