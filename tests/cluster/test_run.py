"""Programs on two processes: the same bytes, files that are found again, refusals by name."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from distributed import Client
from distributed.comm.core import CommClosedError

import cloakwork as cw
from cloakwork.cluster import checks, evaluator_files, on_cluster, placing
from cloakwork.cluster import job as jobs
from cloakwork.cluster.evaluator_files import file_name, kept_in, own_folder
from cloakwork.cluster.forms import form_of
from cloakwork.cluster.job import own_version
from cloakwork.cluster.scheduler import Scheduler
from cloakwork.cluster.simulation import best_cut, simulated
from cloakwork.errors import (
    ClusterFolderError,
    ClusterLostError,
    InvalidArgumentError,
    MemoryBudgetError,
    MissingDependencyError,
    MissingKeyError,
    RunCancelledError,
    StorageFullError,
    WorkerVersionError,
)
from cloakwork.runtime import encrypted
from cloakwork.runtime.evaluator import Evaluator
from cloakwork.runtime.folder import Folder
from tests.cluster.local import EXPECTED, FREE, holders, in_process, local_cluster, program
from tests.families import ENCRYPTED, FAMILIES, NETWORKS, TENSORS, Family, same
from tests.runtime.test_client import secret_bytes, share_16_bytes

every_family = pytest.mark.parametrize("family", ENCRYPTED, ids=str)


@pytest.fixture
def finely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut short work into many grains, all of whose values are kept."""
    monkeypatch.setattr(placing, "Network", lambda: FREE)
    monkeypatch.setattr(jobs, "_WRITTEN_PER_SECOND", 1e15)


@every_family
def test_results_are_those_of_a_run_in_this_process(family: Family, cluster: Client) -> None:
    client, evaluator = family.keys()
    made = evaluator.run(family.encrypted(), on=cw.cluster.Dask(cluster))
    assert made.to_bytes() == evaluator.run(family.encrypted()).to_bytes()
    assert family.is_right(client.decrypt(made))


@every_family
@pytest.mark.usefixtures("finely")
def test_however_it_is_cut(family: Family, cluster: Client) -> None:
    _, evaluator = family.keys()
    made = evaluator.run(family.encrypted(), on=cw.cluster.Dask(cluster))
    assert made.to_bytes() == evaluator.run(family.encrypted()).to_bytes()


@pytest.mark.usefixtures("finely")
def test_both_workers_do_a_part(cluster: Client) -> None:
    client, evaluator = holders()
    sent, expected = in_process()
    profile = cw.Profile()
    made = evaluator.run(sent, on=cw.cluster.Dask(cluster), profile=profile)
    assert made.to_bytes() == expected
    assert same(client.decrypt(made), EXPECTED, 2.0**-15)
    assert {each.thread for each in profile.operations} == {0, 1}
    here = cw.Profile()
    evaluator.run(sent, profile=here)
    numbers = sorted(each.number for each in profile.operations)
    assert numbers == sorted(each.number for each in here.operations)
    assert profile.seconds > 0
    assert profile.peak_bytes > 0


@pytest.mark.usefixtures("finely")
def test_several_runs_go_side_by_side(cluster: Client) -> None:
    client, evaluator = NETWORKS.keys()
    images = np.linspace(-1, 1, 15).reshape(3, 5)
    sent = client.encrypt(images)
    assert sent.runs == 2
    made = evaluator.run(sent, on=cw.cluster.Dask(cluster))
    assert made.to_bytes() == evaluator.run(sent).to_bytes()
    assert (made.runs, made.count) == (2, 3)


def forget_transfers(dask_worker: Any) -> None:
    """Let a worker's log of what came to it begin anew."""
    dask_worker.transfer_incoming_log.clear()


def transferred(dask_worker: Any) -> int:
    """Bytes of the values that came to a worker from others."""
    return sum(each["total"] for each in dask_worker.transfer_incoming_log)


@pytest.mark.usefixtures("finely")
def test_what_moves_is_what_the_model_says(cluster: Client, tmp_path: Path) -> None:
    _, evaluator = holders()
    sent, _ = in_process()
    connected: Any = cluster
    connected.run(forget_transfers)
    evaluator.run(sent, on=cw.cluster.Dask(cluster, tmp_path))
    work = form_of(evaluator.program).work
    modelled = simulated(work, best_cut(work, 2, FREE), FREE)
    assert modelled.messages >= 4
    assert sum(connected.run(transferred).values()) == pytest.approx(modelled.moved_bytes, rel=0.05)


def test_a_run_without_a_folder_leaves_its_keys_alone(cluster: Client) -> None:
    client, evaluator = TENSORS.keys()
    evaluator.run(TENSORS.encrypted(), on=cw.cluster.Dask(cluster))
    left = [each.name for each in Path(own_folder(evaluator)).iterdir()]
    assert file_name(evaluator) in left
    assert all(each.startswith(file_name(evaluator)) for each in left)
    whole = client.evaluator()
    evaluator.run(TENSORS.encrypted(), on=cw.cluster.Dask(cluster))
    folder = Path(own_folder(whole))
    del whole
    assert not folder.exists()


@pytest.mark.usefixtures("finely")
def test_what_is_done_is_found(cluster: Client, tmp_path: Path) -> None:
    _, evaluator = holders()
    sent, expected = in_process()
    first, second = cw.Profile(), cw.Profile()
    evaluator.run(sent, on=cw.cluster.Dask(cluster, tmp_path), profile=first)
    (job,) = (each for each in tmp_path.iterdir() if each.is_dir())
    assert {each.name.split("-")[0] for each in job.iterdir()} == {"cut", "results"}
    again = evaluator.run(sent, on=cw.cluster.Dask(cluster, str(tmp_path)), profile=second)
    assert again.to_bytes() == expected
    assert first.operations
    assert second.operations == []
    # Of results that are missing only what they take is done again.
    results = sorted(job.glob("results-*"))
    results[-1].unlink()
    third = cw.Profile()
    made = evaluator.run(sent, on=cw.cluster.Dask(cluster, tmp_path), profile=third)
    assert made.to_bytes() == expected
    assert 0 < len(third.operations) < len(first.operations)


def test_an_evaluator_from_a_file_finds_what_another_did(cluster: Client, tmp_path: Path) -> None:
    _, evaluator = TENSORS.keys()
    made = evaluator.run(TENSORS.encrypted(), on=cw.cluster.Dask(cluster, tmp_path / "jobs"))
    evaluator.save(tmp_path / "evaluator")
    again = cw.load(tmp_path / "evaluator", cw.Evaluator, insecure=True)
    sent = cw.Encrypted.from_bytes(TENSORS.encrypted().to_bytes())
    profile = cw.Profile()
    found = again.run(sent, on=cw.cluster.Dask(cluster, tmp_path / "jobs"), profile=profile)
    assert found.to_bytes() == made.to_bytes()
    assert profile.operations == []
    files = [each.name for each in (tmp_path / "jobs").iterdir() if each.is_file()]
    assert all(each.startswith(file_name(evaluator)) for each in files)


def count_reads() -> None:
    """Let this process note the files of evaluators that it reads from now on."""
    counts = SimpleNamespace(read=getattr(evaluator_files, "read_part"), names=[])  # noqa: B009

    def counted(folder: Any, name: str, mark: str) -> Any:
        counts.names.append(name)
        return counts.read(folder, name, mark)

    setattr(evaluator_files, "counts", counts)  # noqa: B010
    setattr(evaluator_files, "read_part", counted)  # noqa: B010


def stop_counting() -> list[str]:
    """Which this process has read since."""
    counts = getattr(evaluator_files, "counts")  # noqa: B009
    setattr(evaluator_files, "read_part", counts.read)  # noqa: B010
    return list(counts.names)


@pytest.mark.usefixtures("finely")
def test_each_process_reads_the_keys_once(cluster: Client, tmp_path: Path) -> None:
    client, evaluator = program().keygen()
    connected: Any = cluster
    connected.run(count_reads)
    for _ in range(3):
        evaluator.run(client.encrypt(*in_clear()), on=cw.cluster.Dask(cluster, tmp_path))
    for names in connected.run(stop_counting).values():
        assert names
        assert len(names) == len(set(names))


def in_clear() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Arguments of the program, others each time."""
    rng = np.random.default_rng()
    return rng.uniform(-1, 1, (8, 128)), rng.uniform(-1, 1, (8, 128))


def overwritten(data: bytes) -> bytes:
    """With some other bytes in the middle."""
    middle = len(data) // 2
    return data[:middle] + bytes(50) + data[middle + 50 :]


@every_family
@pytest.mark.usefixtures("finely")
def test_no_key_of_the_client_is_in_a_file_or_a_message(
    family: Family, cluster: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed.comm.tcp import TCP  # noqa: PLC0415

    sent_messages: list[bytes] = []
    write: Callable[..., Any] = TCP.write

    async def noted(self: Any, message: Any, *args: Any, **named: Any) -> Any:
        from distributed.comm.utils import to_frames  # noqa: PLC0415

        frames: Any = to_frames
        sent_messages.extend(bytes(frame) for frame in await frames(message))
        return await write(self, message, *args, **named)

    monkeypatch.setattr(TCP, "write", noted)
    monkeypatch.setattr(placing.ReadyJob, "remove_kept", lambda self: None)
    client, evaluator = family.keys()
    evaluator.run(family.encrypted(), on=cw.cluster.Dask(cluster, tmp_path))
    secret = secret_bytes(client)
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) >= 4
    assert sent_messages
    for data in (*files, *sent_messages):
        assert not share_16_bytes(data, secret)


def test_what_is_no_cluster_is_refused(cluster: Client) -> None:
    _, evaluator = TENSORS.keys()
    sent = TENSORS.encrypted()
    wrongs: tuple[Any, ...] = (3, b"tcp://127.0.0.1:8786", object())
    for wrong in wrongs:
        with pytest.raises(InvalidArgumentError, match="expected client to be a distributed"):
            evaluator.run(sent, on=cw.cluster.Dask(wrong))
    with pytest.raises(InvalidArgumentError, match="on a cluster each worker has"):
        evaluator.run(sent, on=cw.cluster.Dask(cluster), threads=2)
    folders: tuple[Any, ...] = (3, "", "nothing://bucket/jobs")
    for folder in folders:
        with pytest.raises(InvalidArgumentError, match="folder"):
            evaluator.run(sent, on=cw.cluster.Dask(cluster, folder))


def test_a_closed_client_is_refused(cluster: Client) -> None:
    _, evaluator = TENSORS.keys()
    connect: Any = Client
    connected: Any = cluster
    closed = connect(connected.scheduler.address, set_as_default=False)
    closed.close()
    with pytest.raises(ClusterLostError, match="is closed; connect to the cluster again"):
        evaluator.run(TENSORS.encrypted(), on=cw.cluster.Dask(closed))


@pytest.mark.parametrize("family", [each for each in FAMILIES if each.clear], ids=str)
def test_what_hides_nothing_runs_in_this_process(family: Family, cluster: Client) -> None:
    _, evaluator = family.keys()
    with pytest.raises(InvalidArgumentError, match="run it in this process"):
        evaluator.run(family.encrypted(), on=cw.cluster.Dask(cluster))


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, cluster: Client) -> None:
    _, evaluator = TENSORS.keys()
    monkeypatch.setattr(encrypted, "find_spec", lambda name: name != "distributed" or None)
    with pytest.raises(MissingDependencyError, match=r"Dask; install it by pip install 'cloak"):
        evaluator.run(TENSORS.encrypted(), on=cw.cluster.Dask(cluster))


def test_a_worker_of_another_version_is_refused(
    monkeypatch: pytest.MonkeyPatch, cluster: Client
) -> None:
    _, evaluator = TENSORS.keys()
    own = own_version()
    monkeypatch.setattr(checks, "own_version", lambda: "9.9")
    with pytest.raises(
        WorkerVersionError, match=rf"expected cloakwork 9\.9 everywhere, 3 of 3 .* has {own}"
    ):
        evaluator.run(TENSORS.encrypted(), on=cw.cluster.Dask(cluster))


@pytest.mark.parametrize("failures", [1, 2, 3])
def test_a_worker_that_is_lost_while_it_is_asked_is_done_without(
    monkeypatch: pytest.MonkeyPatch, cluster: Client, failures: int
) -> None:
    _, evaluator = TENSORS.keys()
    left = [CommClosedError("the worker has gone")] * failures
    ask: Callable[..., Any] = Scheduler.answers

    def asked(*args: Any) -> Any:
        if left:
            raise left.pop()
        return ask(*args)

    monkeypatch.setattr(Scheduler, "answers", asked)
    if failures == 3:
        with pytest.raises(ClusterLostError, match="the worker has gone"):
            evaluator.run(TENSORS.encrypted(), on=cw.cluster.Dask(cluster))
        return
    made = evaluator.run(TENSORS.encrypted(), on=cw.cluster.Dask(cluster))
    assert made.to_bytes() == evaluator.run(TENSORS.encrypted()).to_bytes()


def test_keys_that_lack_some_are_refused(cluster: Client) -> None:
    client, evaluator = TENSORS.keys()
    none = client._key.evaluation_keys(
        relinearisation_level=None, rotations={}, conjugation_level=None
    )
    poor = Evaluator(evaluator.program, none, evaluator._key_id)
    with pytest.raises(MissingKeyError, match=r"the evaluation keys lack \d+ of \d+ keys, of rot"):
        poor.run(TENSORS.encrypted(), on=cw.cluster.Dask(cluster))


def test_a_folder_that_workers_do_not_see_is_refused(cluster: Client) -> None:
    _, evaluator = TENSORS.keys()
    with pytest.raises(ClusterFolderError, match=r"2 of 2 workers, .* give a folder that all"):
        evaluator.run(TENSORS.encrypted(), on=cw.cluster.Dask(cluster, "memory://jobs"))


def test_a_folder_without_room_is_refused(
    monkeypatch: pytest.MonkeyPatch, cluster: Client, tmp_path: Path
) -> None:
    _, evaluator = TENSORS.keys()
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=1000))
    with pytest.raises(StorageFullError, match=r"its files take \d+ bytes, .* has \d+ free"):
        evaluator.run(TENSORS.encrypted(), on=cw.cluster.Dask(cluster, tmp_path))


def test_workers_without_memory_are_refused(
    monkeypatch: pytest.MonkeyPatch, cluster: Client
) -> None:
    _, evaluator = TENSORS.keys()
    few = checks.Workers(("tcp://1.2.3.4:5",), ((1000, 1),))
    monkeypatch.setattr(on_cluster, "workers_of", lambda *args: few)
    with pytest.raises(MemoryBudgetError, match="start workers with fewer threads or a larger"):
        evaluator.run(TENSORS.encrypted(), on=cw.cluster.Dask(cluster))


def test_the_evaluators_memory_limit_is_each_workers(cluster: Client, tmp_path: Path) -> None:
    client, _ = holders()
    sent, _ = in_process()
    evaluator = client.evaluator()
    evaluator.memory_limit = 1000
    with pytest.raises(MemoryBudgetError, match=r"allow memory_limit=\d+ or more"):
        evaluator.run(sent, on=cw.cluster.Dask(cluster, tmp_path))
    evaluator.memory_limit = 4_000_000
    made = evaluator.run(sent, on=cw.cluster.Dask(cluster, tmp_path))
    assert same(client.decrypt(made), EXPECTED, 2.0**-15)


def test_a_memory_limit_that_was_restored_is_not_each_workers(
    cluster: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, _ = holders()
    sent, _ = in_process()
    monkeypatch.setattr("cloakwork.runtime.slot_runner.physical_bytes", lambda: 1000)
    evaluator = client.evaluator()
    evaluator.memory_limit = None
    made = evaluator.run(sent, on=cw.cluster.Dask(cluster, tmp_path))
    assert same(client.decrypt(made), EXPECTED, 2.0**-15)


@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[:-100], overwritten])
def test_a_damaged_file_of_the_evaluator_is_made_again(
    damage: Callable[[bytes], bytes], cluster: Client, tmp_path: Path
) -> None:
    client, evaluator = program().keygen()
    sent = client.encrypt(*in_clear())
    expected = evaluator.run(sent).to_bytes()
    file = tmp_path / kept_in(Folder(str(tmp_path)), evaluator, "test")
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert evaluator.run(sent, on=cw.cluster.Dask(cluster, tmp_path)).to_bytes() == expected
    assert file.read_bytes() == whole


def test_a_folder_in_place_of_the_evaluators_file_is_to_be_removed(
    cluster: Client, tmp_path: Path
) -> None:
    client, evaluator = program().keygen()
    (tmp_path / file_name(evaluator)).mkdir()
    with pytest.raises(ClusterFolderError, match="Is a directory; remove what is there"):
        evaluator.run(client.encrypt(*in_clear()), on=cw.cluster.Dask(cluster, tmp_path))


def test_a_cluster_without_workers_is_refused() -> None:
    _, evaluator = TENSORS.keys()
    with (
        local_cluster(0) as nobody,
        pytest.raises(ClusterLostError, match="the cluster has no workers"),
    ):
        evaluator.run(TENSORS.encrypted(), on=cw.cluster.Dask(nobody))


@pytest.mark.usefixtures("finely")
def test_a_run_is_cancelled(cluster: Client, tmp_path: Path) -> None:
    _, evaluator = holders()
    sent, expected = in_process()
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(RunCancelledError, match=r"it was cancelled after \d+ of \d+ grains"):
        evaluator.run(sent, on=cw.cluster.Dask(cluster, tmp_path), cancel=cancel)
    made = evaluator.run(sent, on=cw.cluster.Dask(cluster, tmp_path))
    assert made.to_bytes() == expected


def test_what_a_task_raises_is_raised_by_name(
    monkeypatch: pytest.MonkeyPatch, cluster: Client
) -> None:
    _, evaluator = TENSORS.keys()
    # The workers read keys that lack what the program needs, and nobody looks before.
    client, _ = TENSORS.keys()
    none = client._key.evaluation_keys(
        relinearisation_level=None, rotations={}, conjugation_level=None
    )
    poor = Evaluator(evaluator.program, none, evaluator._key_id)
    monkeypatch.setattr(on_cluster, "require_all_keys", lambda *args: None)
    with pytest.raises(MissingKeyError) as raised:
        poor.run(TENSORS.encrypted(), on=cw.cluster.Dask(cluster))
    assert any("operation %" in note for note in raised.value.__notes__)
