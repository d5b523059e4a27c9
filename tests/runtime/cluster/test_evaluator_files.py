"""The evaluator in a folder: each worker reads the keys that its tasks need, and no others."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

import cloakwork as cw
from benchmarks.cluster.jobs import _lenet
from cloakwork.errors import ClusterFolderError, InvalidArgumentError, MalformedBytesError
from cloakwork.runtime.cluster import placing
from cloakwork.runtime.cluster.evaluator_files import EvaluatorFiles, is_whole
from cloakwork.runtime.cluster.evaluator_folder import kept_in
from cloakwork.runtime.cluster.folder import Folder
from cloakwork.runtime.cluster.forms import Form, form_of
from cloakwork.runtime.cluster.placing import chosen_cut
from cloakwork.schemes.base import ReadLimits
from tests.families import ENCRYPTED, TENSORS, Family
from tests.runtime.cluster.local import FREE, A, B, holders, in_process, local_cluster, program

ANY = ReadLimits(insecure=True, max_log_n=17)
# What a container takes beside the key in it counts.
MOST = 1.1


@pytest.fixture
def finely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut short work for several workers."""
    monkeypatch.setattr(placing, "Network", lambda: FREE)


def names_of_lanes(of_program: cw.Program, workers: int) -> tuple[Form, list[frozenset[str]]]:
    """What the keys are called that the tasks of each worker use."""
    parts, made = chosen_cut(of_program, workers, None, lambda _: "", "test")
    form = form_of(of_program, parts)
    return form, [form.keys_of(tasks) for tasks in made.tasks_of_lanes()]


def bytes_of(evaluator: cw.Evaluator, names: Collection[str]) -> int:
    """Bytes of the keys of these names, as files hold them."""
    scheme: Any = evaluator.program.scheme
    return sum(
        len(part.to_bytes())
        for own, part in scheme.key_parts(evaluator._key)
        if not own.isdisjoint(names)
    )


def file_bytes(folder: Path) -> int:
    """Bytes of the files of keys."""
    return sum(path.stat().st_size for path in folder.glob("evaluator-*-*"))


@pytest.mark.usefixtures("finely")
def test_a_worker_reads_the_keys_of_its_tasks(tmp_path: Path) -> None:
    client, _ = holders()
    evaluator = client.evaluator()
    name = kept_in(Folder(str(tmp_path)), evaluator, "test")
    _, of_lanes = names_of_lanes(program(), 4)
    assert len(of_lanes) == 4
    whole = bytes_of(evaluator, set().union(*of_lanes))
    assert whole <= file_bytes(tmp_path) <= MOST * whole
    read: list[int] = []
    for names in of_lanes:
        files = EvaluatorFiles(Folder(str(tmp_path)), name, ANY)
        held, nbytes = files.with_keys(names)
        scheme: Any = held.program.scheme
        (had,) = scheme.held_keys(held._key)
        assert had.names() == names
        assert nbytes <= MOST * bytes_of(evaluator, names)
        # What was read once is not read again.
        assert files.with_keys(names) == (held, 0)
        read.append(nbytes)
    assert min(read) < 0.8 * whole


@pytest.mark.usefixtures("finely")
def test_keys_that_come_later_serve_as_well(tmp_path: Path) -> None:
    client, evaluator = holders()
    name = kept_in(Folder(str(tmp_path)), evaluator, "test")
    files = EvaluatorFiles(Folder(str(tmp_path)), name, ANY)
    scheme: Any = program().scheme
    names = sorted(scheme.required_keys(program().body).names())
    read = [files.with_keys([each])[1] for each in names]
    assert all(read)
    held, _ = files.with_keys(names)
    sent, expected = in_process()
    assert held.run(sent).to_bytes() == expected
    assert same_bytes(held, client.evaluator())


def same_bytes(one: cw.Evaluator, other: cw.Evaluator) -> bool:
    """Whether two evaluators have keys of the same names."""
    scheme: Any = one.program.scheme
    (first,), (second,) = scheme.held_keys(one._key), scheme.held_keys(other._key)
    return bool(first.names() == second.names())


@pytest.mark.parametrize("family", ENCRYPTED, ids=str)
def test_every_kind_of_keys_is_read(family: Family, tmp_path: Path) -> None:
    _, evaluator = family.keys()
    name = kept_in(Folder(str(tmp_path)), evaluator, "test")
    files = EvaluatorFiles(Folder(str(tmp_path)), name, ANY)
    form = form_of(family.program)
    held, nbytes = files.with_keys(form.keys_of(range(len(form.work.seconds))))
    assert 0 < nbytes <= file_bytes(tmp_path)
    assert held.run(family.encrypted()).to_bytes() == evaluator.run(family.encrypted()).to_bytes()


@pytest.mark.usefixtures("finely")
def test_what_is_read_is_told(cluster: Client, tmp_path: Path) -> None:
    client, _ = program().keygen()
    evaluator, profile = client.evaluator(), cw.Profile()
    sent = client.encrypt(A, B)
    evaluator.run(sent, on=cw.cluster.Dask(cluster, tmp_path), profile=profile)
    _, of_lanes = names_of_lanes(program(), 2)
    assert profile.key_bytes.keys() == {0, 1}
    for lane, names in enumerate(of_lanes):
        assert profile.key_bytes[lane] <= MOST * bytes_of(evaluator, names)
    told = cw.explain(program(), profile)
    assert told.splitlines()[-1].startswith("keys read by each of the workers, as files: ")
    again = cw.Profile()
    evaluator.run(sent, on=cw.cluster.Dask(cluster, tmp_path), profile=again)
    assert again.key_bytes == {}
    assert "keys read" not in cw.explain(program(), again)


@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(b"PK"), Path.unlink])
def test_a_key_that_is_damaged_or_gone_is_written_again(
    damage: Any, cluster: Client, tmp_path: Path
) -> None:
    body: Any = TENSORS.program.body
    client, evaluator = TENSORS.program.keygen()
    sent = client.encrypt(**TENSORS.arguments)
    folder = Folder(str(tmp_path))
    name = kept_in(folder, evaluator, "test")
    assert is_whole(folder, name)
    file = tmp_path / f"{name}-0"
    whole = file.read_bytes()
    damage(file)
    assert not is_whole(folder, name)
    with pytest.raises((ClusterFolderError, MalformedBytesError)):
        EvaluatorFiles(folder, name, ANY).with_keys(
            TENSORS.program.scheme.required_keys(body).names()
        )
    made = evaluator.run(sent, on=cw.cluster.Dask(cluster, tmp_path))
    assert made.to_bytes() == evaluator.run(sent).to_bytes()
    assert file.read_bytes() == whole


def test_a_plan_tells_the_keys_of_every_worker() -> None:
    first, second = cw.explain(program(), workers=1).splitlines()[-2:]
    assert first.startswith("on 1 worker, of which 1 have tasks: ")
    _, (names,) = names_of_lanes(program(), 1)
    assert form_of(program()).key_bytes(names) == program().key_bytes
    size = second.rpartition(" of ")[2]
    assert second == f"  keys of each  {size} of {size}"
    wrongs: tuple[Any, ...] = (0, -1, 1.5, "two")
    for wrong in wrongs:
        with pytest.raises(InvalidArgumentError, match="workers"):
            cw.explain(program(), workers=wrong)
    encrypted: Any = in_process()[0]
    with pytest.raises(InvalidArgumentError, match="expected a program"):
        cw.explain(encrypted, workers=2)


@pytest.mark.slow
def test_a_product_of_2048_on_4_workers_by_plan() -> None:
    product = cw.compile_matmul((2048, 2048), (2048, 2048))
    form, of_lanes = names_of_lanes(product, 4)
    scheme: Any = product.scheme
    for names in of_lanes:
        # A file has one key, so that what is read is what is needed.
        needed = scheme.required_keys(product.body).named(names)
        assert needed.names() == names
        assert form.key_bytes(names) == scheme.bytes_of(needed) <= product.key_bytes
    # Two of them multiply alone, and send on what others switch.
    assert sum(map(form.key_bytes, of_lanes)) <= 2 * product.key_bytes
    assert "keys of each" in cw.explain(product, workers=4)


@pytest.mark.slow
@pytest.mark.usefixtures("finely")
def test_lenet_on_4_workers(tmp_path: Path) -> None:
    case = _lenet(1)
    client, evaluator = case.program.keygen()
    sent, profile = client.encrypt(*case.arguments), cw.Profile()
    _, of_lanes = names_of_lanes(case.program, 4)
    with local_cluster(4) as cluster:
        made = evaluator.run(sent, on=cw.cluster.Dask(cluster, tmp_path), profile=profile)
    assert made.to_bytes() == evaluator.run(sent).to_bytes()
    for lane, names in enumerate(of_lanes):
        assert profile.key_bytes.get(lane, 0) <= MOST * bytes_of(evaluator, names)
    whole = bytes_of(evaluator, set().union(*of_lanes))
    assert sum(profile.key_bytes.values()) < 0.9 * 4 * whole
