"""Programs that share keys: each sends the evaluation keys that the server lacks, and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import MissingKeyError
from cloakwork.runtime import container
from cloakwork.schemes.base import ReadLimits
from cloakwork.service.client.remote import Server
from cloakwork.service.key_files import evaluator_of_files
from tests.service.serving import Serving, put

SMALL: dict[str, Any] = {"log_n": 9, "insecure": True}
COUNT = 20
X = np.linspace(-1, 1, 16)


def _function(number: int) -> Callable[[Any], Any]:
    """One of twenty: sums, shifts, squares, and such as need no keys."""
    match number % 4:
        case 0:
            return lambda x: np.roll(x, number // 4)
        case 1:
            return lambda x: x[: number // 2 + 1].sum()
        case 2:
            return lambda x: x * x * (number + 1)
        case _:
            return lambda x: x * (number + 1)


FUNCTIONS = [_function(number) for number in range(COUNT)]


@pytest.fixture(scope="module")
def programs() -> dict[str, cw.Program]:
    made = cw.together(
        *(cw.compile(each, (16,), public_inputs=True, **SMALL) for each in FUNCTIONS)
    )
    return {f"program-{number}": each for number, each in enumerate(made)}


@pytest.fixture(scope="module")
def server(
    programs: dict[str, cw.Program], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("shared")
    put(folder, **programs)
    serving = Serving(folder)
    yield serving.connect()
    serving.stop()


class Sent:
    """The evaluation keys that are sent from now on, by the names of each upload."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.names: list[frozenset[str]] = []
        self.nbytes = 0
        handled = httpx.HTTPTransport.handle_request

        def kept(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
            body = b"".join(request.stream)  # type: ignore[arg-type]
            self.nbytes += len(body)
            if request.method == "PATCH":
                fields = container.read_bytes(body, cw.EvaluationKeys._kind)
                self.names.append(cw.EvaluationKeys._of(fields, ReadLimits(True)).names)
            request.stream = httpx.ByteStream(body)
            return handled(transport, request)

        patch.setattr(httpx.HTTPTransport, "handle_request", kept)


def test_twenty_programs_have_one_secret_key(
    programs: dict[str, cw.Program],
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent = Sent(monkeypatch)
    first = server.interface("program-0").client()
    nothing = 0
    for number, (name, program) in enumerate(programs.items()):
        client = first.serving(server.interface(name))
        required = program.required_keys
        assert required is not None
        # Keys that are there may be so at lower levels.
        for each in list(programs.values())[:number]:
            assert each.required_keys is not None
            required = required.beyond(each.required_keys)
        lacking = required.names()
        count, before = len(sent.names), sent.nbytes
        evaluator = server.evaluator(name, client)
        assert sent.names[count:] == [lacking] * bool(lacking or not number)
        if not lacking and number:
            nothing += 1
            assert sent.nbytes == before
        found = client.decrypt(evaluator.run(client.encrypt(X)))
        assert np.abs(found - FUNCTIONS[number](X)).max() < 2.0**-8
    assert nothing == 9
    # Again, of all of them, nothing.
    before = sent.nbytes
    for name in programs:
        server.evaluator(name, first.serving(server.interface(name)))
    assert sent.nbytes == before


def test_an_evaluator_has_the_keys_of_its_program_alone(
    programs: dict[str, cw.Program], tmp_path: Path
) -> None:
    chosen = list(programs.values())[:8]
    client, _ = chosen[0].keygen()
    paths = []
    for number, each in enumerate(chosen):
        keys = client.serving(each).evaluation_keys(*chosen[:number])
        if keys.names:
            paths.append(tmp_path / f"{number}")
            keys.save(paths[-1])
    assert len(paths) == 3
    for program in chosen:
        evaluator = evaluator_of_files(program, paths, insecure=True)
        required = program.required_keys
        assert required is not None
        keys = cw.EvaluationKeys(program.scheme, evaluator._key, b"")
        assert keys.names == required.names() or not required.names()


def test_a_public_key_finds_the_keys_of_its_client(server: Server, tmp_path: Path) -> None:
    client = server.interface("program-5").client()
    client.public_key().save(tmp_path / "public")
    other = cw.load(tmp_path / "public", cw.Encryptor, insecure=True)
    with pytest.raises(MissingKeyError, match="have the client send them"):
        server.evaluator("program-5", other)
    server.evaluator("program-5", client)
    evaluator = server.evaluator("program-5", other)
    found = client.decrypt(evaluator.run(other.encrypt(X)))
    assert np.abs(found - FUNCTIONS[5](X)).max() < 2.0**-8
