"""Several servers that are asked for the same, and what most of them answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Self, TypeVar

from cloakwork.errors import (
    AnswerMismatchError,
    CloakworkError,
    InvalidArgumentError,
    ProgramMismatchError,
    ServerUnreachableError,
)
from cloakwork.runtime.client import Client
from cloakwork.runtime.encrypted import Encrypted
from cloakwork.runtime.evaluation_keys import EvaluationKeys
from cloakwork.runtime.interface import Interface
from cloakwork.service.client.connection import at_once
from cloakwork.service.client.remote import RemoteEvaluator, RemoteJob, Server

_T = TypeVar("_T")


class Servers:
    """Servers that have the same programs, and of whose answers that of most is taken.

    One that is not there, or fails, is a vote less: nothing is asked where no more than half of
    all are left.

    Args:
        servers: The servers that are there; `cloakwork.connect` makes them.
        absent: Why others are not, by their URLs.

    Raises:
        InvalidArgumentError: There are none, or two of them are one.
        CloakworkError: Why the first of half of them or more is not there.

    Example:
        >>> import cloakwork as cw
        >>> cw.connect([])
        Traceback (most recent call last):
        cloakwork.errors.InvalidArgumentError: cannot ask several servers: ...
    """

    def __init__(
        self, servers: Sequence[Server], absent: Mapping[str, CloakworkError] | None = None
    ) -> None:
        self.absent = dict(absent or {})
        self._servers, self._count = tuple(servers), len(servers) + len(self.absent)
        if not self._count:
            raise InvalidArgumentError(
                "cannot ask several servers: expected some, got none; give their URLs"
            )
        _require_several(self._servers)
        self._require_most(self._servers, [*self.absent.values()])
        shared = set.intersection(*(set(each.programs) for each in servers))
        self.programs = tuple(sorted(shared))

    def interface(self, name: str) -> Interface:
        """What a client needs of a program, which is the same everywhere.

        Raises:
            ProgramMismatchError: Servers have different programs of the name.
            CloakworkError: Half of them or more have none, or are not there.
        """
        found = [*self._of_most(lambda each: each.interface(name)).values()]
        if len({each.fingerprint for each in found}) > 1:
            raise ProgramMismatchError(
                f"cannot ask several servers for {name}: expected the same program on each, got "
                "different ones; ask their operators which is right"
            )
        return found[0]

    def evaluator(self, name: str, client: Client | EvaluationKeys) -> AgreedEvaluator:
        """The evaluator of a program for a client, whose evaluation keys all servers have.

        Those that all have are not sent again.

        Raises:
            CloakworkError: What `Server.evaluator` raises.
        """
        served = self.interface(name)
        if isinstance(client, EvaluationKeys):
            asked = self._of_most(lambda each: each.evaluator(name, client))
            return AgreedEvaluator([*asked.values()], self._count)
        known = self._of_most(lambda each: at_once(each._server.registered(client)))
        # Results are the same under the same keys alone.
        common = dict(set.intersection(*(set(each.items()) for each in known.values())))
        keys = at_once(next(iter(known))._server.lacking(served, client, common))

        def with_keys(server: Server) -> RemoteEvaluator:
            made = server._server.evaluator_with(name, served, client._key_id, [*common], keys)
            return RemoteEvaluator(at_once(made))

        return AgreedEvaluator([*self._of_most(with_keys).values()], self._count)

    def _of_most(self, ask: Callable[[Server], _T]) -> dict[Server, _T]:
        """What servers answer, where these are more than half.

        Raises:
            CloakworkError: What the first one raises otherwise.
        """
        answered: dict[Server, _T] = {}
        failed: list[CloakworkError] = []
        for server in self._servers:
            if server.url in self.absent:
                continue
            found = _tried(partial(ask, server))
            if not isinstance(found, CloakworkError):
                answered[server] = found
                continue
            failed.append(found)
            if isinstance(found, ServerUnreachableError):
                # It was asked for long enough, and is not asked for anything else.
                self.absent[server.url] = found
        self._require_most(answered, [*failed, *self.absent.values()])
        return answered

    def _require_most(self, found: Collection[Server], failed: Sequence[CloakworkError]) -> None:
        if 2 * len(found) <= self._count:
            raise failed[0]

    def close(self) -> None:
        """Close the connections."""
        for each in self._servers:
            each.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AgreedEvaluator:
    """Has a program run on several machines, and takes what more than half of them agree on.

    Runs are deterministic: servers that do as they should answer by the same bytes.

    Args:
        evaluators: One for each server that is there.
        count: How many servers there should be.
    """

    def __init__(self, evaluators: Sequence[RemoteEvaluator], count: int) -> None:
        self._evaluators, self._count = tuple(evaluators), count

    def run(
        self, inputs: Encrypted | Sequence[Encrypted], clear: Mapping[str, Any] | None = None
    ) -> Encrypted:
        """Run the program on all, and wait for all that answer.

        Args:
            inputs: What a client has encrypted, or several have for one key.
            clear: For a program over bits, by name the inputs that are not encrypted.

        Raises:
            AnswerMismatchError: No more than half of them agree.
        """
        jobs = [_tried(partial(each.submit, inputs, clear)) for each in self._evaluators]
        found = [each if isinstance(each, CloakworkError) else _results(each) for each in jobs]
        answers = Counter(each for each in found if isinstance(each, bytes))
        data, votes = answers.most_common(1)[0] if answers else (b"", 0)
        if 2 * votes <= self._count:
            told = "; ".join(str(each) for each in found if isinstance(each, CloakworkError))
            raise AnswerMismatchError(
                f"cannot take an answer: expected more than half of {self._count} servers to "
                f"agree, got {len(answers)} answers, the most frequent one {votes} times; ask "
                "others" + (f" ({told})" if told else "")
            )
        return Encrypted.from_bytes(data)


def _require_several(servers: Sequence[Server]) -> None:
    """Refuse several addresses of one server, whose answers are one vote.

    Raises:
        InvalidArgumentError: There are such.
    """
    known: dict[str | None, str] = {}
    for each in servers:
        first = known.setdefault(each.signer, each.url)
        if first is not each.url:
            raise InvalidArgumentError(
                f"cannot ask several servers: expected different ones, got {first} and {each.url}, "
                f"which sign by one key, {each.signer:.12}; give each server once"
            )


def _tried(ask: Callable[[], _T]) -> _T | CloakworkError:
    try:
        return ask()
    except CloakworkError as error:
        return error


def _results(job: RemoteJob) -> bytes | CloakworkError:
    try:
        return job.results().to_bytes()
    except CloakworkError as error:
        return error
