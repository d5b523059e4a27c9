"""Evaluators on another machine: what a server has, as if it were here."""

from __future__ import annotations

import contextlib
import os
import ssl
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Self

from cloakwork.base.arguments import shown
from cloakwork.errors import (
    AnswerMismatchError,
    InvalidArgumentError,
    MissingDependencyError,
    ServerUnreachableError,
    UploadMismatchError,
)
from cloakwork.runtime import container
from cloakwork.runtime.client import Client
from cloakwork.runtime.encrypted import Encrypted
from cloakwork.runtime.evaluation_keys import EvaluationKeys
from cloakwork.runtime.interface import Interface
from cloakwork.schemes.base import ReadLimits
from cloakwork.service.jobs import request_of
from cloakwork.service.problems import error_of
from cloakwork.service.receipts import SignedReceipt
from cloakwork.service.store import blocks_of, hash_of

if TYPE_CHECKING:
    from httpx import Client as Connection
    from httpx import Response

# How often a request is sent again that got no answer, and after how many seconds at first.
_TRIES, _PAUSE = 6, 0.25
_SECONDS = 60.0
_WAIT = 20
_NO_CONTENT = 204
_WAITING = 202


def connect(
    url: str,
    *,
    token: str | None = None,
    authority: str | os.PathLike[str] | None = None,
    signer: str | None = None,
    insecure: bool = False,
) -> Server:
    """A server of `cloakwork serve`, which runs programs and never sees a secret key.

    Args:
        url: Where it is, as `https://host:port`.
        token: Who asks, where the server has users.
        authority: A file with the certificates that the server's must follow from; by default
            those that httpx brings.
        signer: The public key by which it has to sign, in hexadecimal digits, where it is known;
            `Server.signer` says which it is.
        insecure: Whether its programs may be below 128-bit security, for tests.

    Raises:
        MissingDependencyError: httpx is not installed; the extra `server` brings it.
        InvalidArgumentError: It is not a URL.
        ServerUnreachableError: Nobody answers there.
        AccessDeniedError: The token is not that of a user.
        AnswerMismatchError: It signs by another key.

    Example:
        >>> import cloakwork as cw
        >>> server = cw.connect("https://127.0.0.1:1")
        Traceback (most recent call last):
        cloakwork.errors.ServerUnreachableError: cannot reach https://127.0.0.1:1: ...
    """
    if not (isinstance(url, str) and url.startswith(("https://", "http://"))):
        raise InvalidArgumentError(
            f"cannot connect: expected a URL such as https://host:8765, got {shown(url)}"
        )
    try:
        import httpx  # noqa: PLC0415
    except ImportError:
        raise MissingDependencyError(
            "cannot connect: httpx is not installed; pip install 'cloakwork[server]'"
        ) from None
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    trusted = ssl.create_default_context(cafile=authority) if authority is not None else True
    connection = httpx.Client(base_url=url, headers=headers, timeout=_SECONDS, verify=trusted)
    return Server(connection, ReadLimits(insecure), signer)


class Server:
    """Programs on another machine; `connect` makes one.

    Args:
        connection: The connection.
        limits: Which programs are accepted.
        signer: The public key that it has to sign by; None for whichever it says.
    """

    def __init__(self, connection: Connection, limits: ReadLimits, signer: str | None) -> None:
        self._connection, self._limits, self.signer = connection, limits, signer
        try:
            found = self._asked("GET", "/v1/programs")
            self.programs = tuple(each["name"] for each in _told(found, "programs", "name"))
            self._require_signer(_field(found, "signer"))
        except BaseException:
            self.close()
            raise

    def _require_signer(self, told: str) -> None:
        """Refuse a server that signs by another key than it should."""
        if self.signer is None:
            self.signer = told
        elif self.signer != told:
            raise AnswerMismatchError(
                f"cannot connect: expected a server that signs by {self.signer[:12]}, got one that "
                f"signs by {told[:12]}; ask its operator which key is right"
            )

    def close(self) -> None:
        """Close the connection; `with connect(...) as server` does it by itself."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def interface(self, name: str) -> Interface:
        """What a client needs of a program, and no more.

        Raises:
            NotServedError: There is no such program.
            MalformedBytesError: The answer is damaged.
            InsecureParametersError: It falls short of 128-bit security.
        """
        data = self._asked("GET", f"/v1/programs/{name}").content
        return Interface.from_fields(container.read_bytes(data, Interface._kind), self._limits)

    def evaluator(
        self, name: str, client: Client, keys: EvaluationKeys | None = None
    ) -> RemoteEvaluator:
        """The evaluator of a program for a client, whose evaluation keys are sent once.

        Args:
            name: The name of the program.
            client: Whoever encrypts, made of the program's interface.
            keys: Evaluation keys that the client made, for several servers to have the same; by
                default it makes those that lack.

        Raises:
            NotServedError: There is no such program.
            QuotaError: The keys are larger than the server takes.
        """
        if not isinstance(client, Client):
            raise InvalidArgumentError(
                f"cannot make an evaluator of {name}: expected a client of its interface, got "
                f"{shown(client)}; make one by server.interface({name!r}).client()"
            )
        served = self.interface(name)
        # In one order, so that the same request is the same job.
        digests = ",".join(sorted(self._registered(served, client, keys)))
        return RemoteEvaluator(self, name, served, digests)

    def _registered(
        self, served: Interface, client: Client, given: EvaluationKeys | None
    ) -> list[str]:
        """The hashes of a client's evaluation keys, with those of a program among them."""
        key_id = client._key_id.hex()
        of = {"key-id": key_id, "program": served.fingerprint}
        if given is not None:
            return [self._sent(given, of)]
        answer = self._asked("GET", f"/v1/keys?key_id={key_id}")
        found = _told(answer, "keys", "digest", "program")
        there, digests = {each["program"] for each in found}, [each["digest"] for each in found]
        if served.fingerprint in there:
            return digests
        others = [self.interface(each) for each in self.programs]
        keys = client.serving(served).evaluation_keys(
            *(each for each in others if each.fingerprint in there)
        )
        return [*digests, self._sent(keys, of)]

    def _sent(self, keys: EvaluationKeys, of: dict[str, str]) -> str:
        """The hash of evaluation keys, which are on the server from then on."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "keys"
            keys.save(path)
            digest = hash_of(blocks_of(path))
            for attempt in _attempts():
                here = self._asked("HEAD", f"/v1/keys/{digest}").headers
                if here.get("upload-complete") == "?1":
                    break
                start = _offset(here.get("upload-offset", ""), path.stat().st_size)
                headers = {"upload-offset": f"{start}", "upload-complete": "?1", **of}
                # Another connection may not have been given up on there.
                with attempt(UploadMismatchError, ServerUnreachableError):
                    self._once("PATCH", f"/v1/keys/{digest}", blocks_of(path, start), headers)
                    break
        return digest

    def _asked(
        self,
        method: str,
        path: str,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """An answer, asked for again where the connection is lost: twice does what once does."""
        for attempt in _attempts():
            with attempt(ServerUnreachableError):
                return self._once(method, path, content, headers)
        raise AssertionError("the last attempt raises")

    def _once(
        self,
        method: str,
        path: str,
        content: bytes | Iterator[bytes] | None,
        headers: Mapping[str, str] | None,
    ) -> Response:
        import httpx  # noqa: PLC0415

        try:
            found = self._connection.request(method, path, content=content, headers=headers)
        except httpx.HTTPError as error:
            raise ServerUnreachableError(
                f"cannot reach {self._connection.base_url}: {error}; see whether it is there, and "
                "try again"
            ) from error
        if found.is_success:
            return found
        raise _refusal(found)


class RemoteEvaluator:
    """Runs a program on another machine, as `Evaluator` does here.

    Args:
        server: Where.
        name: What the program is called there.
        interface: What is known of it here.
        keys: The hash of the evaluation keys.
    """

    def __init__(self, server: Server, name: str, interface: Interface, keys: str) -> None:
        self._server, self._name, self._keys = server, name, keys
        self.interface = interface

    def run(self, inputs: Encrypted) -> Encrypted:
        """Run the program, and wait for its results.

        The same inputs are one job, however often they are sent.

        Args:
            inputs: What a client has encrypted.

        Raises:
            AnswerMismatchError: The answer is of another request.
            ServerUnreachableError: Nobody answers any more.
            CloakworkError: What the run raises there.
        """
        job = self.submit(inputs)
        return job.results()

    def submit(self, inputs: Encrypted) -> RemoteJob:
        """Ask for a run, and do not wait for it.

        Args:
            inputs: What a client has encrypted.
        """
        if not isinstance(inputs, Encrypted):
            raise InvalidArgumentError(
                f"cannot run {self._name}: expected what a client encrypted, got {shown(inputs)}; "
                "give what client.encrypt returns"
            )
        data = inputs.to_bytes()
        wanted = request_of(self.interface.fingerprint, self._keys, data)
        path = f"/v1/programs/{self._name}/jobs?keys={self._keys}"
        answer = self._server._asked("POST", path, content=data)
        _require_same(answer, wanted)
        return RemoteJob(self._server, _field(answer, "job"), wanted)

    def __repr__(self) -> str:
        return f"RemoteEvaluator({self._name!r}, {self._server._connection.base_url})"


class RemoteJob:
    """A run on another machine.

    Args:
        server: Where.
        name: What it is called there.
        request: The hash of what was asked for.

    Its `receipt` is what the server signs of the results, once these are here.
    """

    def __init__(self, server: Server, name: str, request: str) -> None:
        self._server, self.name, self._request = server, name, request
        self.receipt: SignedReceipt | None = None

    def results(self) -> Encrypted:
        """Its results, once they are there.

        Raises:
            AnswerMismatchError: The answer is of another request.
            RunCancelledError: The job was cancelled.
            CloakworkError: What the run raises there.
        """
        while True:
            headers = {"wait-seconds": f"{_WAIT}"}
            found = self._server._asked("GET", f"/v1/jobs/{self.name}", headers=headers)
            _require_same(found, self._request)
            if found.status_code != _WAITING:
                self.receipt = self._receipt(found)
                return Encrypted.from_bytes(found.content)

    def _receipt(self, answer: Response) -> SignedReceipt:
        """What the server signs of the results.

        Raises:
            AnswerMismatchError: It is of others, or signed by another.
        """
        receipt = SignedReceipt.read(answer.headers.get("cloakwork-receipt", ""))
        if (receipt.request, receipt.signer) != (self._request, self._server.signer):
            raise AnswerMismatchError(
                f"cannot take an answer: expected a receipt of the request {self._request[:12]} "
                f"signed by {self._server.signer:.12}, got one of {receipt.request[:12]} signed by "
                f"{receipt.signer[:12]}; ask another server"
            )
        receipt.require_results(answer.content)
        return receipt

    def cancel(self) -> None:
        """End it."""
        self._server._asked("DELETE", f"/v1/jobs/{self.name}")


def _field(answer: Response, name: str) -> str:
    """A text of an answer.

    Raises:
        AnswerMismatchError: It has none of the name.
    """
    try:
        found = answer.json()[name]
    except (ValueError, KeyError, TypeError):
        found = None
    if not isinstance(found, str):
        raise _strange(answer)
    return found


def _told(answer: Response, name: str, *fields: str) -> list[dict[str, str]]:
    """A list of an answer, of records whose fields are texts.

    Raises:
        AnswerMismatchError: It has none of the name.
    """
    try:
        found = [{field: each[field] for field in fields} for each in answer.json()[name]]
    except (ValueError, KeyError, TypeError):
        raise _strange(answer) from None
    if not all(isinstance(text, str) for each in found for text in each.values()):
        raise _strange(answer)
    return found


def _offset(text: str, size: int) -> int:
    """How many bytes of a file a server says that it has.

    Raises:
        AnswerMismatchError: It says something else.
    """
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= size):
        raise AnswerMismatchError(
            f"cannot send evaluation keys: expected up to {size} bytes to be there, got "
            f"{text!r:.30}; look whether the URL is that of a server of Cloakwork"
        )
    return int(text)


def _require_same(answer: Response, request: str) -> None:
    """Refuse an answer to another request."""
    told = answer.headers.get("cloakwork-request")
    if told != request:
        raise AnswerMismatchError(
            f"cannot take an answer: expected one to the request {request[:12]}, got one to "
            f"{told!r:.20}; ask another server"
        )


def _refusal(answer: Response) -> Exception:
    """The error that a server tells of."""
    try:
        error = error_of(answer.json())
    except ValueError:
        error = None
    return error or _strange(answer)


def _strange(answer: Response) -> AnswerMismatchError:
    return AnswerMismatchError(
        f"cannot take an answer: expected one of a server of Cloakwork, got something else with "
        f"status {answer.status_code}; look whether the URL is right"
    )


def _attempts() -> Iterator[Callable[..., contextlib.AbstractContextManager[None]]]:
    """Contexts that pass over errors, each after a longer pause; the last passes over none."""
    for number in range(_TRIES):
        is_last = number == _TRIES - 1
        yield lambda *kinds, last=is_last: contextlib.suppress(*(() if last else kinds))
        time.sleep(_PAUSE * 2**number)
