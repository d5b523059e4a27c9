"""Servers that lie: in what they answer, and in how they send it."""

from __future__ import annotations

import hashlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import httpx

import cloakwork as cw
from cloakwork._native import SigningKey
from cloakwork.runtime import container
from cloakwork.service.hashes import request_of
from cloakwork.service.receipts import SignedReceipt
from cloakwork.service.run_inputs import RunInputs

OCTETS = {"content-type": "application/octet-stream"}


class Right:
    """Answers about one program, norm, as a server does that has the keys already.

    Args:
        program: The program.
        evaluator: What runs it.
    """

    def __init__(self, program: cw.Program, evaluator: cw.Evaluator) -> None:
        self._program, self._evaluator = program, evaluator
        self.signing = SigningKey.generate()
        # What a client asked for last, and what it made.
        self.request, self.results = "", b""

    @cached_property
    def _interface(self) -> bytes:
        made = cw.Interface.of(self._program)
        return container.to_bytes(made._kind, made._record())

    def receipt(self) -> SignedReceipt:
        """That of the last results."""
        digest = hashlib.sha256(self.results).hexdigest()
        return SignedReceipt.signed(self.signing, self.request, digest, "1.0")

    def __call__(self, request: httpx.Request) -> httpx.Response:
        match request.method, request.url.path:
            case "GET", "/v1/programs":
                norm = {"name": "norm", "fingerprint": self._program.fingerprint}
                told: Any = {"programs": [norm], "signer": self.signing.public.hex()}
                return httpx.Response(200, json=told)
            case "GET", "/v1/programs/norm":
                return httpx.Response(200, content=self._interface, headers=OCTETS)
            case "GET", "/v1/keys":
                own = {"digest": "0" * 64, "program": self._program.fingerprint}
                return httpx.Response(200, json={"keys": [own]})
            case "POST", "/v1/programs/norm/jobs":
                data = request.read()
                self.request = request_of(self._program.fingerprint, "0" * 64, data)
                sent = RunInputs.from_bytes(data).encrypted
                self.results = self._evaluator.run(list(sent)).to_bytes()
                return httpx.Response(202, json={"job": "a" * 32}, headers=self._of())
            case _:
                headers = {**OCTETS, **self._of(), "cloakwork-receipt": self.receipt().text()}
                return httpx.Response(200, content=self.results, headers=headers)

    def _of(self) -> dict[str, str]:
        return {"cloakwork-request": self.request}


@contextmanager
def sending(blocks: Callable[[], Iterator[bytes]]) -> Iterator[str]:
    """A server that reads the head of a request, sends some bytes and hangs up; its URL."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                asking, _ = listening.accept()
            except OSError:
                # The test is over.
                return
            threading.Thread(target=_answer, args=(asking, blocks), daemon=True).start()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        # A thread that waits for connections is not woken by a close.
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def _answer(asking: socket.socket, blocks: Callable[[], Iterator[bytes]]) -> None:
    with asking:
        try:
            head = b""
            while b"\r\n\r\n" not in head:
                head += asking.recv(1 << 16)
            for block in blocks():
                asking.sendall(block)
        except OSError:
            # Whoever asked has hung up.
            return
