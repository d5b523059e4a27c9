"""The einsums that are measured, and what EinHops takes for some of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cloakwork as cw

_SEED = 20240463


@dataclass(frozen=True, slots=True)
class Job:
    """A function of tensors, the same on arrays, and the shapes that it takes.

    Args:
        name: What it is called in the report.
        shapes: The shape of each operand.
        compute: The function on encrypted tensors.
        expected: The function on arrays.
        permutes: Whether elements have to change places.
        einhops_seconds: CPU seconds of EinHops with power-of-two keys on a 2-core Zen 3.
    """

    name: str
    shapes: tuple[tuple[int, ...], ...]
    compute: Callable[..., Any]
    expected: Callable[..., NDArray[np.float64]]
    permutes: bool = False
    einhops_seconds: float | None = None

    def arrays(self) -> list[NDArray[np.float64]]:
        """The operands, uniform in [-1, 1] and the same each time."""
        generator = np.random.default_rng(_SEED)
        return [generator.uniform(-1, 1, shape) for shape in self.shapes]


def _einsum(
    name: str,
    expression: str,
    *shapes: tuple[int, ...],
    permutes: bool = False,
    einhops_seconds: float | None = None,
) -> Job:
    compute = partial(cw.einsum, expression)
    expected = partial(np.einsum, expression)
    return Job(name, shapes, compute, expected, permutes, einhops_seconds)


def _row_major(matrix: Any) -> Any:
    """The transpose, its elements in C order: as a vector they cannot lie otherwise."""
    return matrix.T.reshape(-1).reshape(matrix.shape[::-1])


_SQUARE = (128, 128)

JOBS = (
    _einsum("transpose", "ij->ji", _SQUARE, permutes=True, einhops_seconds=131),
    Job("transpose, materialised", (_SQUARE,), _row_major, np.transpose, True, 131),
    _einsum("sum", "ij->", _SQUARE, einhops_seconds=5.2),
    _einsum("column sum", "ij->j", _SQUARE, einhops_seconds=1.4),
    _einsum("row sum", "ij->i", _SQUARE),
    _einsum("matvec", "ij,j->i", _SQUARE, (128,)),
    _einsum("matmul", "ik,kj->ij", (16, 32), (32, 32), permutes=True, einhops_seconds=84),
    _einsum("dot", "i,i->", (16384,), (16384,), einhops_seconds=3.6),
    _einsum("inner", "ij,ij->", _SQUARE, _SQUARE),
    _einsum("Hadamard", "ij,ij->ij", _SQUARE, _SQUARE, einhops_seconds=0.07),
    _einsum("outer", "i,j->ij", (128,), (128,)),
    _einsum("batched", "ijk,ikl->ijl", (16, 8, 8), (16, 8, 8), permutes=True, einhops_seconds=102),
    _einsum("three-way Hadamard", "ij,ij,ij->ij", _SQUARE, _SQUARE, _SQUARE),
    _einsum("chain", "ij,jk,kl->il", (16, 8), (8, 8), (8, 16)),
    _einsum("bilinear", "ik,jkl,il->ij", (8, 16), (8, 16, 16), (8, 16)),
    _einsum("contraction", "pqrs,tuqvr->pstuv", (2, 4, 8, 8), (1, 4, 4, 2, 8)),
    _einsum(
        "attention",
        "bthd,bThd->bhtT",
        (2, 5, 8, 16),
        (2, 5, 8, 16),
        permutes=True,
        einhops_seconds=352,
    ),
)
