"""numpy's polynomials, of encrypted numbers or with encrypted coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

from cloakwork.base.arguments import integer
from cloakwork.errors import ShapeMismatchError
from cloakwork.frontends.tensors.methods import TensorMethods, as_operand
from cloakwork.frontends.tensors.numpy.assembling import stacked
from cloakwork.frontends.tensors.numpy.linear_maps import along

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
