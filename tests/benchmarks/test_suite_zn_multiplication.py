"""Stages of zn-multiplication meet in the files of its harness, which is not here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from benchmarks.suite.__main__ import lay_out
from benchmarks.suite.zn_multiplication.circuit import product
from benchmarks.suite.zn_multiplication.workload import LARGEST_DIGIT, carried, digits
from tests.benchmarks.stages import secret_kept_from_servers

# Stages look for their modules in the folder that they run in.
WITH_MODULES = {**os.environ, "PYTHONPATH": "."}
STAGES = (
    "client_key_generation",
    "client_encode_encrypt_input",
    "server_encrypted_compute",
    "client_decrypt_decode",
    "client_postprocess",
)


def test_digits_give_products_modulo_2_to_the_64() -> None:
    rng = np.random.default_rng(0)
    left, right = rng.integers(2**64, size=(2, 50), dtype=np.uint64)
    left[0] = right[0] = 2**64 - 1
    assert digits(left).max() == LARGEST_DIGIT
    assert (carried(digits(left).astype(np.uint64)) == left).all()
    found = product.compile(batch=50).run_clear(left=digits(left), right=digits(right))
    assert (carried(np.array(found, np.uint64)) == left * right).all()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "pairs"), [("single", 1), ("small", 1000), ("medium", 12000)])
def test_stages_multiply_and_the_server_reads_no_secret(
    tmp_path: Path, name: str, pairs: int
) -> None:
    (tmp_path / "given" / "harness").mkdir(parents=True)
    place = tmp_path / "place"
    place.mkdir()
    lay_out(place, tmp_path / "given", "zn-multiplication")
    rng = np.random.default_rng(pairs)
    left, right = rng.integers(2**64, size=(2, pairs), dtype=np.uint64)
    data = place / "datasets" / name
    data.mkdir(parents=True)
    np.savetxt(data / "lhs.txt", left, fmt="%u")
    np.savetxt(data / "rhs.txt", right, fmt="%u")
    stages, files = place / "submission" / "target" / "release", place / "io" / name
    subprocess.run(
        [stages / "client_preprocess_input", f"{pairs}"], cwd=place, env=WITH_MODULES, check=True
    )
    for stage in STAGES:
        with secret_kept_from_servers(stage, files / "private_keys"):
            subprocess.run(
                [stages / stage, name, f"{pairs}"], cwd=place, env=WITH_MODULES, check=True
            )
    written = (files / "cleartext_output" / "out.txt").read_text().split()
    assert [*map(int, written)] == (left * right).tolist()
