"""Several servers that are asked for the same, and what most of them answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Self

from cloakwork.errors import (
    AnswerMismatchError,
    CloakworkError,
    InvalidArgumentError,
    ProgramMismatchError,
)
from cloakwork.runtime.client import Client
from cloakwork.runtime.encrypted import Encrypted
from cloakwork.runtime.interface import Interface
from cloakwork.service.client.remote import RemoteEvaluator, RemoteJob, Server


class Servers:
    """Servers that have the same programs, and of whose answers that of most is taken.

    Args:
        servers: The servers, three or more to outvote one; `cloakwork.connect` makes them.

    Raises:
        InvalidArgumentError: There are none.

    Example:
        >>> import cloakwork as cw
        >>> cw.connect([])
        Traceback (most recent call last):
        cloakwork.errors.InvalidArgumentError: cannot ask several servers: ...
    """

    def __init__(self, servers: Sequence[Server]) -> None:
        if not servers:
            raise InvalidArgumentError(
                "cannot ask several servers: expected some, got none; give their URLs"
            )
        self._servers = tuple(servers)
        shared = set.intersection(*(set(each.programs) for each in servers))
        self.programs = tuple(sorted(shared))

    def interface(self, name: str) -> Interface:
        """What a client needs of a program, which is the same everywhere.

        Raises:
            ProgramMismatchError: Servers have different programs of the name.
            NotServedError: One has none.
        """
        found = [each.interface(name) for each in self._servers]
        if len({each.fingerprint for each in found}) > 1:
            raise ProgramMismatchError(
                f"cannot ask several servers for {name}: expected the same program on each, got "
                "different ones; ask their operators which is right"
            )
        return found[0]

    def evaluator(self, name: str, client: Client) -> AgreedEvaluator:
        """The evaluator of a program for a client, whose evaluation keys all servers have.

        Raises:
            CloakworkError: What `Server.evaluator` raises.
        """
        self.interface(name)
        keys = client.evaluation_keys()
        return AgreedEvaluator([each.evaluator(name, keys) for each in self._servers])

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
        evaluators: One for each server.
    """

    def __init__(self, evaluators: Sequence[RemoteEvaluator]) -> None:
        self._evaluators = tuple(evaluators)

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
        if 2 * votes <= len(found):
            told = "; ".join(str(each) for each in found if isinstance(each, CloakworkError))
            raise AnswerMismatchError(
                f"cannot take an answer: expected more than half of {len(found)} servers to agree, "
                f"got {len(answers)} answers, the most frequent one {votes} times; ask others"
                + (f" ({told})" if told else "")
            )
        return Encrypted.from_bytes(data)


def _tried(submit: Callable[[], RemoteJob]) -> RemoteJob | CloakworkError:
    try:
        return submit()
    except CloakworkError as error:
        return error


def _results(job: RemoteJob) -> bytes | CloakworkError:
    try:
        return job.results().to_bytes()
    except CloakworkError as error:
        return error
