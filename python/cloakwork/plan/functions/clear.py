"""What a graph of tensor operations computes in the clear, its functions as numpy has them."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

import numpy as np
from numpy.polynomial.chebyshev import chebval

from cloakwork.plan.tensors.lower import in_order
from cloakwork.programs.functions import FUNCTIONS
from cloakwork.programs.ir.layers import Array
from cloakwork.programs.ir.tensors import (
    Apply,
    Contract,
    Evaluate,
    Node,
    Rearrange,
    Source,
    Sum,
    Within,
)

K = TypeVar("K", bound=Node)


def values_of(results: Sequence[Node], inputs: Mapping[K, Array]) -> dict[Node, Array]:
    """The numbers of all nodes that results need, of the sources' or others'.

    Example:
        >>> from cloakwork.programs.ir.elementwise import power
        >>> x = Source("x", (2,))
        >>> cube = power(x, 3, "")
        >>> values_of([cube], {x: np.array([2.0, 3.0])})[cube].tolist()
        [8.0, 27.0]
    """
    values = dict(cast(Mapping[Node, Array], inputs))
    for node in in_order(results):
        if node not in values:
            values[node] = _value(node, values)
    return values


def _value(node: Node, values: Mapping[Node, Array]) -> Array:
    match node:
        case Source():
            raise KeyError(node.name)
        case Contract():
            return _contracted(node, values)
        case Sum(terms=terms, signs=signs, constant=constant, shape=shape):
            total = np.zeros(shape) if constant is None else constant + np.zeros(shape)
            for term, sign in zip(terms, signs, strict=True):
                total = total + sign * values[term]
            return total
        case Rearrange(operand=operand, elements=elements):
            return values[operand].ravel()[elements]
        case Within(operand=operand):
            return values[operand]
        case Apply(function=function, operand=operand):
            return np.asarray(FUNCTIONS[function].value(values[operand]), dtype=np.float64)
        case Evaluate(operand=operand, low=low, high=high, coefficients=coefficients):
            t = (2 * values[operand] - (high + low)) / (high - low)
            return np.asarray(chebval(t, coefficients))


def _contracted(node: Contract, values: Mapping[Node, Array]) -> Array:
    """The sum of products; an axis of size 1 is left out, as it is as long as others need."""
    operands: list[Array] = []
    terms: list[str] = []
    for operand, term in zip(node.operands, node.labels, strict=True):
        numbers = operand if isinstance(operand, np.ndarray) else values[operand]
        long = [axis for axis, size in enumerate(numbers.shape) if size != 1]
        operands.append(numbers.reshape([numbers.shape[axis] for axis in long]))
        terms.append("".join(term[axis] for axis in long))
    there = [each for each in node.output if any(each in term for term in terms)]
    # einsum takes letters alone.
    labels = sorted({each for term in terms for each in term})
    short = dict(zip(labels, string.ascii_letters, strict=False))
    named = ["".join(short[each] for each in term) for term in (*terms, there)]
    made = np.einsum(f"{','.join(named[:-1])}->{named[-1]}", *operands)
    return np.asarray(made).reshape(node.shape)
