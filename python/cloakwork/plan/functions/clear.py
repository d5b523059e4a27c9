"""What a graph of element-by-element operations of one tensor computes, in the clear."""

from __future__ import annotations

import numpy as np
from numpy.polynomial.chebyshev import chebval

from cloakwork.plan.tensors.lower import in_order
from cloakwork.programs.ir.layers import Array
from cloakwork.programs.ir.tensors import Contract, Evaluate, Node, Source, Sum, Within


def value_of(node: Node, numbers: Array) -> Array:
    """The values at numbers, which its one source stands for.

    Args:
        node: Made of products, sums and polynomials of the elements of one source.
        numbers: What the source holds, in one dimension.

    Example:
        >>> from cloakwork.programs.ir.elementwise import power
        >>> value_of(power(Source("x", (1,)), 3, ""), np.array([2.0, 3.0])).tolist()
        [8.0, 27.0]
    """
    values: dict[Node, Array] = {}
    for each in in_order([node]):
        values[each] = _value(each, values, numbers)
    return values[node]


def _value(node: Node, values: dict[Node, Array], numbers: Array) -> Array:
    match node:
        case Source():
            return numbers
        case Contract(operands=operands):
            factors = [o if isinstance(o, np.ndarray) else values[o] for o in operands]
            return np.asarray(np.prod(np.broadcast_arrays(*factors), axis=0), dtype=np.float64)
        case Sum(terms=terms, signs=signs, constant=constant):
            made = sum(sign * values[each] for each, sign in zip(terms, signs, strict=True))
            return np.asarray(made if constant is None else made + constant.ravel()[0])
        case Evaluate(operand=operand, low=low, high=high, coefficients=coefficients):
            t = (2 * values[operand] - (high + low)) / (high - low)
            return np.asarray(chebval(t, coefficients))
        case Within(operand=operand):
            return values[operand]
        case _:
            raise AssertionError("not made of products, sums and polynomials")
