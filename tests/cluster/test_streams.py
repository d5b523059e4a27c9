"""Matrices larger than memory: packed, encrypted and decrypted a few vectors at a time."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import cloakwork as cw
from cloakwork.errors import (
    FileMissingError,
    InvalidArgumentError,
    MissingDependencyError,
    NotFiniteError,
    NotReplaceableError,
    ValueOutOfRangeError,
)
from cloakwork.runtime import encrypted, stored
from tests.cluster.test_products import A, B, product, whole_numbers
from tests.products import real_product
from tests.thoroughness import slow

MEGABYTE = 1 << 20


def status_bytes(name: str) -> int:
    """What the system says of the memory of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))


def growth(act: Callable[[], object]) -> int:
    """By how many bytes this process grows at most while something is done."""
    before = status_bytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    act()
    return status_bytes("VmHWM") - before


def in_child(measured: Callable[[Path], int], folder: Path) -> int:
    """What a process of its own measures."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measured, (folder,))


def tall(rows: int, folder: Path) -> int:
    """What it takes to encrypt a tall matrix that itself takes next to nothing."""
    inner, columns = 1000, 4
    program = real_product((rows, inner), (inner, columns), log_n=10, insecure=True)
    client = cw.Client.generate(program)
    a = np.broadcast_to(np.linspace(-1, 1, inner), (rows, inner))
    grown = growth(lambda: client.encrypt_into(folder / "in", a, np.ones((inner, columns))))
    kept = cw.load(folder / "in", cw.Encrypted)
    assert kept.nbytes > 12_500 * rows
    return grown


@pytest.mark.parametrize("rows", [4000, *slow(8000)])
def test_a_matrix_is_encrypted_into_files_a_few_vectors_at_a_time(
    rows: int, tmp_path: Path
) -> None:
    # A file of 4 MB as ciphertexts, records and bytes, and the vectors with their indices.
    assert in_child(partial(tall, rows), tmp_path) < 24 * MEGABYTE


def wide(folder: Path) -> int:
    """What it takes to decrypt a product, beyond the array and the largest of its files."""
    size, inner = 2000, 2
    program = real_product((size, inner), (inner, size), log_n=10, insecure=True)
    client, evaluator = program.keygen()
    sent = client.encrypt_into(folder / "in", np.ones((size, inner)), np.ones((inner, size)))
    made = evaluator.run(sent, on=cw.cluster.Files(folder / "jobs"))
    files = [each.stat().st_size for each in folder.glob("jobs/*/results-*")]
    assert sum(files) > 30 * MEGABYTE
    assert len(files) > 2
    found: list[NDArray[np.float64]] = []
    grown = growth(lambda: found.append(client.decrypt_into(folder / "made.npy", made)))
    assert np.abs(found[0] - inner).max() < 2**-7
    return grown - found[0].nbytes - max(files)


@pytest.mark.slow
def test_a_product_is_decrypted_file_by_file(tmp_path: Path) -> None:
    # Some vectors with their indices; all of them are 32 MB, and 32 MB as ciphertexts.
    assert in_child(wide, tmp_path) < 16 * MEGABYTE


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int8])
def test_operands_may_be_files(kind: type, tmp_path: Path) -> None:
    _, client, evaluator = product()
    for name, array in (("a", A), ("b", B)):
        np.save(tmp_path / name, np.round(1.4 * array).clip(-1, 1).astype(kind))
    mapped = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "ab"]
    sent = client.encrypt_into(tmp_path / "in", *mapped)
    made = evaluator.run(sent, on=cw.cluster.Files(tmp_path / "jobs"))
    expected = mapped[0].astype(np.float64) @ mapped[1].astype(np.float64)
    found = client.decrypt_into(tmp_path / "product", made)
    assert isinstance(found, np.memmap)
    assert np.abs(found - expected).max() < 2**-7
    np.testing.assert_array_equal(np.load(tmp_path / "product"), client.decrypt(made))
    assert (tmp_path / "product").stat().st_mode & 0o777 == 0o600


def test_integers_in_files_are_exact(tmp_path: Path) -> None:
    program, client, evaluator = whole_numbers()
    shapes = [port.shape for port in program.inputs]
    generator = np.random.default_rng(2)
    c, d = (generator.integers(-9, 10, shape, dtype=np.int8) for shape in shapes)
    made = evaluator.run(
        client.encrypt_into(tmp_path / "in", c, d), on=cw.cluster.Files(tmp_path / "jobs")
    )
    found = client.decrypt_into(tmp_path / "product", made)
    assert found.dtype == np.int64
    assert (found == c.astype(int) @ d.astype(int)).all()


def test_evaluations_are_decrypted_into_one_array(tmp_path: Path) -> None:
    _, client, evaluator = product()
    many = np.stack([A, -A / 2])
    made = evaluator.run(
        client.encrypt_into(tmp_path / "in", many, B), on=cw.cluster.Files(tmp_path / "jobs")
    )
    found = client.decrypt_into(tmp_path / "products", made)
    assert found.shape == (2, len(A), B.shape[1])
    assert np.abs(found - many @ B).max() < 2**-7


def test_what_lies_in_no_order_of_its_own_is_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Transposed, in a batch of transposed axes, and in steps."""
    monkeypatch.setattr(stored, "_FILE_BYTES", 40_000)
    generator = np.random.default_rng(4)
    q, k = (generator.uniform(-1, 1, (2, 9, 3, 8)) for _ in range(2))
    program = cw.compile(
        lambda q, k: cw.einsum("bqhd,bkhd->bhqk", q, k), q.shape, k.shape, log_n=9, insecure=True
    )
    client, evaluator = program.keygen()
    steps = np.repeat(k, 2, axis=1)[:, ::2]
    assert not steps.flags.c_contiguous
    sent = client.encrypt_into(tmp_path / "in", q, steps)
    made = evaluator.run(sent, on=cw.cluster.Files(tmp_path / "jobs"))
    found = client.decrypt_into(tmp_path / "product", made)
    expected = np.einsum("bqhd,bkhd->bhqk", q, k)
    assert np.abs(found - expected).max() < 2**-7
    np.testing.assert_array_equal(found, client.decrypt(made))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_cannot_be_encrypted_is_refused_before_a_file_is_written(
    value: float, tmp_path: Path
) -> None:
    _, client, _ = product()
    wrong = A.copy()
    wrong[-1, -1] = value
    with pytest.raises(NotFiniteError):
        client.encrypt_into(tmp_path / "in", wrong, B)
    with pytest.raises(ValueOutOfRangeError):
        client.encrypt_into(tmp_path / "in", A, -3 * B)
    assert not (tmp_path / "in").exists()


def test_several_results_are_not_one_array(tmp_path: Path) -> None:
    program = cw.compile(lambda x: (x + 1, x.sum()), (4,), log_n=10, insecure=True)
    client, evaluator = program.keygen()
    made = evaluator.run(client.encrypt(np.zeros(4)))
    with pytest.raises(InvalidArgumentError, match="returns 2 results; use decrypt"):
        client.decrypt_into(tmp_path / "results", made)
    assert not [*tmp_path.iterdir()]


def test_results_in_memory_are_decrypted_into_a_file(tmp_path: Path) -> None:
    program = cw.compile(lambda x: x + 1, (4,), log_n=10, insecure=True)
    client, evaluator = program.keygen()
    made = evaluator.run(client.encrypt(np.zeros(4)))
    assert np.abs(client.decrypt_into(tmp_path / "result", made) - 1).max() < 2**-15
    client.save(tmp_path / "key")
    with pytest.raises(NotReplaceableError, match="an array's"):
        client.decrypt_into(tmp_path / "key", made)
    cw.load(tmp_path / "key", cw.Client, insecure=True)
    with pytest.raises(FileMissingError, match="there is no folder"):
        client.decrypt_into(tmp_path / "nowhere" / "result", made)
    (tmp_path / "key").unlink()
    damaged = cw.Encrypted.from_bytes(made.to_bytes())
    damaged.role = "inputs"
    with pytest.raises(InvalidArgumentError, match="expected outputs"):
        client.decrypt_into(tmp_path / "other", damaged)
    assert [each.name for each in tmp_path.iterdir()] == ["result"]


# Multiplies by files and says which modules of Dask that takes.
BY_FILES = """
import sys
import numpy as np
import cloakwork as cw
program = cw.compile(lambda a, b: a @ b, (20, 6), (6, 20), precision=7, log_n=10, insecure=True)
client, evaluator = program.keygen()
inputs = client.encrypt_into("in", np.ones((20, 6)), np.ones((6, 20)))
found = client.decrypt(evaluator.run(inputs, on=cw.cluster.Files("out")))
assert np.abs(found - 6).max() < 0.01
print(*(name for name in sys.modules if name.partition(".")[0] in ("dask", "distributed")))
"""


def test_a_run_by_files_takes_no_dask(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BY_FILES], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert not done.stdout.strip()


def test_a_run_by_files_names_what_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, client, evaluator = product()
    inputs = client.encrypt_into(tmp_path / "in", A, B)
    monkeypatch.setattr(encrypted, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'cloakwork\[cluster\]'"):
        evaluator.run(inputs, on=cw.cluster.Files(tmp_path / "out"))
