"""Runs on a cluster and from folders, as the command line asks for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import cloakwork as cw
from tests.cli.command import Cloakwork
from tests.cluster.local import local_cluster
from tests.products import real_product


def test_folders_are_run_on_a_cluster(tmp_path: Path) -> None:
    a, b = np.full((20, 6), 0.5), np.full((6, 8), 0.25)
    client, evaluator = real_product(a.shape, b.shape).keygen()
    evaluator.save(tmp_path / "e")
    client.encrypt_into(tmp_path / "inputs", a, b)
    command = Cloakwork(tmp_path)
    with local_cluster(1) as cluster:
        connected: Any = cluster
        address = connected.scheduler.address
        command("run", "e", "inputs", "--cluster", address, "--folder", "jobs", "-o", "o")
    printed = command("run", "e", "inputs", "--folder", "here", "-o", "p")
    assert (tmp_path / "o").read_bytes() == (tmp_path / "p").read_bytes()
    result = client.decrypt(cw.load(printed.split()[-1], cw.Encrypted))
    assert np.abs(result - a @ b).max() < 2**-7


def test_inputs_go_into_folders_and_results_come_from_them(tmp_path: Path) -> None:
    a, b = np.full((20, 6), 0.5), np.full((6, 8), 0.25)
    client, evaluator = real_product(a.shape, b.shape).keygen()
    client.save(tmp_path / "c")
    evaluator.save(tmp_path / "e")
    np.savez(tmp_path / "i.npz", a=a, b=b)
    command = Cloakwork(tmp_path)
    command("encrypt", "c", "i.npz", "--folder", "inputs")
    told = command("inspect", "inputs").splitlines()
    assert told[0].startswith("encrypted values folder, ")
    assert "holds     encrypted inputs: a, b" in told
    word, place = command("run", "e", "inputs", "--folder", "jobs").split()
    assert word == "results"
    assert Path(place).parent == tmp_path / "jobs"
    assert "holds     encrypted outputs: result" in command("inspect", place)
    command("decrypt", "c", place, "-o", "parts.npy")
    command("decrypt", "c", place, "-o", "whole.npz")
    parts, (whole,) = np.load(tmp_path / "parts.npy"), np.load(tmp_path / "whole.npz").values()
    np.testing.assert_array_equal(parts, whole)
    assert np.abs(parts - a @ b).max() < 2**-7
    refuse = command.refusal
    assert "'--folder'" in refuse("encrypt", "c", "i.npz")
    assert "'--folder' with inputs in folders" in refuse("run", "e", "inputs")
    client.encrypt(a, b).save(tmp_path / "i")
    assert "'--folder' with inputs in folders" in refuse("run", "e", "i", "--folder", "jobs")
    assert "there is no such file as" in refuse("inspect", "jobs")
    (tmp_path / "c.npy").write_bytes((tmp_path / "c").read_bytes())
    assert "got the client file of this name" in refuse("decrypt", "c", place, "-o", "c.npy")


def test_a_cluster_that_does_not_answer_is_named(tmp_path: Path) -> None:
    client, evaluator = cw.compile(lambda x: x * 2, (4,)).keygen()
    evaluator.save(tmp_path / "e")
    client.encrypt(np.ones(4)).save(tmp_path / "i")
    for address in ("nothing://there", "tcp://127.0.0.1:1", "tcp://", "127.0.0.1", "tls://x:1"):
        message = Cloakwork(tmp_path).refusal("run", "e", "i", "--cluster", address, "-o", "o")
        assert f"no scheduler answers at {address}" in message
        assert "start one by dask scheduler" in message
