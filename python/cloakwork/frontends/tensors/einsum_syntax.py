"""The language of einsum expressions, as numpy has it: labels, commas, dots, an arrow.

An expression goes through two steps. `parse` reads the text and, knowing how many
dimensions each operand has, writes every ellipsis out as labels of its own; from
there on nobody needs to know that an ellipsis was there. `sizes` then gives every
label its size. numpy's limits of 63 operands and 64 labels are not kept.
"""

from __future__ import annotations

import itertools
import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np

from cloakwork.errors import EinsumSyntaxError, ShapeMismatchError

_ELLIPSIS = "..."
_TOKEN = re.compile(r"\.\.\.|[^ ]")
# numpy numbers the upper case first.
_NUMBERED = string.ascii_uppercase + string.ascii_lowercase
_FIRST_BEYOND_ASCII = 0x3B1  # alpha

_Term: TypeAlias = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression.

    Args:
        text: The expression as it was written.
        inputs: Labels of each operand, one per axis.
        output: Labels of the result.
        places: Where in the text each label of each operand stands.
        ellipsis: The labels, among those above, that an ellipsis stands for.
    """

    text: str
    inputs: tuple[str, ...]
    output: str
    places: tuple[tuple[int, ...], ...]
    ellipsis: str = ""

    @property
    def operands(self) -> int:
        """How many operands the expression takes."""
        return len(self.inputs)

    def at(self, place: int, reason: str) -> str:
        """A message that repeats the expression and points to a place in it."""
        return _pointing(self.text, place, reason)

    def name(self, label: str) -> str:
        """What to call a label in a message; those of an ellipsis are nowhere in the text.

        Example:
            >>> expression = parse("...i->...i", (3,))
            >>> [expression.name(label) for label in expression.output]
            ['axis -2 of the ellipsis', 'axis -1 of the ellipsis', 'i']
        """
        if label in self.ellipsis:
            return f"axis {self.ellipsis.index(label) - len(self.ellipsis)} of the ellipsis"
        return label


@lru_cache(maxsize=1024)
def parse(text: str, ndims: tuple[int, ...]) -> Expression:
    """Parse an expression of one or more operands.

    Without an arrow the result has the axes of the ellipsis, then the labels that
    appear once, in alphabetical order, upper case first, as in numpy. An ellipsis of
    fewer axes than another stands for the last of them.

    Args:
        text: The expression.
        ndims: How many dimensions each operand has.

    Raises:
        EinsumSyntaxError: The text is no such expression; the message points to where.
        ShapeMismatchError: The operands are too many or too few, or one has the wrong
            number of dimensions.

    Example:
        >>> parse("ij,jk", (2, 2)).output
        'ik'
        >>> parse("...ij,...jk->...ik", (2, 3)).inputs
        ('ij', 'ajk')
    """
    left, arrow, _ = text.partition("->")
    terms: list[_Term] = []
    start = 0
    for term in left.split(","):
        terms.append(_term(text, start, start + len(term)))
        start += len(term) + 1
    start = len(left) + len(arrow)
    shown = _shown(text, terms, start) if arrow else _implicit(terms)
    widths = _widths(text, terms, ndims)
    ellipsis = "".join(itertools.islice(_unused(text), max(widths)))
    if ellipsis and _ELLIPSIS not in [token for token, _ in shown]:
        reason = f"the output leaves out the ellipsis, which has {len(ellipsis)} axis(es)"
        raise EinsumSyntaxError(_pointing(text, start, f"{reason}; write ... after the arrow"))
    written = [
        _write_out(term, ellipsis[len(ellipsis) - width :])
        for term, width in zip(terms, widths, strict=True)
    ]
    return Expression(
        text,
        tuple("".join(label for label, _ in term) for term in written),
        "".join(label for label, _ in _write_out(shown, ellipsis)),
        tuple(tuple(place for _, place in term) for term in written),
        ellipsis,
    )


def sizes(expression: Expression, shapes: Sequence[tuple[int, ...]]) -> tuple[tuple[str, int], ...]:
    """The size of every label; between operands an axis of size 1 stretches.

    Args:
        expression: Parsed for operands of as many dimensions as the shapes have.
        shapes: Of every operand. Unlike in numpy no dimension may be empty.

    Raises:
        ShapeMismatchError: The shapes do not fit the expression; the message points to where.

    Example:
        >>> sizes(parse("ij,j->i", (2, 1)), [(2, 3), (3,)])
        (('i', 2), ('j', 3))
    """
    size_of: dict[str, int] = {}
    terms = zip(expression.inputs, expression.places, shapes, strict=True)
    for number, (labels, places, shape) in enumerate(terms, start=1):
        own: dict[str, int] = {}
        for label, place, size in zip(labels, places, shape, strict=True):
            name = expression.name(label)
            known = size_of.get(label, 1)
            if size == 0:
                reason = f"{name} has size 0 in operand {number}"
            elif own.setdefault(label, size) != size:
                reason = f"{name} is {own[label]} and {size} within operand {number}"
            elif known != 1 and size not in (1, known):
                reason = f"{name} is {known} before and {size} in operand {number}"
            else:
                size_of[label] = max(known, size)
                continue
            raise ShapeMismatchError(expression.at(place, reason))
    return tuple(size_of.items())


def from_sublists(arguments: Sequence[object]) -> tuple[str, tuple[Any, ...]]:
    """Read the second form of numpy's arguments: operands, each followed by its axes.

    Axes are sequences of integers from 0 to 51, perhaps with one Ellipsis. A last
    sequence without a partner is that of the result.

    Args:
        arguments: All of them, in order.

    Returns:
        The expression as text, in numpy's letters (0 is A, 26 is a), and the operands.

    Raises:
        EinsumSyntaxError: An axis is something else, or there is no operand with axes.

    Example:
        >>> from_sublists(["x", [0, 1], "y", [1, ...], [0, ...]])
        ('AB,B...->A...', ('x', 'y'))
    """
    if len(arguments) < 2:
        raise EinsumSyntaxError(
            "cannot einsum: expected a text and operands, or operands each followed by the list "
            f"of its axes, got {len(arguments)} argument(s)"
        )
    paired = len(arguments) // 2 * 2
    terms = [
        _letters(axes, f"operand {number}") for number, axes in enumerate(arguments[1:paired:2], 1)
    ]
    text = ",".join(terms)
    if paired < len(arguments):
        text += "->" + _letters(arguments[-1], "the output")
    return text, tuple(arguments[:paired:2])


def _letters(axes: object, owner: str) -> str:
    if not isinstance(axes, Sequence | np.ndarray):
        raise EinsumSyntaxError(
            f"cannot einsum: expected a list of the axes of {owner}, got {type(axes).__name__}"
        )
    letters: list[str] = []
    for axis in axes:
        if isinstance(axis, EllipsisType):
            letters.append(_ELLIPSIS)
        elif (
            isinstance(axis, int | np.integer)
            and not isinstance(axis, bool)
            and 0 <= axis < len(_NUMBERED)
        ):
            letters.append(_NUMBERED[int(axis)])
        else:
            raise EinsumSyntaxError(
                f"cannot einsum: expected the axes of {owner} as integers from 0 to "
                f"{len(_NUMBERED) - 1} or Ellipsis, got {axis!r}"
            )
    return "".join(letters)


def _term(text: str, start: int, end: int) -> _Term:
    """Labels and perhaps an ellipsis, each with its place."""
    tokens = tuple((match.group(), match.start()) for match in _TOKEN.finditer(text, start, end))
    seen = False
    for token, place in tokens:
        if token == _ELLIPSIS:
            if seen:
                raise EinsumSyntaxError(_pointing(text, place, "a term has one ellipsis at most"))
            seen = True
        elif token == ".":
            raise EinsumSyntaxError(_pointing(text, place, "an ellipsis is three dots: ..."))
        elif not (token.isascii() and token.isalpha()):
            raise EinsumSyntaxError(_pointing(text, place, f"{token!r} is not a label"))
    return tokens


def _shown(text: str, terms: Sequence[_Term], start: int) -> _Term:
    known = {token for term in terms for token, _ in term} | {_ELLIPSIS}
    seen: set[str] = set()
    output = _term(text, start, len(text))
    for token, place in output:
        if token in seen:
            raise EinsumSyntaxError(_pointing(text, place, f"{token} is in the output twice"))
        if token not in known:
            raise EinsumSyntaxError(_pointing(text, place, f"{token} is in no operand"))
        seen.add(token)
    return output


def _implicit(terms: Sequence[_Term]) -> _Term:
    counts = Counter(token for term in terms for token, _ in term if token != _ELLIPSIS)
    once = sorted(label for label, count in counts.items() if count == 1)
    return ((_ELLIPSIS, 0), *((label, 0) for label in once))


def _widths(text: str, terms: Sequence[_Term], ndims: tuple[int, ...]) -> list[int]:
    """How many axes the ellipsis of each term stands for, 0 where it has none."""
    if len(terms) != len(ndims):
        raise ShapeMismatchError(
            _pointing(text, 0, f"the expression has {len(terms)} operand(s), {len(ndims)} came")
        )
    widths: list[int] = []
    for number, (term, ndim) in enumerate(zip(terms, ndims, strict=True), start=1):
        labels = [token for token, _ in term if token != _ELLIPSIS]
        width = ndim - len(labels)
        has_ellipsis = len(labels) < len(term)
        if width < 0 or (width > 0 and not has_ellipsis):
            reason = f"operand {number} has {ndim} axes, its term {len(labels)} label(s)"
            if has_ellipsis:
                reason += " beside the ellipsis"
            raise ShapeMismatchError(_pointing(text, term[0][1] if term else 0, reason))
        widths.append(width)
    return widths


def _unused(text: str) -> itertools.chain[str]:
    """Labels that are not in the text, letters of ascii first."""
    beyond = (chr(code) for code in itertools.count(_FIRST_BEYOND_ASCII))
    ascii_letters = (letter for letter in string.ascii_letters if letter not in text)
    return itertools.chain(ascii_letters, (letter for letter in beyond if letter.isalpha()))


def _write_out(term: _Term, ellipsis: str) -> _Term:
    return tuple(
        (label, place)
        for token, place in term
        for label in (ellipsis if token == _ELLIPSIS else token)
    )


def _pointing(text: str, place: int, reason: str) -> str:
    return f"cannot einsum: {reason}\n  {text}\n  {' ' * place}^"
