"""The scheduler of a cluster of Dask, asked without a client of Dask's; see `wire`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, Self
from uuid import uuid4

import distributed
from dask._expr import LLGExpr
from distributed.protocol import pickle
from distributed.protocol.serialize import Serialized, ToPickle, serialize, to_serialize
from distributed.security import Security
from distributed.utils import format_dashboard_link
from distributed.versions import get_versions

from cloakwork.base.arguments import shown
from cloakwork.cluster.answers import readable
from cloakwork.cluster.wire import Connection, plain_bytes
from cloakwork.errors import (
    ClusterLostError,
    InvalidArgumentError,
    MalformedBytesError,
    WorkerFailedError,
)

# Results that are asked for at a time.
_AT_A_TIME = 256
_MOST_PORT = 65_535


class Scheduler:
    """The scheduler of a cluster; what a `with` block leaves is disconnected.

    Args:
        client: A `distributed.Client`, of which address and security alone are used, or an
            address such as tcp://machine:8786. With an address it is Dask's configuration that
            names the files of TLS.
        action: What the caller is about to do, for the messages of errors.

    Raises:
        InvalidArgumentError: It is neither.
        ClusterLostError: The client is closed, or nothing answers.
    """

    def __init__(self, client: Any, action: str) -> None:
        self._client: distributed.Client | None = None
        if isinstance(client, distributed.Client) and not client.asynchronous:
            self._client = client
        elif not isinstance(client, str):
            raise InvalidArgumentError(
                f"cannot {action}: expected client to be a distributed.Client that is not "
                "asynchronous, or the address of a scheduler such as 'tcp://machine:8786', got "
                f"{shown(client)}"
            )
        self.require_open(action)
        configured: Callable[[], Security] = Security
        is_address = self._client is None
        self._address: str = client if is_address else client.scheduler.address
        self._security = configured() if is_address else client.security
        self._stream: Connection | None = None
        try:
            self._questions = Connection(self._address, self._security)
        except (OSError, ValueError) as error:
            raise ClusterLostError(
                f"cannot {action}: no scheduler answers at {self._address}: {error}; start one by "
                "dask scheduler, and give its address"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # The scheduler forgets what a client wants whose stream ends.
        self._questions.close()
        if self._stream is not None:
            self._stream.close()

    def require_open(self, action: str) -> None:
        """Refuse to go on where the client of Dask that was given is closed.

        Raises:
            ClusterLostError: It is.
        """
        if self._client is not None and self._client.status in ("closing", "closed"):
            raise ClusterLostError(
                f"cannot {action}: the client of the cluster is closed; connect to the cluster "
                "again and run with the same folder"
            )

    def workers(self) -> dict[str, Mapping[str, Any]]:
        """What the scheduler says of every worker, by address.

        Raises:
            OSError: The scheduler does not answer.
            MalformedBytesError: It answers something else.
        """
        found = self._identity().get("workers")
        if not isinstance(found, Mapping):
            raise _not_of_dask("workers")
        return {address: each for address, each in found.items() if isinstance(each, Mapping)}

    def dashboard(self) -> str | None:
        """The address of Dask's dashboard, where there is one."""
        services = self._identity().get("services")
        port = services.get("dashboard") if isinstance(services, Mapping) else None
        if type(port) is not int or not 0 < port <= _MOST_PORT:
            return None
        host = self._address.partition("://")[2].rpartition(":")[0]
        link: Callable[[str, int], str] = format_dashboard_link
        return link(host, port)

    def answers(self, question: Callable[..., bytes], *args: Any) -> dict[str, bytes]:
        """The bytes that a function returns on every worker, by the worker's address.

        Raises:
            OSError: Scheduler or a worker does not answer.
            MalformedBytesError: One answers something else.
            WorkerFailedError: The function failed there.
        """
        found = self._ask(op="broadcast", msg=_calling(question, *args))
        if not isinstance(found, Mapping):
            raise _not_of_dask("answers of workers")
        return {
            readable(address): _result(each, f"the answer of {readable(address)}")
            for address, each in found.items()
        }

    def own_answer(self, question: Callable[..., bytes], *args: Any) -> bytes:
        """The bytes that a function returns on the scheduler; it raises what `answers` raises."""
        calling = _calling(question, *args)
        return _result(self._ask(**{**calling, "op": "run_function"}), "the scheduler's answer")

    def submit(
        self, tasks: Mapping[Any, Any], wanted: Collection[Any], annotations: Mapping[str, Any]
    ) -> None:
        """Let tasks be done, and tell of those wanted.

        Args:
            tasks: The tasks by key.
            wanted: Keys of theirs.
            annotations: How they are to be done, as `dask.annotate` takes it.

        Raises:
            OSError: The scheduler does not answer.
            MalformedBytesError: It answers something else.
        """
        # What an attempt before has asked for is forgotten with its stream.
        if self._stream is not None:
            self._stream.close()
        self._stream = stream = Connection(self._address, self._security)
        versions: Callable[[], Any] = get_versions
        name = f"cloakwork-{uuid4().hex}"
        stream.send(
            {"op": "register-client", "client": name, "reply": False, "versions": versions()}
        )
        graph: Any = LLGExpr
        made: Callable[..., Any] = serialize
        serialized: Callable[..., Any] = Serialized
        packed: Callable[[Any], Any] = ToPickle
        as_one: Callable[[Any], Any] = to_serialize
        stream.send(
            {
                "op": "update-graph",
                "expr_ser": serialized(*made(as_one(graph(dict(tasks))), on_error="raise")),
                "keys": set(wanted),
                "internal_priority": None,
                "submitting_task": None,
                "fifo_timeout": "60s",
                "actors": None,
                "code": packed(()),
                "annotations": packed(dict(annotations)),
                "span_metadata": packed({"collections": [{"type": "low-level-graph"}]}),
            }
        )

    def news(self, seconds: float) -> Iterator[Mapping[Any, Any]]:
        """What the scheduler tells of tasks, within some seconds.

        Raises:
            OSError: The scheduler is gone.
            MalformedBytesError: It sends something else.
        """
        assert self._stream is not None
        found = self._stream.received(seconds)
        for each in found if isinstance(found, tuple) else (found,):
            if isinstance(each, Mapping):
                yield each

    def gathered(self, keys: Collection[Any]) -> dict[Any, Any]:
        """What tasks have given back, as far as it is there, sealed.

        Raises:
            OSError: The scheduler does not answer.
            MalformedBytesError: It answers something else.
        """
        left = list(keys)
        found: dict[Any, Any] = {}
        while left:
            some, left = left[:_AT_A_TIME], left[_AT_A_TIME:]
            answer = self._ask(op="gather", keys=some)
            data, gone = answer.get("data", {}), answer.get("keys", ())
            if not isinstance(data, Mapping) or not isinstance(gone, tuple):
                raise _not_of_dask("results")
            found.update({key: data[key] for key in some if key in data})
            # Without those that are gone it gives the others.
            others = [key for key in some if key not in gone]
            if not data and 0 < len(others) < len(some):
                left = others + left
        return found

    def why(self, key: Any) -> str:
        """What the scheduler has noted of a task that failed; empty where it has nothing."""

        def noted(key: Any, dask_scheduler: Any) -> bytes:
            task = dask_scheduler.tasks[key]
            blamed = task.exception_blame or task
            return str(blamed.exception_text or "").encode()

        with suppress(OSError, MalformedBytesError, WorkerFailedError):
            return readable(self.own_answer(noted, key).decode(errors="replace"))
        return ""

    def _identity(self) -> Mapping[Any, Any]:
        return self._ask(op="identity", n_workers=-1)

    def _ask(self, **question: Any) -> Mapping[Any, Any]:
        """What the scheduler answers."""
        self._questions.send({**question, "reply": True})
        found = self._questions.received()
        if found is None:
            raise TimeoutError("the scheduler is silent")
        if not isinstance(found, Mapping):
            raise _not_of_dask(question["op"])
        if found.get("status") == "uncaught-error":
            raise ConnectionError(readable(found.get("exception_text")))
        return found


def _calling(question: Callable[..., bytes], *args: Any) -> dict[str, Any]:
    """The message by which a server of Dask's calls a function."""
    packed: Callable[[Any], bytes] = pickle.dumps
    return {"op": "run", "function": packed(question), "args": packed(args)}


def _result(found: Any, place: str) -> bytes:
    """The bytes that a function has returned elsewhere."""
    if isinstance(found, Mapping) and found.get("status") == "OK" and "result" in found:
        return plain_bytes(found["result"], place)
    reason = readable(found.get("exception_text")) if isinstance(found, Mapping) else ""
    raise WorkerFailedError(
        f"cannot read {place}: expected bytes, got {reason or 'something else'}; look which "
        "version of Dask and what else runs on the cluster"
    )


def _not_of_dask(what: str) -> MalformedBytesError:
    return MalformedBytesError(
        f"cannot read what a scheduler answers: expected {what}, got something else; look which "
        "version of Dask runs there"
    )
