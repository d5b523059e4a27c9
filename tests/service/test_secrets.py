"""Nothing that a client sends has a secret in it: neither the key that decrypts nor that signs."""

from __future__ import annotations

import asyncio
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import cloakwork as cw
from cloakwork.service.client.remote import Server
from tests.service.kinds import BY_NAME, KINDS, RING, Kind
from tests.service.serving import Serving, put

SUMS = cw.compile(lambda t, x: t + x, cw.state((4,), bound=9, steps=8), (4,), **RING)


class Sent:
    """Whatever clients of this process send."""

    def __init__(self) -> None:
        self._requests: list[bytes] = []

    def add(self, request: httpx.Request, body: bytes) -> None:
        """Keep a request, and what is packed in it."""
        said = str(request.url).encode() + repr(request.headers.raw).encode()
        self._requests += [said, body, *_unpacked(body)]

    def has_any(self, pieces: list[bytes]) -> bool:
        """Whether one of some pieces was sent."""
        whole = b"\n".join(self._requests)
        return any(each in whole for each in pieces)

    def __len__(self) -> int:
        return sum(map(len, self._requests))


def _unpacked(body: bytes) -> Iterator[bytes]:
    if zipfile.is_zipfile(io.BytesIO(body)):
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            for name in archive.namelist():
                data = archive.read(name)
                yield data
                yield from _unpacked(data)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    made = Sent()
    handle = httpx.HTTPTransport.handle_request
    handle_awaited = httpx.AsyncHTTPTransport.handle_async_request

    def kept(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        body = b"".join(request.stream)  # type: ignore[arg-type]
        made.add(request, body)
        request.stream = httpx.ByteStream(body)
        return handle(transport, request)

    async def awaited(
        transport: httpx.AsyncHTTPTransport, request: httpx.Request
    ) -> httpx.Response:
        body = b"".join([block async for block in request.stream])  # type: ignore[union-attr]
        made.add(request, body)
        request.stream = httpx.ByteStream(body)
        return await handle_awaited(transport, request)

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", kept)
    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", awaited)
    return made


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("secrets")
    programs = {name: each for kind in KINDS for name, each in kind.programs.items()}
    put(folder, sums=SUMS, **programs)
    made = Serving(folder, "--allow-upload")
    yield made
    made.stop()


@pytest.fixture(scope="module")
def server(serving: Serving) -> Server:
    return serving.connect()


def _secrets(*clients: cw.Client | cw.Encryptor) -> list[bytes]:
    """Pieces of all that clients keep to themselves."""
    found = [
        piece
        for each in clients
        if isinstance(each, cw.Client)
        for piece in _pieces(each.program.scheme.dump(each._key))
    ]
    assert len(found) > 10
    signing = [bytes(each._signing.to_bytes()) for each in clients]
    return found + [half for key in signing for half in (key[:16], key[-16:])]


def _pieces(record: Any) -> list[bytes]:
    """Parts of all bytes in a record, each too long to occur by chance."""
    match record:
        case bytes() | bytearray() | memoryview():
            data = bytes(record)
            # Before them are the parameters, and what the key is known by.
            return [data[start : start + 16] for start in range(64, len(data) - 16, 8)]
        case dict():
            return [piece for each in record.values() for piece in _pieces(each)]
        case list() | tuple():
            return [piece for each in record for piece in _pieces(each)]
        case np.ndarray():
            return _pieces(record.tobytes())
        case _:
            return []


def _case(kind: Kind) -> Any:
    return pytest.param(kind, marks=[pytest.mark.slow] * kind.is_slow, id=kind.name)


@pytest.mark.parametrize("kind", [*map(_case, KINDS)])
def test_a_run_of_any_kind_sends_no_secret(server: Server, sent: Sent, kind: Kind) -> None:
    client = server.interface(kind.name).client()
    clients = {name: client.serving(server.interface(name)) for name in kind.programs}
    there = {name: server.evaluator(name, clients[name]) for name in clients}
    given = kind.give(client, there)
    there[kind.name].run(given.inputs, given.clear)
    assert len(sent) > 10_000
    assert not sent.has_any(_secrets(client))


def test_inputs_of_others_and_states_send_no_secret(server: Server, sent: Sent) -> None:
    client = server.interface("sums").client()
    there = server.evaluator("sums", client)
    kept = there.start("meter", client.start())
    there.run(client.encrypt(x=np.ones(4)), state=kept)
    there.reset(kept, client.start())
    assert there.states() == (kept,)
    there.remove(kept)

    kind = BY_NAME["clients"]
    holder = server.interface(kind.name).client()
    first, second = holder.public_key(), holder.public_key()
    a, b = (port.name for port in holder.program.inputs)
    shapes = {port.name: port.shape for port in holder.program.inputs}
    inputs = [first.encrypt(**{a: np.zeros(shapes[a])}), second.encrypt(**{b: np.zeros(shapes[b])})]
    server.evaluator(kind.name, holder).run(inputs)
    assert len(sent) > 10_000
    assert not sent.has_any(_secrets(client, holder, first, second))


def test_what_is_awaited_sends_no_secret(serving: Serving, sent: Sent) -> None:
    async def asked() -> cw.Client:
        address = f"http://127.0.0.1:{serving.port}"
        async with cw.aconnect(address, insecure=True) as server:
            client = (await server.interface("sums")).client()
            there = await server.evaluator("sums", client)
            kept = await there.start("awaited", client.start())
            await there.run(client.encrypt(x=np.ones(4)), state=kept)
            return client

    client = asyncio.run(asked())
    assert len(sent) > 10_000
    assert not sent.has_any(_secrets(client))


def test_a_program_that_has_run_here_is_put_without_its_key(server: Server, sent: Sent) -> None:
    program = cw.compile(lambda x: 2 * x, (16,), **RING)
    program.run(np.ones(16))
    assert program._own is not None
    client, _ = program._own
    server.put(program, name="doubled")
    server.remove("doubled")
    assert len(sent) > 1000
    assert not sent.has_any(_secrets(client))


def test_a_secret_that_is_sent_is_found(server: Server, sent: Sent, tmp_path: Path) -> None:
    client = server.interface("sums").client()
    client.save(tmp_path / "client")
    headers = {"upload-offset": "0"}
    path = f"/v1/keys/{'a' * 64}"
    server._connection.patch(path, content=(tmp_path / "client").read_bytes(), headers=headers)
    server._connection.delete(path)
    assert sent.has_any(_secrets(client))
    assert all(sent.has_any([piece]) for piece in _secrets(client))
