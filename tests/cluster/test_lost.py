"""Every way in which a cluster of Dask is gone has one name."""

from __future__ import annotations

import os
import signal
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgpack
import pytest
from distributed import Client
from distributed.security import Security

import cloakwork as cw
from cloakwork.cluster import checks, dispatch, placing, wire
from cloakwork.cluster import job as jobs
from cloakwork.cluster.scheduler import Scheduler
from cloakwork.cluster.wire import Connection, Sealed
from cloakwork.errors import ClusterLostError, MalformedBytesError
from tests.cluster.local import FREE, holders, in_process, local_cluster, process_ids
from tests.cluster.test_failures import at_stage, scheduler


def frame_bytes(*frames: bytes) -> bytes:
    """A message of frames, as Dask sends it."""
    counts = struct.pack(f"{len(frames) + 1}Q", len(frames), *map(len, frames))
    data = counts + b"".join(frames)
    return struct.pack("Q", len(data)) + data


def message_bytes(message: Any) -> bytes:
    """A message of one frame."""
    return frame_bytes(msgpack.packb(message))


@contextmanager
def server(*answers: bytes) -> Iterator[str]:
    """The address of a server that shakes hands, and then gives one answer after the other."""
    listener = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def serve() -> None:
        with suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                connection.sendall(message_bytes({"compression": None}))
                for answer in answers:
                    connection.sendall(answer)
                ended.wait()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"tcp://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        ended.set()
        # A listener in whose queue nobody is would be waited for.
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def received(*answers: bytes) -> Any:
    """What comes of a server's first answer."""
    configured: Callable[[], Security] = Security
    with server(*answers) as address:
        connection = Connection(address, configured())
        try:
            return connection.received(5.0)
        finally:
            connection.close()


def test_what_says_that_it_is_a_pickle_stays_bytes(tmp_path: Path) -> None:
    evil = b"cposix\nsystem\n(S'touch " + str(tmp_path / "made").encode() + b"'\ntR."
    header = msgpack.packb({"num-sub-frames": 1, "pickled-obj": evil, "serializer": "pickle"})
    for name in ("__Pickled__", "__Serialized__"):
        found = received(frame_bytes(msgpack.packb({"result": {name: 1}}), header, evil))
        assert isinstance(found["result"], Sealed)
        assert b"".join(found["result"].frames) == evil
    enum = {"__Enum__": True, "__module__": "os", "__name__": "path", "name": "join"}
    assert received(message_bytes(enum)) == enum
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "answer",
    [
        struct.pack("QQQ", 1 << 60, 1, 1 << 60),
        struct.pack("QQ", 8, 1 << 60),
        struct.pack("QQ", 8, 0),
        struct.pack("QQQ", 1 << 40, 1, 8) + bytes(8),
        frame_bytes(b"\xc1"),
        frame_bytes(b"\x91" * 5000),
        frame_bytes(msgpack.packb([1]) + b"more"),
        frame_bytes(msgpack.packb({"__Serialized__": 7})),
        frame_bytes(msgpack.packb({"__Serialized__": 1}), msgpack.packb({"num-sub-frames": 9})),
        frame_bytes(msgpack.packb({"__Pickled__": 1}), msgpack.packb([])),
        frame_bytes(msgpack.packb({"__Set__": True})),
    ],
)
def test_what_is_not_a_message_is_refused(answer: bytes) -> None:
    with pytest.raises(MalformedBytesError, match="expected a message of Dask's protocol"):
        received(answer)


def test_a_message_that_does_not_go_on_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_MESSAGE_SECONDS", 0.3)
    with pytest.raises(TimeoutError):
        received(message_bytes([1])[:-1])


@pytest.mark.parametrize("answer", [3, [], {}, {"workers": 3}, {"status": "uncaught-error"}])
def test_a_scheduler_that_answers_something_else_is_refused(answer: Any) -> None:
    with (
        server(message_bytes(answer)) as address,
        pytest.raises((ClusterLostError, MalformedBytesError)),
        Scheduler(address, "test") as asked,
    ):
        checks.workers_of(asked, "test")


@pytest.fixture
def finely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut short work into many grains, all of whose values are kept."""
    monkeypatch.setattr(placing, "Network", lambda: FREE)
    monkeypatch.setattr(jobs, "_WRITTEN_PER_SECOND", 1e15)


@pytest.mark.usefixtures("finely")
def test_a_client_that_is_closed_in_the_middle_ends_the_run(
    cluster: Client, tmp_path: Path
) -> None:
    _, evaluator = holders()
    sent, _ = in_process()
    connect: Any = Client
    connected: Any = cluster
    own = connect(connected.scheduler.address, set_as_default=False)
    with (
        at_stage(tmp_path, 1, own.close),
        pytest.raises(ClusterLostError, match="the client of the cluster is closed"),
    ):
        evaluator.run(sent, on=cw.cluster.Dask(own, tmp_path))


# Where a cluster is lost: what is asked when it is.
MOMENTS = ("require_versions", "workers_of", "require_folder", "run_jobs")


def kill_at(moment: str, kill: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Kill something when a run comes to a moment, and let the run go on."""
    from cloakwork.cluster import on_cluster  # noqa: PLC0415

    asked = getattr(on_cluster, moment)

    def killed(*args: Any) -> Any:
        kill()
        return asked(*args)

    monkeypatch.setattr(on_cluster, moment, killed)


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.usefixtures("finely")
def test_a_scheduler_that_is_killed_is_lost(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, evaluator = holders()
    sent, _ = in_process()
    connect: Any = Client
    with scheduler(tmp_path) as (process, notes):
        with connect(scheduler_file=notes) as client:
            client.wait_for_workers(1, timeout=60)
            address = client.scheduler.address

        def kill() -> None:
            process.kill()
            process.wait()

        kill_at(moment, kill, monkeypatch)
        with pytest.raises(ClusterLostError, match="connect to one again and run with the same"):
            evaluator.run(sent, on=cw.cluster.Dask(address, tmp_path / "jobs"))


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.usefixtures("finely")
def test_workers_that_are_all_killed_are_lost(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, evaluator = holders()
    sent, _ = in_process()
    monkeypatch.setattr(dispatch, "_LOOK", 0.2)
    monkeypatch.setattr(dispatch, "_LONELY", 1.0)
    with local_cluster(2) as cluster:
        workers: Any = cluster
        processes = process_ids(cluster)

        def kill() -> None:
            # Not started again by those who watch them.
            workers.cluster.scale(0)
            for each in processes:
                with suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)

        kill_at(moment, kill, monkeypatch)
        with pytest.raises(ClusterLostError):
            evaluator.run(sent, on=cw.cluster.Dask(workers.scheduler.address, tmp_path))
