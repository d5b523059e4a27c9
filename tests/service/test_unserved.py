"""A program that cannot be served keeps no other from being served, and everybody is told of it."""

from __future__ import annotations

from pathlib import Path

import httpx
import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import NotServedError
from cloakwork.service.server.settings import Settings
from tests.service.in_thread import served
from tests.service.serving import put

NORM = cw.compile(lambda x: x @ x, (16,), log_n=9, insecure=True)


@cw.circuit(a=cw.scalar())
def square(a: int) -> int:
    return a * a


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One with a program, one without an interface, one that is damaged, and a client's key."""
    put(tmp_path, norm=NORM, square=square.compile(bits=16, insecure=True))
    whole = (tmp_path / "programs" / "norm.cw").read_bytes()
    (tmp_path / "programs" / "damaged.cw").write_bytes(whole[: len(whole) // 2])
    NORM.keygen()[0].save(tmp_path / "programs" / "key.cw")
    return tmp_path


def test_the_others_are_served(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with (
        served(Settings(folder, insecure=True)) as address,
        cw.connect(address, insecure=True) as server,
    ):
        assert server.programs == ("norm",)
        client = server.interface("norm").client()
        evaluator = server.evaluator("norm", client)
        assert abs(client.decrypt(evaluator.run(client.encrypt(np.ones(16)))) - 16) < 2.0**-8
        for name, why in (
            ("damaged", "MalformedBytesError"),
            ("key", "got a client file"),
            ("square", "cannot use the interface of square"),
        ):
            with pytest.raises(NotServedError, match=f"cannot serve {name}: .*{why}") as refusal:
                server.interface(name)
            assert str(folder) not in str(refusal.value)
            assert str(refusal.value) in caplog.text


def test_lists_and_health_say_which_and_why(folder: Path) -> None:
    with served(Settings(folder, insecure=True)) as address:
        listed = httpx.get(f"{address}/v1/programs").json()
        assert [each["name"] for each in listed["programs"]] == ["norm"]
        assert [(each["name"], each["error"]) for each in listed["unserved"]] == [
            ("damaged", "MalformedBytesError"),
            ("key", "MalformedBytesError"),
            ("square", "InvalidProgramError"),
        ]
        assert all("its file is refused" in each["detail"] for each in listed["unserved"])
        ready = httpx.get(f"{address}/readyz")
        assert ready.status_code == 200
        assert ready.json()["unserved"] == 3
        for path in ("/v2/models/damaged", "/v2/models/damaged/ready", "/v1/programs/damaged"):
            asked = httpx.get(address + path)
            assert asked.status_code == 404
            assert asked.json()["type"] == "urn:cloakwork:NotServedError"
            assert "its file is refused" in asked.json()["detail"]


def test_a_program_of_a_user_keeps_no_other_from_being_listed(folder: Path) -> None:
    with (
        served(Settings(folder, uploads=True, insecure=True)) as address,
        cw.connect(address, insecure=True) as server,
    ):
        server.put(NORM, name="own")
        (file,) = (folder / "programs").glob("~*/own.cw")
    file.write_bytes(file.read_bytes()[:100])
    with (
        served(Settings(folder, uploads=True, insecure=True)) as address,
        cw.connect(address, insecure=True) as server,
    ):
        assert [*server.programs] == ["norm"]
        with pytest.raises(NotServedError, match="cannot serve own: "):
            server.interface("own")
        server.put(NORM, name="own")
        assert [*server.programs] == ["norm", "own"]
