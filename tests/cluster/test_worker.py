"""What a worker does by itself: files that it reads and writes, and what it refuses."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cloakwork.cluster import worker
from cloakwork.cluster.answers import Failure
from cloakwork.cluster.cut import cut
from cloakwork.cluster.evaluator_files import kept_in
from cloakwork.cluster.forms import form_of
from cloakwork.cluster.grains import read_values_file
from cloakwork.cluster.inputs import InputFiles
from cloakwork.cluster.job import Job, Order, order, own_version
from cloakwork.cluster.moved import Moved
from cloakwork.cluster.work import Network
from cloakwork.cluster.worker import Send, done
from cloakwork.errors import ClusterFolderError, MalformedBytesError, WorkerVersionError
from cloakwork.runtime.folder import Folder
from cloakwork.runtime.stored import parts_of, read_part, write_values
from tests.families import ENCRYPTED, TENSORS, Family

FREE = Network(1e-7, 1e-7, 1e12)
every_family = pytest.mark.parametrize("family", ENCRYPTED, ids=str)


@pytest.fixture(autouse=True)
def in_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process be a worker of one thread that has read no keys."""
    memory = SimpleNamespace(memory_limit=None)
    here = SimpleNamespace(state=SimpleNamespace(nthreads=1), memory_manager=memory)
    monkeypatch.setattr(worker, "get_worker", lambda: here)
    monkeypatch.setattr(worker, "_input_files", InputFiles(1 << 30))
    monkeypatch.setattr(worker, "_holders", type(worker._holders)())


def orders(family: Family, folder: Folder) -> list[Order]:
    """The grains of a program, with all of its files but theirs."""
    _, evaluator = family.keys()
    keys = kept_in(folder, evaluator, "test")
    files = folder.within("job")
    files.make()
    given = family.encrypted()
    (records,) = given.records()
    parts = [
        (numbers, partial(picked, records, numbers))
        for numbers in parts_of(family.program, records)
    ]
    stored = write_values(files, "input-", "mark", given, [parts])
    job = Job("0" * 32, keys, folder, files, True, own_version(), (stored.source(0),))
    made = cut(form_of(family.program).work, 2, 6, FREE)
    return [order(job, grain, 0) for grain in made.grains]


def picked(records: Any, numbers: Any) -> list[Any]:
    """Some of the records."""
    return [records[number] for number in numbers]


def all_done(of_program: list[Order]) -> list[Any]:
    """What each grain makes, one after the other."""
    found: list[Any] = []
    for each in of_program:
        given = [found[maker].only(values) for maker, values in each.grain.needs]
        found.append(done(each, given))
    return found


@every_family
def test_grains_one_after_the_other_are_the_program(family: Family, tmp_path: Path) -> None:
    client, evaluator = family.keys()
    of_program = orders(family, Folder(str(tmp_path)))
    all_done(of_program)
    files, form = of_program[0].job.files, form_of(family.program)
    values: dict[int, Any] = {}
    for each in of_program:
        if each.grain.results:
            fields = read_part(files, each.results_file, each.job.digest)
            values.update(read_values_file(fields, form))
    (expected,) = client._values(evaluator.run(family.encrypted()), "outputs", "test")
    made, scheme = form.outputs(values), form.scheme
    assert [scheme.dump(each) for each in made] == [scheme.dump(e) for e in expected.values()]


@every_family
def test_what_files_hold_is_not_done_again(family: Family, tmp_path: Path) -> None:
    of_program = orders(family, Folder(str(tmp_path)))
    first = all_done(of_program)
    form = form_of(family.program)
    for each, made in zip(of_program, first, strict=True):
        again = done(each, [])
        assert isinstance(again, Moved)
        assert again.receipt.operations == ()
        assert made.receipt.operations or family.name == "bits"
        kept, known = again.values(form), made.values(form)
        assert kept.keys() == known.keys()
        assert all(form.scheme.dump(kept[each]) == form.scheme.dump(known[each]) for each in known)


def test_some_values_are_sent(tmp_path: Path) -> None:
    of_program = orders(TENSORS, Folder(str(tmp_path)))
    form = form_of(TENSORS.program)
    for each, made in zip(of_program, all_done(of_program), strict=True):
        sent = Send(each.grain.gives[:1])(made)
        assert isinstance(sent, Moved)
        assert sent.values(form).keys() == {*each.grain.gives[:1]}


def raised(of_grain: Order) -> Failure:
    """What a grain has raised."""
    found = done(of_grain, [])
    assert isinstance(found, Failure)
    return found


def test_what_was_raised_is_handed_on(tmp_path: Path) -> None:
    of_program = orders(TENSORS, Folder(str(tmp_path)))
    failure = Failure("StorageFullError", "cannot write", ("a note",))
    assert done(of_program[0], [failure]) is failure
    assert Send((1,))(failure) is failure
    assert not list((tmp_path / "job").glob("results-*"))


def test_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = orders(TENSORS, Folder(str(tmp_path)))[0]
    monkeypatch.setattr(worker, "own_version", lambda: "0.0.1")
    with pytest.raises(WorkerVersionError, match=r"this worker has cloakwork 0\.0\.1; install one"):
        raise raised(first).raised()


@pytest.mark.parametrize("what", ["evaluator-*", "*/input-*"])
def test_a_file_that_is_missing_is_named(what: str, tmp_path: Path) -> None:
    first = orders(TENSORS, Folder(str(tmp_path)))[0]
    for path in tmp_path.glob(what):
        path.unlink()
    with pytest.raises(ClusterFolderError, match="give a folder that all machines of the run see"):
        raise raised(first).raised()


@pytest.mark.parametrize("what", ["evaluator-*", "*/input-*"])
def test_a_damaged_file_is_refused(what: str, tmp_path: Path) -> None:
    first = orders(TENSORS, Folder(str(tmp_path)))[0]
    for path in tmp_path.glob(what):
        path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(MalformedBytesError):
        raise raised(first).raised()


def test_a_process_keeps_the_keys_of_two_evaluators(tmp_path: Path) -> None:
    _, evaluator = TENSORS.keys()
    folder = Folder(str(tmp_path))
    keys = kept_in(folder, evaluator, "test")
    for number in range(4):
        (tmp_path / f"evaluator-{number}").write_bytes((tmp_path / keys).read_bytes())
    jobs = [
        Job("0" * 32, f"evaluator-{each}", folder, folder, True, own_version()) for each in range(4)
    ]
    found = [worker.evaluator_of_job(job) for job in jobs]
    assert len({id(each) for each in found}) == 4
    assert list(worker._holders) == ["evaluator-2", "evaluator-3"]
    assert worker.evaluator_of_job(jobs[3]) is found[3]
    assert worker.evaluator_of_job(jobs[0]) is not found[0]
