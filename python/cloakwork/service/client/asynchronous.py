"""What a client and a server say to one another, for callers that do something else meanwhile.

Callers that wait have the same by `remote`, over a connection that is never suspended.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from cloakwork.base.arguments import shown
from cloakwork.base.progress import shows_bars
from cloakwork.errors import (
    AnswerMismatchError,
    InvalidArgumentError,
    MissingKeyError,
    NotServedError,
    ServerUnreachableError,
    UploadMismatchError,
)
from cloakwork.programs.slots import SlotProgram, State
from cloakwork.runtime import container
from cloakwork.runtime.client import Client, Encryptor
from cloakwork.runtime.encrypted import Encrypted
from cloakwork.runtime.evaluation_keys import EvaluationKeys
from cloakwork.runtime.interface import Interface
from cloakwork.runtime.program import Program
from cloakwork.runtime.state import EncryptedState, require_state
from cloakwork.schemes.base import ReadLimits, levels_of, value_count
from cloakwork.service.client.answers import HttpAnswer
from cloakwork.service.client.connection import HttpConnection, HttpRequest
from cloakwork.service.client.job_bar import job_bar
from cloakwork.service.client.kept_state import KeptState, StatePlace, own_state, states_of
from cloakwork.service.hashes import blocks_of, hash_of, request_of
from cloakwork.service.receipts import SignedReceipt
from cloakwork.service.run_inputs import RunInputs, StateBefore

# After how many seconds a request is sent again that got no answer; the last one is not.
PAUSES = (0.25, 0.5, 1.0, 2.0, 4.0, None)
_WAIT = 20
# The same where a bar shows how far the job is.
_WAIT_OF_BAR = 1
_WAITING = 202
_MOST_INTERFACE = 1 << 28
# What results take beside the bytes of ciphertexts: for each, and in all.
_BESIDE_EACH, _BESIDE = 1 << 12, 1 << 20


class AsyncServer:
    """Programs on another machine; `aconnect` makes one, and `async with` connects it.

    Args:
        connection: The connection.
        limits: Which programs are accepted.
        signer: The public key that it has to sign by; None for whichever it says.
    """

    def __init__(self, connection: HttpConnection, limits: ReadLimits, signer: str | None) -> None:
        self.connection, self._limits, self.signer = connection, limits, signer
        self.programs: tuple[str, ...] = ()
        self._fingerprints: dict[str, str] = {}

    async def open(self) -> None:
        """Connect; `async with` does it by itself.

        Raises:
            CloakworkError: What `connect` raises.
        """
        try:
            self._require_signer(await self._list())
        except BaseException:
            await self.close()
            raise

    async def _list(self) -> str:
        """Look which programs there are; by which key the server signs."""
        found = await self.asked(HttpRequest("GET", "/v1/programs"))
        told = found.told("programs", "name", "fingerprint")
        self._fingerprints = {each["name"]: each["fingerprint"] for each in told}
        self.programs = tuple(self._fingerprints)
        return found.field("signer")

    async def put(self, program: Program, *, name: str) -> None:
        """Have the server run a program of this user's; see `Server.put`."""
        if not isinstance(program, Program) or not isinstance(name, str):
            raise InvalidArgumentError(
                "cannot put a program: expected what compile returns, and a name, got "
                f"{shown(program)} and {shown(name)}; give both"
            )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "program"
            await self.connection.aside(lambda: program.save(path))
            await self.asked(HttpRequest("PUT", _place_of(name), lambda: blocks_of(path)))
        await self._list()

    async def remove(self, name: str) -> None:
        """Remove a program of this user's; see `Server.remove`."""
        await self.asked(HttpRequest("DELETE", _place_of(name)))
        await self._list()

    def _require_signer(self, told: str) -> None:
        """Refuse a server that signs by another key than it should."""
        if self.signer is None:
            self.signer = told
        elif self.signer != told:
            raise AnswerMismatchError(
                f"cannot connect: expected a server that signs by {self.signer[:12]}, got one that "
                f"signs by {told[:12]}; ask its operator which key is right"
            )

    async def close(self) -> None:
        """Close the connection; `async with` does it by itself."""
        await self.connection.close()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def interface(self, name: str) -> Interface:
        """What a client needs of a program, and no more; see `Server.interface`."""
        request = HttpRequest("GET", _place_of(name), most=_MOST_INTERFACE)
        data = (await self.asked(request)).octets()
        return Interface.from_fields(container.read_bytes(data, Interface._kind), self._limits)

    async def evaluator(
        self, name: str, client: Client | Encryptor | EvaluationKeys
    ) -> AsyncEvaluator:
        """The evaluator of a program for a client, whose evaluation keys are sent once.

        Keys are made beside the event loop; see `Server.evaluator`.
        """
        if not isinstance(client, Client | Encryptor | EvaluationKeys):
            raise InvalidArgumentError(
                f"cannot make an evaluator of {name}: expected a client of its interface, its "
                f"public key or its evaluation keys, got {shown(client)}; make one by "
                f"server.interface({name!r}).client()"
            )
        served = await self.interface(name)
        if isinstance(client, EvaluationKeys):
            _require_of(client, served, f"make an evaluator of {name}")
            return await self.evaluator_with(name, served, client.key_id, [], client)
        there = await self.registered(client)
        keys = await self.lacking(served, client, there)
        return await self.evaluator_with(name, served, client._key_id, [*there], keys)

    async def registered(self, client: Client | Encryptor) -> dict[str, str]:
        """The hashes of a client's evaluation keys that are there, with the programs of each."""
        answer = await self.asked(HttpRequest("GET", f"/v1/keys?key_id={client._key_id.hex()}"))
        found = answer.told("keys", "digest", "program")
        return {each["digest"]: each["program"] for each in found}

    async def lacking(
        self, served: Interface, client: Client | Encryptor, there: Mapping[str, str]
    ) -> EvaluationKeys | None:
        """The evaluation keys that a program needs beside those that are there; None where none.

        Args:
            served: The program.
            client: Who makes them.
            there: What is there of them, as `registered` says.

        Raises:
            MissingKeyError: It is a public key, and its client has sent none.
        """
        known = {*there.values()}
        if served.fingerprint in known:
            return None
        if not isinstance(client, Client):
            _require_some(there, served)
            return None
        names = [each for each, own in self._fingerprints.items() if own in known]
        others = [await self.interface(each) for each in names]
        keys = await self.connection.aside(lambda: client.serving(served).evaluation_keys(*others))
        return keys if keys.names or not there else None

    async def evaluator_with(
        self,
        name: str,
        served: Interface,
        key_id: bytes,
        there: Sequence[str],
        keys: EvaluationKeys | None,
    ) -> AsyncEvaluator:
        """The evaluator of a program with some evaluation keys.

        Args:
            name: The name of the program.
            served: What is known of it here.
            key_id: What their secret key is known by.
            there: The hashes of those that are there.
            keys: What is sent beside them; None for nothing.
        """
        sent = [] if keys is None else [await self._sent(keys, served)]
        # In one order, so that the same request is the same job.
        digests = ",".join(sorted([*there, *sent]))
        return AsyncEvaluator(self, name, served, digests, key_id.hex())

    async def _sent(self, keys: EvaluationKeys, served: Interface) -> str:
        """The hash of evaluation keys for a program, which are on the server from then on."""
        of = {"key-id": keys.key_id.hex(), "program": served.fingerprint}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "keys"

            def saved() -> str:
                keys.save(path)
                return hash_of(blocks_of(path))

            digest = await self.connection.aside(saved)
            for pause in PAUSES:
                here = await self.asked(HttpRequest("HEAD", f"/v1/keys/{digest}"))
                if here.headers.get("upload-complete") == "?1":
                    return digest
                try:
                    await self._append(path, digest, here.offset(path.stat().st_size), of)
                    return digest
                except (UploadMismatchError, ServerUnreachableError):
                    # Another connection may not have been given up on there.
                    if pause is None:
                        raise
                    await self.connection.pause(pause)
        raise AssertionError("the last attempt raises")

    async def _append(self, path: Path, digest: str, start: int, of: Mapping[str, str]) -> None:
        """Send what a server lacks of evaluation keys."""
        headers = {"upload-offset": f"{start}", "upload-complete": "?1", **of}
        request = HttpRequest(
            "PATCH", f"/v1/keys/{digest}", lambda: blocks_of(path, start), headers
        )
        (await self.connection.ask(request)).require_success()

    async def asked(self, request: HttpRequest) -> HttpAnswer:
        """An answer, asked for again where the connection is lost: twice does what once does."""
        for pause in PAUSES:
            try:
                found = await self.connection.ask(request)
                found.require_success()
                return found
            except ServerUnreachableError:
                if pause is None:
                    raise
                await self.connection.pause(pause)
        raise AssertionError("the last attempt raises")


class AsyncEvaluator:
    """Runs a program on another machine, as `Evaluator` does here.

    Args:
        server: Where.
        name: What the program is called there.
        interface: What is known of it here.
        keys: The hashes of the evaluation keys.
        key_id: What their secret key is known by, in hexadecimal digits.
    """

    def __init__(
        self, server: AsyncServer, name: str, interface: Interface, keys: str, key_id: str
    ) -> None:
        self._server, self._name, self.keys, self._key_id = server, name, keys, key_id
        self.interface, self._states = interface, StatePlace(_place_of(name), key_id)

    async def run(
        self,
        inputs: Encrypted | Sequence[Encrypted],
        clear: Mapping[str, Any] | None = None,
        *,
        state: KeptState | None = None,
        step: int | None = None,
    ) -> Encrypted:
        """Run the program, and await its results; see `RemoteEvaluator.run`.

        A task that is cancelled meanwhile ends nothing there: the same inputs are the same job.
        """
        request, make = self._asked(inputs, clear, state, step)
        answer = await self._server.asked(replace(request, headers=_wait()))
        job = make(answer)
        return await job.results() if answer.status == _WAITING else job.taken(answer)

    async def submit(
        self,
        inputs: Encrypted | Sequence[Encrypted],
        clear: Mapping[str, Any] | None = None,
        *,
        state: KeptState | None = None,
        step: int | None = None,
    ) -> AsyncJob:
        """Ask for a run, and do not await it; see `RemoteEvaluator.submit`."""
        request, make = self._asked(inputs, clear, state, step)
        return make(await self._server.asked(request))

    def _asked(
        self,
        inputs: Encrypted | Sequence[Encrypted],
        clear: Mapping[str, Any] | None,
        state: KeptState | None,
        step: int | None,
    ) -> tuple[HttpRequest, Callable[[HttpAnswer], AsyncJob]]:
        """What asks for a run, and what makes a job of the answer."""
        require_state(self.interface, state, step, KeptState, f"run {self.interface.name}")
        before, advance = None, None
        if state is not None:
            before = StateBefore(state.name, self._key_id, state.version)
            advance = partial(state.advance, state.version)
        given = RunInputs.of(self.interface, inputs, clear, before)
        data = given.to_bytes()
        wanted = request_of(self.interface.fingerprint, self.keys, data)
        path = f"{_place_of(self._name)}/jobs?keys={self.keys}"
        most = _most_bytes(self.interface, given.runs)

        def made(answer: HttpAnswer) -> AsyncJob:
            answer.require_of(wanted)
            # Results that are here already need no name to be asked for.
            name = answer.field("job") if answer.status == _WAITING else ""
            return AsyncJob(self._server, name, wanted, most, advance)

        return HttpRequest("POST", path, data, most=most), made

    async def start(self, name: str, initial: EncryptedState) -> KeptState:
        """Have the server keep a state; see `RemoteEvaluator.start`."""
        start = self._states.start(name, initial, if_none_match="*")
        return start.kept(await self._server.asked(start.request))

    async def reset(self, state: KeptState, initial: EncryptedState) -> None:
        """Have a state begin anew; see `RemoteEvaluator.reset`."""
        start = self._states.start(own_state(state).name, initial)
        found = start.kept(await self._server.asked(start.request))
        state.step, state.version = found.step, found.version

    async def states(self) -> tuple[KeptState, ...]:
        """The states that are kept; see `RemoteEvaluator.states`."""
        return states_of(await self._server.asked(self._states.listing()))

    async def remove(self, state: KeptState) -> None:
        """Remove a state; see `RemoteEvaluator.remove`."""
        await self._server.asked(self._states.removal(state))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r}, {self._server.connection.url})"


class AsyncJob:
    """A run on another machine.

    Args:
        server: Where.
        name: What it is called there.
        request: The hash of what was asked for.
        most: How many bytes its results may have.
        advance: What is told the request once they are here.

    Its `receipt` is what the server signs of the results, once these are here.
    """

    def __init__(
        self,
        server: AsyncServer,
        name: str,
        request: str,
        most: int,
        advance: Callable[[str], None] | None = None,
    ) -> None:
        self._server, self.name, self.request, self._most = server, name, request, most
        self._advance = advance
        self.receipt: SignedReceipt | None = None

    async def results(self) -> Encrypted:
        """Its results, once they are there; see `RemoteJob.results`.

        A task that is cancelled meanwhile ends nothing there; `cancel` does.
        """
        path = f"/v1/jobs/{quote(self.name, safe='')}"
        request = HttpRequest("GET", path, headers=_wait(), most=self._most)
        with job_bar() as show:
            while True:
                found = await self._server.asked(request)
                found.require_of(self.request)
                if found.status != _WAITING:
                    break
                show(found)
        return self.taken(found)

    def taken(self, answer: HttpAnswer) -> Encrypted:
        """Its results as they came.

        Raises:
            AnswerMismatchError: They are of something else, or of another.
        """
        self.receipt = self._receipt(answer)
        results = Encrypted.from_bytes(answer.octets())
        if self._advance is not None:
            self._advance(self.request)
        return results

    def _receipt(self, answer: HttpAnswer) -> SignedReceipt:
        """What the server signs of the results.

        Raises:
            AnswerMismatchError: It is of others, or signed by another.
        """
        receipt = SignedReceipt.read(answer.headers.get("cloakwork-receipt", ""))
        if (receipt.request, receipt.signer) != (self.request, self._server.signer):
            raise AnswerMismatchError(
                f"cannot take an answer: expected a receipt of the request {self.request[:12]} "
                f"signed by {self._server.signer:.12}, got one of {receipt.request[:12]} signed by "
                f"{receipt.signer[:12]}; ask another server"
            )
        receipt.require_results(answer.content)
        return receipt

    async def cancel(self) -> None:
        """End it."""
        await self._server.asked(HttpRequest("DELETE", f"/v1/jobs/{quote(self.name, safe='')}"))


def _wait() -> Mapping[str, str]:
    """How long a server is to wait for the end of a job before it answers."""
    return {"wait-seconds": f"{_WAIT_OF_BAR if shows_bars() else _WAIT}"}


def _place_of(name: str) -> str:
    """The path of a program on a server.

    Raises:
        NotServedError: Nothing can have such a name.
    """
    if "/" in name or name in ("", ".", ".."):
        raise NotServedError(
            f"cannot ask for {name!r}: expected the name of a program, got what none there can "
            "have; ask for the list"
        )
    return f"/v1/programs/{quote(name, safe='')}"


def _require_some(there: Mapping[str, str], served: Interface) -> None:
    """Refuse a public key whose client has sent no evaluation keys.

    Raises:
        MissingKeyError: It has not.
    """
    if not there:
        raise MissingKeyError(
            f"cannot make an evaluator of {served.name} by a public key: expected evaluation keys "
            "of its client on the server, under the same user, got none; have the client send them "
            "by making an evaluator"
        )


def _require_of(keys: EvaluationKeys, served: Interface, action: str) -> None:
    """Refuse evaluation keys of other programs before they are sent.

    Raises:
        ParametersMismatchError: They are of other parameters.
        MissingKeyError: They lack one.
    """
    keys.of(served.scheme, keys.key_id, action)
    demands = [each.required_keys for each in served.parts]
    needed = frozenset[str]().union(*(each.names() for each in demands if each is not None))
    lacking = sorted(needed - keys.names)
    if lacking:
        raise MissingKeyError(
            f"cannot {action}: expected evaluation keys of the program, got some without "
            f"{', '.join(lacking):.80}; make them of its interface"
        )


def _most_bytes(interface: Interface, runs: int) -> int:
    """How many bytes results of a program may have."""
    body, scheme = interface.body, interface.scheme
    if isinstance(body, SlotProgram):
        levels = levels_of(body, "outputs")
        each = max((scheme.bytes_at(State(level)) for level in levels), default=0)
    else:
        each = scheme.value_bytes
    return _BESIDE + runs * value_count(body, "outputs") * (each + _BESIDE_EACH)
