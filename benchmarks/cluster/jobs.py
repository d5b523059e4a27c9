"""The programs that are measured on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import cloakwork as cw
from benchmarks.nn.cases import random_case
from benchmarks.nn.jobs import PRECISION
from benchmarks.nn.networks import lenet
from cloakwork.plan.networks.compile_graph import compile_graph
from cloakwork.plan.networks.options import NetworkOptions

_SEED = 17
# Of the search for a vectorization, which is no part of a run.
_EFFORT = 0.1


@dataclass(frozen=True, slots=True)
class Case:
    """A program, what it is given, and what comes out in the clear."""

    program: cw.Program
    arguments: tuple[Any, ...]
    expected: Any


@dataclass(frozen=True, slots=True)
class Job:
    """A program that is measured.

    Args:
        name: What the report calls it.
        make: Compiles it.
        is_shared: Whether two workers are to be nearly twice as fast: its parts exchange nothing.
    """

    name: str
    make: Callable[[], Case]
    is_shared: bool = False


def _rows(a: Any, b: Any) -> Any:
    """Products of all rows of one matrix with those of another, after a product of elements."""
    return (a * b) @ (a + b).T


def _products() -> Case:
    generator = np.random.default_rng(_SEED)
    a, b = (generator.uniform(-1, 1, (64, 64)) for _ in range(2))
    spec = cw.Spec((64, 64))
    return Case(cw.compile(_rows, spec, spec), (a, b), _rows(a, b))


def _matmul(size: int) -> Case:
    """A product of square matrices in blocks."""
    generator = np.random.default_rng(_SEED)
    a, b = (generator.uniform(-1, 1, (size, size)) for _ in range(2))
    return Case(cw.compile(lambda a, b: a @ b, a.shape, b.shape, precision=7), (a, b), a @ b)


def _lenet(images: int) -> Case:
    """A LeNet of random weights on images of noise, one a run."""
    graph = lenet()
    case = random_case(graph)
    program = compile_graph(graph, case.samples, NetworkOptions(title="LeNet", precision=PRECISION))
    return Case(program, (case.inputs[:images],), case.expected[:images])


@cw.circuit(x=cw.vector(16, bounds=(-9, 9)), y=cw.vector(16, bounds=(-9, 9)))
def _distance(x: Any, y: Any) -> Any:
    """The square of the distance of two points."""
    return sum((a - b) * (a - b) for a, b in zip(x, y, strict=True))


def _circuit() -> Case:
    generator = np.random.default_rng(_SEED)
    x, y = (generator.integers(-9, 10, 16) for _ in range(2))
    program = _distance.compile(bits=16, effort=_EFFORT)
    return Case(program, (x, y), int(((x - y) ** 2).sum()))


JOBS = (
    Job("einsum, 64 x 64", _products),
    Job("matmul, 1024", lambda: _matmul(1024), is_shared=True),
    Job("matmul, 2048", lambda: _matmul(2048), is_shared=True),
    Job("LeNet, 1 image", lambda: _lenet(1)),
    Job("LeNet, 4 images", lambda: _lenet(4), is_shared=True),
    Job("circuit", _circuit),
)
