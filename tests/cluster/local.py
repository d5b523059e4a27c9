"""Clusters on this machine, and programs that are long enough to be shared out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import dask
import numpy as np
from distributed import Client, LocalCluster

import cloakwork as cw
from cloakwork.cluster.settings import SETTINGS
from cloakwork.cluster.work import Network

# What tasks and moves cost next to nothing, so that short work is cut, too.
FREE = Network(1e-7, 1e-7, 1e12)
RNG = np.random.default_rng(11)
A, B = RNG.uniform(-1, 1, (8, 128)), RNG.uniform(-1, 1, (8, 128))


@contextmanager
def local_cluster(workers: int, **options: Any) -> Iterator[Client]:
    """A cluster of processes of one thread each, and its client."""
    make: Any = LocalCluster
    connect: Any = Client
    with (
        dask.config.set(SETTINGS),
        make(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address=":0",
            env={"CLOAKWORK_THREADS": "1"},
            **options,
        ) as cluster,
        connect(cluster) as client,
    ):
        yield client


def host(client: Client | None, folder: Path) -> cw.cluster.Dask | cw.cluster.Files:
    """A cluster, or without a client this process, with the files of a folder."""
    return cw.cluster.Files(folder) if client is None else cw.cluster.Dask(client, folder)


def process_ids(client: Any) -> list[int]:
    """The process of every worker."""
    return sorted(client.run(os.getpid).values())


def several(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Products, sums of rows, and the products of all rows with all."""
    return a * b, (a * a).sum(axis=1), a @ b.T


EXPECTED = several(A, B)


@cache
def program() -> cw.Program:
    """Some hundred operations, of a millisecond each."""
    spec = cw.Spec((8, 128))
    return cw.compile(several, spec, spec, log_n=11, insecure=True)


@cache
def holders() -> tuple[cw.Client, cw.Evaluator]:
    """Client and evaluator of that program."""
    return program().keygen()


@cache
def in_process() -> tuple[cw.Encrypted, bytes]:
    """Inputs of that program, and what comes of them without a cluster."""
    client, evaluator = holders()
    sent = client.encrypt(A, B)
    return sent, evaluator.run(sent).to_bytes()
