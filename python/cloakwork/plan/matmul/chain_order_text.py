"""Writes an expression of matrices in the order of its products."""

from __future__ import annotations

from cloakwork.plan.matmul.chain_order import Ordering, Part
from cloakwork.plan.matmul.expression import (
    Combination,
    Expression,
    Matrix,
    MatrixChain,
    Pointwise,
    Spread,
    Transposed,
    Weighted,
)
from cloakwork.plan.matmul.lanes import Digit


def bracketed(ordering: Ordering) -> str:
    """The expression with the brackets of the order, matrices by their names.

    Numbers in the clear are `c`, and products of single numbers are written with `o`.

    Example:
        >>> from cloakwork.plan.matmul.lanes import Lanes
        >>> from cloakwork.plan.matmul.spine import Factor
        >>> from cloakwork.programs.ir.tensors import Source
        >>> from cloakwork.runtime.costs import modelled
        >>> a, b, c = (
        ...     Matrix(Factor(Source(name, shape), False))
        ...     for name, shape in (("a", (64, 8)), ("b", (8, 64)), ("c", (64, 8))))
        >>> chain = MatrixChain((a, b, c), "")
        >>> bracketed(Ordering(chain, Lanes(64, 8), 0, modelled([2, 3, 4], 1), 2))
        'a (b c)'
    """
    return _Text(ordering).of(ordering.expression, ("rows", "columns"), 0, halves=True)


def bracketed_part(ordering: Ordering, part: Part, level: int, *, halves: bool) -> str:
    """A part of a chain with the brackets of the order."""
    return _Text(ordering).of_part(part, level, halves=halves)


class _Text:
    """Writes an expression in its order."""

    def __init__(self, ordering: Ordering) -> None:
        self._ordering = ordering

    def of(self, each: Expression, digits: tuple[Digit, Digit], level: int, *, halves: bool) -> str:
        match each:
            case Matrix(factor=factor):
                return f"{factor.source.name}{'^T' if factor.transposed else ''}"
            case Spread(source=source):
                return source.name
            case Transposed(of=inner):
                text = self.of(inner, (digits[1], digits[0]), level, halves=halves)
                return f"{_in_brackets(inner, text)}^T"
            case MatrixChain():
                return self.of_part(self._ordering.whole(each, digits), level, halves=halves)
            case Weighted(of=inner):
                text = self.of(inner, digits, level + 1, halves=halves)
                return f"c o {_in_brackets(inner, text)}"
            case Pointwise(left=left, right=right):
                texts = [
                    _in_brackets(factor, self.of(factor, digits, level + 1, halves=False))
                    for factor in (left, right)
                ]
                return " o ".join(texts)
            case Combination(terms=terms, constant=constant):
                texts = [self.of(term, digits, level, halves=halves) for _, term in terms]
                text = "".join(
                    f" {'+' if sign > 0 else '-'} {text}"
                    for (sign, _), text in zip(terms, texts, strict=True)
                )
                text += "" if constant is None else " + c"
                return text.removeprefix(" + ").removeprefix(" ")

    def of_part(self, part: Part, level: int, *, halves: bool) -> str:
        digits = part.digits[part.first], part.digits[part.last]
        if part.length == 1:
            factor = part.factors[0]
            return _in_brackets(factor, self.of(factor, digits, level, halves=halves))
        split = self._ordering.split(part, level, halves=halves)
        texts = []
        for operand, may in zip(part.cut(split.at), split.halves, strict=True):
            text = self.of_part(operand, level + 1, halves=may)
            texts.append(f"({text})" if operand.length > 1 else text)
        return " ".join(texts)


def _in_brackets(expression: Expression, text: str) -> str:
    return text if isinstance(expression, Matrix | Spread | Transposed) else f"({text})"
