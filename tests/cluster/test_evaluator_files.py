"""The evaluator in a folder: each worker reads the keys that its tasks need, and no others."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

import cloakwork as cw
from benchmarks.cluster.jobs import _lenet
from cloakwork.cluster import placing
from cloakwork.cluster.evaluator_files import EvaluatorFiles, is_whole, kept_in
from cloakwork.cluster.forms import Form, form_of
from cloakwork.cluster.placing import chosen_cut
from cloakwork.errors import (
    ClusterFolderError,
    InvalidArgumentError,
    KeyMismatchError,
    MalformedBytesError,
)
from cloakwork.explain.quantities import size as size_text
from cloakwork.runtime.folder import Folder
from cloakwork.schemes.base import ReadLimits
from tests.cluster.local import FREE, A, B, holders, in_process, local_cluster, program
from tests.families import ENCRYPTED, TENSORS, Family
from tests.products import integer_product, real_product

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
        len(each.to_bytes())
        for own, part in scheme.key_parts(evaluator._key)
        if not own.isdisjoint(names)
        for each in getattr(part, "by_prime", (part,))
    )


def file_bytes(folder: Path) -> int:
    """Bytes of the files of keys."""
    return sum(path.stat().st_size for path in folder.glob("evaluator-*-*"))


@cw.circuit(x=cw.vector(16, bounds=(-9, 9)), y=cw.vector(16, bounds=(-9, 9)))
def distance(x: Any, y: Any) -> Any:
    """The square of the distance of two points, and two sums."""
    squares = sum((a - b) * (a - b) for a, b in zip(x, y, strict=True))
    return [squares, sum(x[:5]), sum(y[3:])]


def square_product(size: int, **options: Any) -> cw.Program:
    """A product of square matrices of integers."""
    spec = cw.Spec((size, size), bound=9)
    return integer_product(spec, spec, **options)


@cache
def integers(name: str) -> cw.Program:
    """A program over integers, modulo one prime or two."""
    if name == "product":
        return square_product(64, log_n=9, insecure=True)
    return distance.compile(bits=40, effort=0.1, log_n=11, insecure=True)


@pytest.mark.usefixtures("finely")
@pytest.mark.parametrize(
    ("make", "workers"),
    [(program, 4), (lambda: integers("product"), 2), (lambda: integers("distance"), 2)],
    ids=["reals", "integers, a product", "integers, a circuit"],
)
def test_a_worker_reads_the_keys_of_its_tasks(
    make: Callable[[], cw.Program], workers: int, tmp_path: Path
) -> None:
    _, evaluator = make().keygen()
    name = kept_in(Folder(str(tmp_path)), evaluator, "test")
    _, of_lanes = names_of_lanes(make(), 4)
    assert len(of_lanes) == workers
    whole = bytes_of(evaluator, set().union(*of_lanes))
    assert whole <= file_bytes(tmp_path) <= MOST * whole
    read: list[int] = []
    for names in of_lanes:
        files = EvaluatorFiles(Folder(str(tmp_path)), name, ANY)
        held, nbytes = files.with_keys(names)
        scheme: Any = held.program.scheme
        for had in scheme.held_keys(held._key):
            # Who needs no key has one, by which it knows whose ciphertexts it adds.
            assert had.names() == names or (not names and len(had.names()) == 1)
        assert nbytes <= MOST * bytes_of(evaluator, names or had.names())
        # What was read once is not read again.
        assert files.with_keys(names) == (held, 0)
        read.append(nbytes)
    assert min(read) < 0.8 * whole


@pytest.mark.usefixtures("finely")
def test_keys_that_come_later_serve_as_well(tmp_path: Path) -> None:
    _, evaluator = holders()
    name = kept_in(Folder(str(tmp_path)), evaluator, "test")
    files = EvaluatorFiles(Folder(str(tmp_path)), name, ANY)
    scheme: Any = program().scheme
    names = sorted(scheme.required_keys(program().body).names())
    read = [files.with_keys([each])[1] for each in names]
    assert all(read)
    held, _ = files.with_keys(names)
    sent, expected = in_process()
    assert held.run(sent).to_bytes() == expected
    assert scheme.held_keys(held._key) == scheme.held_keys(evaluator._key)


def test_keys_of_integers_that_come_later_serve_as_well(tmp_path: Path) -> None:
    client, evaluator = integers("distance").keygen()
    name = kept_in(Folder(str(tmp_path)), evaluator, "test")
    files = EvaluatorFiles(Folder(str(tmp_path)), name, ANY)
    names = sorted(files.program.scheme.held_keys(evaluator._key)[0].names())
    assert len(names) > 2
    assert all(files.with_keys([each])[1] for each in names)
    held, _ = files.with_keys(names)
    sent = client.encrypt(range(-8, 8), [3] * 16)
    assert client.decrypt(held.run(sent)) == [536, -30, 39]
    _, others = integers("distance").keygen()
    with pytest.raises(KeyMismatchError):
        held._extend_keys(others._key)


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
@pytest.mark.parametrize(
    "make",
    [
        lambda: real_product((2048, 2048), (2048, 2048)),
        lambda: _lenet(1).program,
        lambda: integer_product(cw.Spec((4096, 1024), bound=100), cw.Spec((1024, 4096), bound=100)),
    ],
    ids=["2048 cubed", "LeNet", "integers"],
)
def test_keys_on_4_workers_by_plan(make: Callable[[], cw.Program]) -> None:
    planned = make()
    parts, made = chosen_cut(planned, 4, None, lambda _: "", "test")
    form: Any = form_of(planned, parts)
    scheme: Any = planned.scheme
    sizes: list[int] = []
    for tasks in made.tasks_of_lanes():
        values = [value for task in tasks for value in form._bundles[task].values]
        # A key is as long as its level says: what is read serves all tasks.
        needed = scheme.bytes_of(scheme.required_keys(form._body, values))
        sizes.append(form.key_bytes(form.keys_of(tasks)))
        assert sizes[-1] <= MOST * needed
    assert max(sizes) <= planned.key_bytes
    assert "keys of each  " + size_text(sizes[0]) in cw.explain(planned, workers=4)


@pytest.mark.slow
def test_those_who_multiply_alone_need_no_keys() -> None:
    product = real_product((2048, 2048), (2048, 2048))
    form, of_lanes = names_of_lanes(product, 4)
    # Two of them multiply alone, and send on what others switch.
    assert sum(map(form.key_bytes, of_lanes)) <= 2 * product.key_bytes


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
