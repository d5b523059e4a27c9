"""The language of einsum expressions: labels, commas, an arrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from cloakwork.errors import EinsumSyntaxError, ShapeMismatchError

_MAX_OPERANDS = 2


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression.

    Args:
        text: The expression as it was written.
        inputs: Labels of each operand, one per axis.
        output: Labels of the result.
        places: Where in the text each label of each operand stands.
    """

    text: str
    inputs: tuple[str, ...]
    output: str
    places: tuple[tuple[int, ...], ...]

    def at(self, place: int, reason: str) -> str:
        """A message that repeats the expression and points to a place in it."""
        return _pointing(self.text, place, reason)


@lru_cache(maxsize=1024)
def parse(text: str) -> Expression:
    """Parse an expression of one or two operands.

    Without an arrow the result has the labels that appear once, in alphabetical
    order, as in numpy.

    Raises:
        EinsumSyntaxError: The text is no such expression; the message points to where.

    Example:
        >>> parse("ij,jk").output
        'ik'
    """
    if "." in text:
        raise EinsumSyntaxError(
            _pointing(text, text.index("."), "the ellipsis is not supported; name every axis")
        )
    left, arrow, right = text.partition("->")
    inputs: list[str] = []
    places: list[tuple[int, ...]] = []
    start = 0
    for term in left.split(","):
        labels = _labels(text, start, term)
        inputs.append("".join(label for label, _ in labels))
        places.append(tuple(place for _, place in labels))
        start += len(term) + 1
    if len(inputs) > _MAX_OPERANDS:
        comma = len(",".join(left.split(",")[:_MAX_OPERANDS]))
        raise EinsumSyntaxError(
            _pointing(text, comma, f"at most {_MAX_OPERANDS} operands are supported")
        )
    counts = Counter("".join(inputs))
    if not arrow:
        implicit = "".join(sorted(label for label, count in counts.items() if count == 1))
        return Expression(text, tuple(inputs), implicit, tuple(places))
    output = _labels(text, len(left) + len(arrow), right)
    seen: set[str] = set()
    for label, place in output:
        if label in seen:
            raise EinsumSyntaxError(_pointing(text, place, f"{label} is in the output twice"))
        if label not in counts:
            raise EinsumSyntaxError(_pointing(text, place, f"{label} is in no operand"))
        seen.add(label)
    return Expression(text, tuple(inputs), "".join(label for label, _ in output), tuple(places))


def sizes(expression: Expression, shapes: Sequence[tuple[int, ...]]) -> tuple[tuple[str, int], ...]:
    """The size of every label; between operands an axis of size 1 stretches.

    Raises:
        ShapeMismatchError: The shapes do not fit the expression; the message points to where.

    Example:
        >>> sizes(parse("ij,j->i"), [(2, 3), (3,)])
        (('i', 2), ('j', 3))
    """
    if len(shapes) != len(expression.inputs):
        raise ShapeMismatchError(
            expression.at(
                0, f"the expression has {len(expression.inputs)} operand(s), {len(shapes)} came"
            )
        )
    size_of: dict[str, int] = {}
    for number, (labels, shape) in enumerate(zip(expression.inputs, shapes, strict=True)):
        places = expression.places[number]
        if len(labels) != len(shape):
            raise ShapeMismatchError(
                expression.at(
                    places[0] if places else 0,
                    f"operand {number + 1} has {len(shape)} axes, its term {len(labels)} label(s)",
                )
            )
        own: dict[str, int] = {}
        for label, size, place in zip(labels, shape, places, strict=True):
            if size == 0:
                raise ShapeMismatchError(
                    expression.at(place, f"{label} has size 0 in operand {number + 1}")
                )
            if own.setdefault(label, size) != size:
                raise ShapeMismatchError(
                    expression.at(
                        place,
                        f"{label} is {own[label]} and {size} within operand {number + 1}",
                    )
                )
            known = size_of.get(label, 1)
            if known != 1 and size not in (1, known):
                raise ShapeMismatchError(
                    expression.at(
                        place, f"{label} is {known} before and {size} in operand {number + 1}"
                    )
                )
            size_of[label] = max(known, size)
    return tuple(size_of.items())


def _labels(text: str, start: int, term: str) -> list[tuple[str, int]]:
    labels = [(char, start + offset) for offset, char in enumerate(term) if char != " "]
    for label, place in labels:
        if not (label.isascii() and label.isalpha()):
            raise EinsumSyntaxError(_pointing(text, place, f"{label!r} is no label"))
    return labels


def _pointing(text: str, place: int, reason: str) -> str:
    return f"cannot einsum: {reason}\n  {text}\n  {' ' * place}^"
