"""numpy's polynomials, of encrypted numbers or with encrypted coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import integer
from cloakwork.errors import ShapeMismatchError
from cloakwork.frontends.tensors.methods import TensorMethods, as_operand
from cloakwork.frontends.tensors.numpy.assembling import stacked
from cloakwork.frontends.tensors.numpy.linear_maps import along, convolved
from cloakwork.frontends.tensors.numpy.rearranging import require_clear

_MOST_POWERS = 1 << 12


def polynomial(p: Any, x: Any) -> Any:
    """A polynomial by its coefficients from the highest down, as `numpy.polyval`.

    Raises:
        ShapeMismatchError: The coefficients are not a vector with elements.
    """
    p, x = as_operand(p, "polyval"), as_operand(x, "polyval")
    if p.ndim != 1 or not p.size:
        raise ShapeMismatchError(
            f"cannot polyval: expected a vector of coefficients, got the shape {p.shape}"
        )
    if not isinstance(x, TensorMethods):
        powers = np.vander(x.reshape(-1), p.size)
        return along(1.0 * p, 0, "polyval", lambda identity: powers @ identity).reshape(x.shape)
    is_clear = not isinstance(p, TensorMethods)
    # A sum of powers takes the levels of the highest, where Horner's rule takes one for each.
    made = (0.0 * x) + p[p.size - 1]
    for number in range(p.size - 1):
        if not is_clear or p[number]:
            made = made + p[number] * x ** (p.size - 1 - number)
    return made


def powers(x: Any, N: Any = None, increasing: bool = False) -> Any:  # noqa: N803  (numpy's name)
    """The matrix of powers of a vector, as `numpy.vander`.

    Raises:
        ShapeMismatchError: `x` is not a vector.
    """
    if x.ndim != 1:
        raise ShapeMismatchError(f"cannot vander: expected a vector, got the shape {x.shape}")
    count = integer(x.size if N is None else N, "N", "vander", least=2, most=_MOST_POWERS)
    columns = [np.ones(x.shape), *(x**number for number in range(1, count))]
    return stacked(columns if increasing else columns[::-1], 1)


def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of polynomials, as `numpy.polyadd`."""
    one, other = _of_one_length(a1, a2, "polyadd")
    return one + other


def polysub(a1: Any, a2: Any) -> Any:
    """The difference of polynomials, as `numpy.polysub`."""
    one, other = _of_one_length(a1, a2, "polysub")
    return one - other


def _of_one_length(a1: Any, a2: Any, name: str) -> list[Any]:
    parts = [_coefficients(each, name) for each in (a1, a2)]
    length = max(each.size for each in parts)
    return [np.pad(e, (length - e.size, 0)) if e.size < length else e for e in parts]


def polymul(a1: Any, a2: Any) -> Any:
    """The product of polynomials, as `numpy.polymul`; encrypted ones keep leading zeros."""
    one, other = (_without_zeros(_coefficients(each, "polymul")) for each in (a1, a2))
    return convolved(one, other)


def _without_zeros(p: Any) -> Any:
    return p if isinstance(p, TensorMethods) else np.trim_zeros(p, "f")


def derivative(p: Any, m: Any = 1) -> Any:
    """The derivative of a polynomial, as `numpy.polyder`."""
    return along(1.0 * p, 0, "polyder", lambda identity: _of_each(identity, np.polyder, m))


def integral(p: Any, m: Any = 1, k: Any = None) -> Any:
    """The antiderivative of a polynomial, as `numpy.polyint`, with known constants."""
    require_clear("polyint", m, k)
    made = along(1.0 * p, 0, "polyint", lambda identity: _of_each(identity, np.polyint, m))
    return made if k is None else made + np.polyint(np.zeros(p.size), m, k)


def _of_each(identity: NDArray[np.float64], function: Any, m: Any) -> NDArray[np.float64]:
    return np.stack([function(row, m) for row in identity], axis=1)


def from_roots(seq_of_zeros: Any) -> Any:
    """The polynomial with given roots, as `numpy.poly`.

    Raises:
        ShapeMismatchError: They are not a vector.
    """
    if seq_of_zeros.ndim != 1:
        raise ShapeMismatchError(
            f"cannot poly: expected a vector of roots, got the shape {seq_of_zeros.shape}, whose "
            "eigenvalues are not computed"
        )
    made: Any = np.ones(1)
    for root in 1.0 * seq_of_zeros:
        # A clear 1 stays in front.
        made = np.concatenate([made, [0.0]]) - np.concatenate([[0.0], made * root])
    return made


def _coefficients(p: Any, name: str) -> Any:
    read = np.atleast_1d(as_operand(p, name))
    if read.ndim != 1 or not read.size:
        raise ShapeMismatchError(
            f"cannot {name}: expected a vector of coefficients, got the shape {read.shape}"
        )
    return read
