"""numpy's linear algebra of small encrypted matrices, by formulas of their determinants."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import shown
from cloakwork.errors import (
    ActivationFitError,
    ShapeMismatchError,
    UnsupportedOperationError,
)
from cloakwork.frontends.tensors.clear_operands import clear_operand
from cloakwork.frontends.tensors.methods import TensorMethods, as_operand
from cloakwork.frontends.tensors.numpy.joining import joined_blocks
from cloakwork.frontends.tensors.numpy.linear_maps import along
from cloakwork.frontends.tensors.numpy.rearranging import asked
from cloakwork.programs.functions import FUNCTIONS
from cloakwork.programs.ir.tensors import Apply, Within

_MATRIX_AXES = 2
# The sums of more rows' determinants have thousands of products.
_MOST_ROWS = 4


def determinant(a: Any) -> Any:
    """The determinants of matrices of up to four rows, as `numpy.linalg.det`.

    Raises:
        ShapeMismatchError: They are not square.
        UnsupportedOperationError: They are larger.
    """
    rows = _rows(a, "det")
    if rows > _MOST_ROWS:
        raise UnsupportedOperationError(
            f"cannot compute numpy.linalg.det of an encrypted tensor: expected matrices of up to "
            f"{_MOST_ROWS} rows, got the shape {a.shape}; of two halves multiply that of one block "
            "by that of what solve leaves of the other, or decrypt first"
        )
    return _determinant(1.0 * a)


def _determinant(a: Any) -> Any:
    """By Laplace, along the upper half of the rows."""
    rows = a.shape[-1]
    if rows == 1:
        return a[..., 0, 0]
    if rows == _MATRIX_AXES:
        return a[..., 0, 0] * a[..., 1, 1] - a[..., 0, 1] * a[..., 1, 0]
    half = rows // 2
    upper = [list(each) for each in combinations(range(rows), half)]
    lower = [_rest_of_even_order(each, rows) for each in upper]
    above = a[..., np.arange(half)[:, None], np.array(upper)[:, None, :]]
    below = a[..., np.arange(half, rows)[:, None], np.array(lower)[:, None, :]]
    return (_determinant(above) * _determinant(below)).sum(-1)


def _rest_of_even_order(chosen: list[int], count: int) -> list[int]:
    """The other numbers, in an order that makes an even permutation of all."""
    rest = [number for number in range(count) if number not in chosen]
    order = [*chosen, *rest]
    swaps = sum(one > two for one, two in combinations(order, 2))
    return rest if swaps % 2 == 0 else [rest[1], rest[0], *rest[2:]]


def inverse(a: Any) -> Any:
    """The inverses of matrices, as `numpy.linalg.inv`: cofactors, of more than four rows by blocks.

    Raises:
        ShapeMismatchError: They are not square.
        ActivationFitError: By the ranges of their numbers a determinant may be 0.
    """
    rows = _rows(a, "inv")
    return _inverse(1.0 * a, rows, "inv")


def _inverse(a: Any, rows: int, name: str) -> Any:
    if rows <= _MOST_ROWS:
        return _adjugate(a, rows) * _reciprocal(_determinant(a), name)[..., None, None]
    half = rows // 2
    a11, a12 = a[..., :half, :half], a[..., :half, half:]
    a21, a22 = a[..., half:, :half], a[..., half:, half:]
    first = _inverse(a11, half, name)
    left, right = a21 @ first, first @ a12
    # The complement of Schur.
    last = _inverse(a22 - left @ a12, rows - half, name)
    corner = right @ last
    return joined_blocks([[first + corner @ left, -corner], [-(last @ left), last]])


def _adjugate(a: Any, rows: int) -> Any:
    """What the inverse times the determinant is."""
    if rows == 1:
        return 0.0 * a + 1.0
    others = np.array([[each for each in range(rows) if each != gone] for gone in range(rows)])
    # Of the cofactors of all elements the rows and columns that are left.
    left = others[:, None, :, None], others[None, :, None, :]
    signs = (-1.0) ** np.add.outer(np.arange(rows), np.arange(rows))
    return (_determinant(a[(..., *left)]) * signs).swapaxes(-1, -2)


def _reciprocal(determinants: Any, name: str) -> Any:
    made = determinants.applied("reciprocal", f"numpy.linalg.{name}")
    node = made.node()
    while isinstance(node, Within):
        node = node.operand
    # Of an eager tensor it is computed by now.
    if isinstance(node, Apply):
        low, high = made.runner.interval_of(node.operand).ends
        if not FUNCTIONS["reciprocal"].has(low, high):
            raise ActivationFitError(
                f"cannot compute numpy.linalg.{name} of an encrypted tensor: expected matrices "
                "whose determinants are on one side of 0 by the ranges of their numbers, got "
                f"determinants from {low:g} to {high:g}; compile the function with samples of its "
                "arguments, cloakwork.compile(f, data), which say where determinants lie, or give "
                "narrower ranges, as of x + c * numpy.eye(n)"
            )
    return made


def solved(a: Any, b: Any) -> Any:
    """The solutions of linear equations, as `numpy.linalg.solve`.

    Raises:
        ShapeMismatchError: The matrices are not square, or the shapes do not fit.
        ActivationFitError: By the ranges of their numbers a determinant may be 0.
        InvalidArgumentError: A clear matrix is singular.
    """
    a, b = as_operand(a, "solve"), as_operand(b, "solve")
    rows = _rows(a, "solve")
    of_vector = b.ndim == 1
    if not b.ndim or b.shape[-1 if of_vector else -2] != rows:
        raise ShapeMismatchError(f"cannot solve: the shapes {a.shape} and {b.shape} do not fit")
    right = b[:, None] if of_vector else b
    if not isinstance(a, TensorMethods):
        made = asked("linalg.solve", lambda: np.linalg.inv(a)) @ right
    elif rows <= _MOST_ROWS:
        inverses = _reciprocal(_determinant(1.0 * a), "solve")
        made = (_adjugate(1.0 * a, rows) @ right) * inverses[..., None, None]
    else:
        made = _inverse(1.0 * a, rows, "solve") @ right
    return made[..., 0] if of_vector else made


def least_squares(a: Any, b: Any, rcond: Any = None) -> Any:
    """The least-squares solution of known equations, as `numpy.linalg.lstsq`.

    Raises:
        UnsupportedOperationError: The matrix is encrypted.
        ShapeMismatchError: The shapes do not fit.
    """
    if isinstance(a, TensorMethods):
        raise UnsupportedOperationError(
            "cannot compute numpy.linalg.lstsq of an encrypted matrix: its rank and its singular "
            "values are not computed; write numpy.linalg.solve(a.T @ a, a.T @ b), or "
            "numpy.linalg.pinv(a) @ b, of a matrix of full rank"
        )
    known = clear_operand(a, "lstsq")
    if known.ndim != _MATRIX_AXES or b.ndim not in (1, 2) or b.shape[0] != known.shape[0]:
        raise ShapeMismatchError(f"cannot lstsq: the shapes {known.shape} and {b.shape} do not fit")

    def of_identity(identity: NDArray[np.float64]) -> Any:
        return np.linalg.lstsq(known, identity, rcond=rcond)

    _, _, rank, values = asked("linalg.lstsq", lambda: of_identity(np.eye(known.shape[0])))
    made = along(1.0 * b, 0, "lstsq", lambda identity: of_identity(identity)[0])
    left: Any = np.zeros(0)
    if rank == known.shape[1] < known.shape[0]:
        columns = b if b.ndim == _MATRIX_AXES else b[:, None]
        off = along(columns, 0, "lstsq", lambda each: each - known @ of_identity(each)[0])
        left = (off * off).sum(0)
    return made, left, rank, values


def pseudo_inverse(a: Any) -> Any:
    """The pseudo-inverses of matrices of full rank, as `numpy.linalg.pinv`.

    Raises:
        ShapeMismatchError: There are fewer than two axes.
        ActivationFitError: By the ranges of their numbers the rank may be smaller.
    """
    if a.ndim < _MATRIX_AXES:
        raise ShapeMismatchError(f"cannot pinv: expected matrices, got the shape {a.shape}")
    rows, columns = a.shape[-2:]
    if rows == columns:
        return _inverse(1.0 * a, rows, "pinv")
    turned = a.swapaxes(-1, -2)
    if rows > columns:
        return _inverse(1.0 * (turned @ a), columns, "pinv") @ turned
    return turned @ _inverse(1.0 * (a @ turned), rows, "pinv")


def lower_root(a: Any, upper: bool = False) -> Any:
    """The lower factors, or upper ones, of positive definite matrices, as `numpy.linalg.cholesky`.

    Raises:
        ShapeMismatchError: They are not square.
        ActivationFitError: By the ranges of their numbers one may not be positive definite.
    """
    rows = _rows(a, "cholesky")
    made: dict[tuple[int, int], Any] = {}
    for column in range(rows):
        rest = [
            a[..., row, column] - _sum_of_products(made, row, column) for row in range(column, rows)
        ]
        inverse_root = rest[0].applied("rsqrt", "numpy.linalg.cholesky")
        for row in range(column, rows):
            made[row, column] = rest[row - column] * inverse_root
    zero = np.zeros(a.shape[:-2])
    lower: Any = np.stack(
        [
            np.stack([made.get((row, column), zero) for column in range(rows)], axis=-1)
            for row in range(rows)
        ],
        axis=-2,
    )
    return lower.swapaxes(-1, -2) if upper else lower


def _sum_of_products(made: dict[tuple[int, int], Any], row: int, column: int) -> Any:
    return sum((made[row, each] * made[column, each] for each in range(column)), 0.0)


def sign_and_logarithm(a: Any) -> Any:
    """The signs and logarithms of determinants, as `numpy.linalg.slogdet`.

    Raises:
        UnsupportedOperationError: The ranges of the matrices do not say the sign.
    """
    made = determinant(a)
    low, high = made.runner.interval_of(made.node()).ends
    if low <= 0 <= high:
        raise UnsupportedOperationError(
            "cannot compute numpy.linalg.slogdet of an encrypted tensor: expected matrices whose "
            f"determinants are on one side of 0 by the ranges of their numbers, got {low:g} to "
            f"{high:g}; write numpy.log(numpy.linalg.det(x)), which samples or cloakwork.within "
            "keep above 0"
        )
    sign = 1.0 if low > 0 else -1.0
    answer: Callable[..., Any] = type(np.linalg.slogdet(np.eye(1)))
    return answer(np.full(made.shape, sign), np.log(sign * made))


def _rows(a: Any, name: str) -> int:
    if a.ndim < _MATRIX_AXES or a.shape[-1] != a.shape[-2]:
        raise ShapeMismatchError(
            f"cannot {name}: expected square matrices, got the shape {shown(a.shape)}"
        )
    return int(a.shape[-1])
