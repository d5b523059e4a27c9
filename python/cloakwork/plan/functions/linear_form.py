"""What tensors are as sums of multiples of others, element by element."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from cloakwork.programs.ir.layers import Array
from cloakwork.programs.ir.tensors import Contract, Node, Rearrange, Sum, Within

# Of double rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class LinearForm:
    """A sum of multiples of tensors, and of an array.

    Args:
        multiples: The factor of each tensor, by what it is known by.
        constant: The array, of any shape that numpy stretches to the tensor's.
    """

    multiples: Mapping[Hashable, float]
    constant: Array

    def plus(self, other: LinearForm, factor: float = 1.0) -> LinearForm:
        """This and a multiple of another."""
        sums = dict(self.multiples)
        for key, multiple in other.multiples.items():
            sums[key] = sums.get(key, 0.0) + factor * multiple
        return LinearForm(sums, self.constant + factor * other.constant)

    def ratio(self, other: LinearForm) -> float | None:
        """By which number another is to be multiplied to be this one; None where none does it.

        Example:
            >>> from cloakwork.programs.ir.tensors import Source
            >>> x = linear_form(Source("x", (2,)))
            >>> x.plus(x).ratio(x), x.plus(LinearForm({}, np.ones(2))).ratio(x)
            (2.0, None)
        """
        key = max(other.multiples, key=lambda each: abs(other.multiples[each]), default=None)
        if key is None or not other.multiples[key]:
            return None
        factor = self.multiples.get(key, 0.0) / other.multiples[key]
        left = self.plus(other, -factor)
        # Constants may be as small as the tensors are, which multiples say nothing of.
        pairs = (
            (self.multiples.values(), left.multiples.values()),
            (np.ravel(self.constant), np.ravel(left.constant)),
        )
        is_multiple = all(
            max(map(abs, rest), default=0.0) <= _ROUNDING * max(map(abs, own), default=0.0)
            for own, rest in pairs
        )
        return factor if is_multiple else None


def linear_form(node: Node) -> LinearForm:
    """What a tensor is as a sum of multiples of others, which have other functions or products.

    Example:
        >>> from cloakwork.programs.ir.tensors import Source
        >>> x = Source("x", (2,))
        >>> found = linear_form(Sum((x, x), (1, 1), np.ones(2), (2,)))
        >>> list(found.multiples.values()), found.constant.tolist()
        ([2.0], [1.0, 1.0])
    """
    match node:
        case Sum(terms=terms, signs=signs, constant=constant):
            made = LinearForm({}, np.zeros(()) if constant is None else constant)
            for term, sign in zip(terms, signs, strict=True):
                made = made.plus(linear_form(term), sign)
            return made
        case Contract(operands=operands, labels=labels, output=output, shape=shape):
            factor, multiplied = 1.0, []
            for operand, label in zip(operands, labels, strict=True):
                if isinstance(operand, np.ndarray) and operand.size == 1:
                    factor *= float(operand.ravel()[0])
                else:
                    multiplied.append((operand, label))
            (only, label), *others = multiplied
            is_alike = label == output and only.shape == shape
            if is_alike and not others and not isinstance(only, np.ndarray):
                return LinearForm({}, np.zeros(())).plus(linear_form(only), factor)
        case Within(operand=operand):
            return linear_form(operand)
        case Rearrange(operand=operand, elements=elements):
            key = (operand, elements.shape, elements.tobytes())
            return LinearForm({key: 1.0}, np.zeros(()))
    return LinearForm({node: 1.0}, np.zeros(()))
