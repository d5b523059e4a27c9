"""The example programs in Haskell, each read once for all tests."""

from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from os import cpu_count
from pathlib import Path

import cloakwork as cw
from cloakwork.frontends.boolean.circuit import Circuit

FOLDER = Path(__file__).parents[2] / "examples" / "boolean"

# Clash and Yosys are children, which take seconds.
_pool = ThreadPoolExecutor(cpu_count())


@cache
def reading(file: str, top: str) -> Future[Circuit]:
    """A program that is read while others run."""
    return _pool.submit(cw.boolean.from_haskell, FOLDER / file, top)


def haskell(file: str, top: str) -> Circuit:
    return reading(file, top).result()
