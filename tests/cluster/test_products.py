"""Products of matrices by files: on two processes and in this one, cut along any dimension."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client

import cloakwork as cw
from cloakwork.cluster import placing
from cloakwork.cluster.forms import form_of
from cloakwork.cluster.grid import Grid
from cloakwork.cluster.simulation import best_cut, simulated
from cloakwork.errors import (
    ClusterFolderError,
    InputNameError,
    MemoryBudgetError,
    MissingKeyError,
    RunCancelledError,
)
from cloakwork.programs.slots import AddProducts, RotatedProducts, SlotProgram
from cloakwork.runtime.evaluator import Evaluator
from cloakwork.runtime.schedule import schedule
from tests.cluster.local import FREE, host, local_cluster
from tests.cluster.test_run import forget_transfers, transferred
from tests.products import integer_product, real_product

RNG = np.random.default_rng(5)
A, B = RNG.uniform(-1, 1, (70, 24)), RNG.uniform(-1, 1, (24, 60))
C, D = RNG.integers(-9, 10, (40, 12)), RNG.integers(-9, 10, (12, 30))


@cache
def product() -> tuple[cw.Program, cw.Client, cw.Evaluator]:
    """A product of reals in several blocks, with its keys."""
    program = real_product(A.shape, B.shape, log_n=9, insecure=True)
    return program, *program.keygen()


@cache
def whole_numbers() -> tuple[cw.Program, cw.Client, cw.Evaluator]:
    """A product of integers, modulo two primes."""
    left, right = (cw.Spec(each.shape, bound=9) for each in (C, D))
    program = integer_product(left, right, log_n=9, insecure=True)
    return program, *program.keygen()


def blocks(program: cw.Program) -> int:
    """How many blocks of results a product has."""
    assert isinstance(program.body, SlotProgram)
    return sum(isinstance(each, RotatedProducts) for each in program.body.operations)


@pytest.fixture
def finely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut short work into many grains."""
    monkeypatch.setattr(placing, "Network", lambda: FREE)


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut the inner dimension, too, and let products move."""
    monkeypatch.setattr(placing, "Network", lambda: FREE)
    monkeypatch.setattr(placing, "_PARTS", (3,))


def test_products_are_those_of_one_process(cluster: Client, tmp_path: Path) -> None:
    program, client, evaluator = product()
    assert blocks(program) > 1
    sent = client.encrypt(A, B)
    made = evaluator.run(sent, on=cw.cluster.Dask(cluster, tmp_path))
    assert made.to_bytes() == evaluator.run(sent).to_bytes()
    assert np.abs(client.decrypt(made) - A @ B).max() < 2**-7


@pytest.mark.usefixtures("finely")
def test_however_their_blocks_are_shared_out(cluster: Client) -> None:
    _, client, evaluator = product()
    sent = client.encrypt(A, B)
    profile = cw.Profile()
    made = evaluator.run(sent, on=cw.cluster.Dask(cluster), profile=profile)
    assert made.to_bytes() == evaluator.run(sent).to_bytes()
    assert {each.thread for each in profile.operations} == {0, 1}


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("on_cluster", [True, False])
def test_the_inner_dimension_is_cut(cluster: Client, tmp_path: Path, on_cluster: bool) -> None:
    for of_numbers, one, other in ((product, A, B), (whole_numbers, C, D)):
        program, client, evaluator = of_numbers()
        sent = client.encrypt(one, other)
        profile = cw.Profile()
        made = evaluator.run(
            sent, on=host(cluster if on_cluster else None, tmp_path), profile=profile
        )
        whole = evaluator.run(sent)
        # Sums of parts are the very residues; only what is known of errors is rounded otherwise.
        (parts,), (values,) = made.records(), whole.records()
        assert parts.keys() == values.keys()
        for number, record in parts.items():
            assert polynomials(record) == polynomials(values[number])
        assert np.abs(client.decrypt(made) - one @ other).max() < 2**-7
        kinds = [each.kind for each in profile.operations]
        assert kinds.count(RotatedProducts.kind) == 3 * blocks(program)
        assert kinds.count(AddProducts.kind) == 2 * blocks(program)
        numbers = {each.number for each in profile.operations}
        assert isinstance(program.body, SlotProgram)
        assert max(numbers) < len(program.body.operations)


def polynomials(record: Any) -> list[bytes]:
    """The end of ciphertexts' bytes: their polynomials, without what is said of them."""
    data = record["data"]
    return [each[-1000:] for each in (data if isinstance(data, list) else [data])]


@pytest.mark.usefixtures("in_parts")
def test_products_move_as_the_model_says(cluster: Client) -> None:
    program, client, evaluator = product()
    connected: Any = cluster
    connected.run(forget_transfers)
    evaluator.run(client.encrypt(A, B), on=cw.cluster.Dask(cluster))
    work = form_of(program, 3).work
    modelled = simulated(work, best_cut(work, 2, FREE), FREE)
    assert modelled.moved_bytes > 0
    assert sum(connected.run(transferred).values()) == pytest.approx(modelled.moved_bytes, rel=0.05)


@pytest.mark.slow
@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("workers", [4, 8])
def test_products_move_between_many_workers_as_the_model_says(workers: int) -> None:
    program, client, evaluator = product()
    sent = client.encrypt(A, B)
    with local_cluster(workers) as cluster:
        connected: Any = cluster
        made = evaluator.run(sent, on=cw.cluster.Dask(cluster))
        moved = sum(connected.run(transferred).values())
    work = form_of(program, 3).work
    cut = best_cut(work, workers, FREE)
    modelled = simulated(work, cut, FREE)
    assert cut.lanes > 2
    assert modelled.moved_bytes > 0
    assert moved == pytest.approx(modelled.moved_bytes, rel=0.05)
    assert made.to_bytes() == evaluator.run(sent).to_bytes()


def test_a_product_and_its_switches_are_one_task() -> None:
    program, _, _ = product()
    assert isinstance(program.body, SlotProgram)
    work = form_of(program).work
    assert len(work.seconds) == blocks(program) == len(work.blocks)
    moving = {value for needs in work.needs for value in needs}
    assert not any(program.body.states[value].products for value in moving)
    assert moving == set(schedule(program.body).inputs)


def test_lanes_of_a_grid_read_each_block_once() -> None:
    program, _, _ = product()
    work = form_of(program).work
    rows, columns, _ = (1 + max(each) for each in zip(*work.blocks.values(), strict=True))
    left = work.bytes_of({value for task in work.blocks for value in half(work, task, 0)})
    right = work.bytes_of({value for task in work.blocks for value in half(work, task, 1)})
    for grid in (Grid(1, columns, 1), Grid(rows, 1, 1), Grid(rows, columns, 1)):
        inputs: dict[int, set[int]] = {}
        for task, block in work.blocks.items():
            inputs.setdefault(grid.lane(block), set()).update(work.needs[task])
        assert len(inputs) == grid.lanes
        read = sum(map(work.bytes_of, inputs.values()))
        assert read == grid.moved_bytes(left, right, 0)


def half(work: Any, task: int, side: int) -> tuple[int, ...]:
    """The left or the right ciphertexts of a block."""
    needs: tuple[int, ...] = work.needs[task]
    middle = len(needs) // 2
    return needs[side * middle :][:middle]


LARGE = RNG.uniform(-1, 1, (200, 150))


def test_files_are_streamed_within_a_memory_limit(tmp_path: Path) -> None:
    program = real_product(LARGE.shape, LARGE.T.shape, log_n=9, insecure=True)
    client, evaluator = program.keygen()
    stored = client.encrypt_into(tmp_path / "inputs", LARGE, LARGE.T)
    whole = evaluator.run(stored)
    profile = cw.Profile()
    limit = evaluator._memory.peak // 2
    evaluator.memory_limit = limit
    with pytest.raises(MemoryBudgetError):
        evaluator.run(stored)
    made = evaluator.run(stored, on=cw.cluster.Files(tmp_path / "jobs"), profile=profile)
    assert 0 < profile.peak_bytes <= limit
    assert made.to_bytes() == whole.to_bytes()
    assert np.abs(client.decrypt(made) - LARGE @ LARGE.T).max() < 2**-7
    evaluator.memory_limit = 1000
    with pytest.raises(MemoryBudgetError, match=r"of a task take \d+ bytes, .* take 750") as few:
        evaluator.run(stored, on=cw.cluster.Files(tmp_path / "others"))
    assert "workers" not in str(few.value)
    told = re.search(r"allow memory_limit=(\d+) or more", str(few.value))
    assert told is not None
    evaluator.memory_limit = int(told[1])
    made = evaluator.run(stored, on=cw.cluster.Files(tmp_path / "others"), profile=profile)
    assert profile.peak_bytes <= int(told[1])
    assert np.abs(client.decrypt(made) - LARGE @ LARGE.T).max() < 2**-7


def test_parts_of_the_inner_dimension_take_less_memory(tmp_path: Path) -> None:
    long = RNG.uniform(-1, 1, (16, 2000))
    program = real_product(long.shape, long.T.shape, log_n=9, insecure=True)
    client, evaluator = program.keygen()
    stored = client.encrypt_into(tmp_path / "inputs", long, long.T)
    whole = evaluator.run(stored)
    assert blocks(program) == 1
    evaluator.memory_limit = limit = evaluator._memory.peak * 9 // 10
    profile = cw.Profile()
    made = evaluator.run(stored, on=cw.cluster.Files(tmp_path / "jobs"), profile=profile)
    assert 0 < profile.peak_bytes <= limit
    assert made.to_bytes() == whole.to_bytes()
    assert np.abs(client.decrypt(made) - long @ long.T).max() < 2**-7
    assert AddProducts.kind in {each.kind for each in profile.operations}


def test_a_key_file_that_lacks_keys_is_refused(cluster: Client, tmp_path: Path) -> None:
    program, client, evaluator = product()
    none = client._key.evaluation_keys(
        relinearisation_level=None, rotations={}, conjugation_level=None
    )
    Evaluator(program, none, evaluator._key_id).save(tmp_path / "poor")
    poor = cw.load(tmp_path / "poor", cw.Evaluator, insecure=True)
    sent = client.encrypt_into(tmp_path / "inputs", A, B)
    for on in (cluster, None):
        with pytest.raises(MissingKeyError, match=r"the evaluation keys lack \d+ of \d+ keys"):
            poor.run(sent, on=host(on, tmp_path / "jobs"))
    assert not (tmp_path / "jobs").is_dir() or not list(tmp_path.glob("jobs/*"))


def test_an_operand_that_is_missing_is_named(tmp_path: Path) -> None:
    _, client, evaluator = product()
    left = client.encrypt_into(tmp_path / "left", a=A)
    with pytest.raises(InputNameError, match="got none for b"):
        evaluator.run(left, on=cw.cluster.Files(tmp_path / "jobs"))
    with pytest.raises(InputNameError, match="got a twice"):
        evaluator.run([left, client.encrypt(A, B)], on=cw.cluster.Files(tmp_path / "jobs"))
    (tmp_path / "left" / "encrypted-0-0").unlink()
    with pytest.raises(ClusterFolderError, match="no such file"):
        evaluator.run([left, client.encrypt(b=B)], on=cw.cluster.Files(tmp_path / "jobs"))


def test_a_run_by_files_is_cancelled(tmp_path: Path) -> None:
    _, client, evaluator = product()
    cancel = threading.Event()
    cancel.set()
    sent = client.encrypt_into(tmp_path / "inputs", A, B)
    with pytest.raises(RunCancelledError, match="cancelled after 0 grains"):
        evaluator.run(sent, on=cw.cluster.Files(tmp_path / "jobs"), cancel=cancel)


def test_inputs_of_a_run_are_written_alike_by_whoever_asks_for_it(tmp_path: Path) -> None:
    _, client, evaluator = product()
    sent = client.encrypt(A, B)
    cancel = threading.Event()
    cancel.set()
    writings: list[dict[str, bytes]] = []
    for _ in range(2):
        with pytest.raises(RunCancelledError):
            evaluator.run(sent, on=cw.cluster.Files(tmp_path), cancel=cancel)
        files = list(tmp_path.glob("*/input-*"))
        writings.append({each.name: each.read_bytes() for each in files})
        for each in files:
            each.unlink()
    assert len(writings[0]) > 2
    assert writings[0] == writings[1]


@pytest.mark.usefixtures("finely")
@pytest.mark.parametrize("on_cluster", [True, False])
def test_runs_at_the_same_time_share_a_folder(
    cluster: Client, tmp_path: Path, on_cluster: bool
) -> None:
    _, client, evaluator = product()
    sent = client.encrypt(A, B)

    def run(_: int) -> bytes:
        on = cluster if on_cluster else None
        return evaluator.run(sent, on=host(on, tmp_path)).to_bytes()

    with ThreadPoolExecutor(3) as pool:
        made = list(pool.map(run, range(3)))
    assert made == 3 * [evaluator.run(sent).to_bytes()]


def test_integers_are_exact_by_files(cluster: Client, tmp_path: Path) -> None:
    _, client, evaluator = whole_numbers()
    sent = client.encrypt_into(tmp_path / "inputs", C, D)
    for on in (cluster, None):
        made = evaluator.run(sent, on=host(on, tmp_path / f"jobs-{on is None}"))
        assert (client.decrypt(made) == C @ D).all()
        assert made.to_bytes() == evaluator.run(sent).to_bytes()
