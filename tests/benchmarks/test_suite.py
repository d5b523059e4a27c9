"""Stages of the public suite meet in the files of its harness, which is not here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.suite.__main__ import lay_out
from tests.benchmarks.stages import secret_kept_from_servers

STAGES = (
    "client_key_generation",
    "client_encode_encrypt_db",
    "client_encode_encrypt_query",
    "server_encrypted_compute",
    "client_decrypt_decode",
)


def test_stages_lie_where_the_harness_looks(tmp_path: Path) -> None:
    (tmp_path / "given" / "harness").mkdir(parents=True)
    place = tmp_path / "place"
    place.mkdir()
    lay_out(place, tmp_path / "given", "fetch-by-similarity")
    assert all((place / "submission" / f"{name}.py").exists() for name in STAGES)
    for script in (place / "scripts").iterdir():
        assert subprocess.run([script], check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("flags", [["--count_only"], []])
def test_stages_find_rows_and_the_server_reads_no_secret(flags: list[str], tmp_path: Path) -> None:
    (tmp_path / "given" / "harness").mkdir(parents=True)
    place = tmp_path / "place"
    place.mkdir()
    lay_out(place, tmp_path / "given", "fetch-by-similarity")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 128))
    rows[:7] = rows[0] + rng.normal(size=(7, 128)) / 8
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    data = place / "datasets" / "toy"
    data.mkdir(parents=True)
    rows.astype(np.float32).tofile(data / "db.bin")
    rows[0].astype(np.float32).tofile(data / "query.bin")
    payloads = rng.integers(0, 512, (60, 7), dtype=np.int16)
    payloads.tofile(data / "payloads.bin")
    secret = place / "io" / "toy" / "secret_key"
    for stage in STAGES:
        with secret_kept_from_servers(stage, secret):
            subprocess.run(
                [sys.executable, f"submission/{stage}.py", "0", *flags, "--seed", "1"],
                cwd=place,
                env={"PYTHONPATH": "."},
                check=True,
            )
    results, matches = place / "io" / "toy" / "results.bin", rows @ rows[0] > 0.8
    assert matches.sum() == 7
    if flags:
        assert np.fromfile(results, dtype=np.int_).tolist() == [7]
    else:
        found = np.fromfile(results, dtype=np.int16).reshape(-1, 7)
        assert found.tolist() == sorted(payloads[matches].tolist())
