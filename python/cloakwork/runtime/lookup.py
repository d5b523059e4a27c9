"""The client's part of a network of words: embeddings, which no evaluator needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import shown
from cloakwork.base.record import Fields, Record
from cloakwork.errors import (
    InputNameError,
    MalformedBytesError,
    NotIntegerError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.runtime.saved import Saved
from cloakwork.schemes.base import ReadLimits

Array = NDArray[np.float64]

KIND = "lookup file"
_ACTION = "look up words"
_MOST_TABLES = 16


@dataclass(frozen=True, slots=True, eq=False)
class Norm:
    """A layer norm along the last axis.

    Args:
        weight: What features are multiplied by.
        bias: What is added to them.
        eps: What is added to variances.
    """

    weight: Array
    bias: Array
    eps: float

    def __call__(self, rows: Array) -> Array:
        """Rows with a mean of 0 and a variance of 1, weighted."""
        centred = rows - rows.mean(-1, keepdims=True)
        variance = (centred**2).mean(-1, keepdims=True)
        return np.asarray(centred / np.sqrt(variance + self.eps) * self.weight + self.bias)


class Lookup(Saved):
    """Makes of words, whole numbers as a tokenizer gives them, the numbers that are encrypted.

    `cloakwork.nn.lookup` makes it. It is a part of the model that goes to whoever encrypts, by a
    file of its own: it has embeddings, those of positions among them, and the norm behind them.

    Args:
        name: The input of the program that it makes.
        tables: The embeddings by the names of the words' inputs, a row for each word.
        shift: What is added to the rows, of a row for each position.
        norm: The norm of their sum; None for none.

    Example:
        >>> import numpy as np
        >>> table = np.array([[0.0, 0.0], [1.0, 0.5], [0.0, 0.25]])
        >>> look_up = Lookup("embedded", {"words": table}, np.zeros((2, 2)), None)
        >>> look_up([1, 2]).tolist()
        [[1.0, 0.5], [0.0, 0.25]]
        >>> look_up([1, 2, 2])
        Traceback (most recent call last):
        cloakwork.errors.ShapeMismatchError: ... expected 'words' to be 2 whole numbers, ...
    """

    _kind = KIND

    def __init__(
        self, name: str, tables: Mapping[str, Array], shift: Array, norm: Norm | None
    ) -> None:
        self.name = name
        self._tables = dict(tables)
        self._shift = shift
        self._norm = norm

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the words' inputs."""
        return tuple(self._tables)

    def __call__(self, *args: Any, **named: Any) -> Array:
        """The numbers of a text, or of several along a first axis.

        Args:
            args: The words of each input in their order.
            named: The words by the names of inputs.

        Raises:
            InputNameError: An input is missing or given twice, or there is none of a name.
            NotIntegerError: A word is not a whole number.
            ShapeMismatchError: There are more words or fewer than the program is planned for.
            ValueOutOfRangeError: There is no row for a word.
        """
        given = dict(zip(self._tables, args, strict=False)) | named
        if given.keys() != self._tables.keys() or len(args) + len(named) > len(given):
            raise InputNameError(
                f"cannot {_ACTION}: expected words of {', '.join(self._tables)}, got "
                f"{len(args)} by place and {', '.join(named) or 'none'} by name"
            )
        rows = self._shift
        for name, table in self._tables.items():
            rows = rows + table[self._words(name, given[name])]
        return rows if self._norm is None else self._norm(rows)

    def _words(self, name: str, given: Any) -> NDArray[np.int64]:
        words = np.asarray(given)
        if words.dtype.kind not in "iu":
            raise NotIntegerError(
                f"cannot {_ACTION}: expected whole numbers of {name!r}, got {shown(given)}; give "
                "what the tokenizer makes"
            )
        length = len(self._shift)
        if words.ndim not in (1, 2) or words.shape[-1] != length or not words.size:
            raise ShapeMismatchError(
                f"cannot {_ACTION}: expected {name!r} to be {length} whole numbers, as the program "
                f"is planned for, got shape {words.shape}; compile with a longer sample, or pad "
                "shorter texts and compile with known={'attention_mask': ...}"
            )
        count = len(self._tables[name])
        if words.min() < 0 or words.max() >= count:
            raise ValueOutOfRangeError(
                f"cannot {_ACTION}: expected {name!r} from 0 to {count - 1}, got "
                f"{words.min()} to {words.max()}; use the model's own tokenizer"
            )
        return words.astype(np.int64)

    def _record(self) -> Record:
        norm = self._norm
        return {
            "name": self.name,
            "inputs": list(self._tables),
            "tables": list(self._tables.values()),
            "shift": self._shift,
            "norm": None if norm is None else [norm.weight, norm.bias],
            "eps": 0.0 if norm is None else norm.eps,
        }

    @classmethod
    def _of(cls, fields: Fields, _: ReadLimits) -> Self:
        names = fields.items("inputs", most=_MOST_TABLES)
        tables = fields.arrays("tables", "<f8", ndim=2, most=_MOST_TABLES)
        shift = fields.array("shift", "<f8", ndim=2)
        parts = [] if fields.raw("norm") is None else fields.arrays("norm", "<f8", ndim=1, most=2)
        eps = fields.number("eps")
        _require_fitting(names, tables, shift, parts, eps)
        norm = Norm(parts[0], parts[1], eps) if parts else None
        return cls(fields.word("name"), dict(zip(names, tables, strict=True)), shift, norm)


def _require_fitting(
    names: Sequence[Any],
    tables: Sequence[Array],
    shift: Array,
    norm: Sequence[Array],
    eps: float,
) -> None:
    """Refuse a record whose parts do not fit one another."""
    width = shift.shape[1]
    are_named = all(isinstance(each, str) and each.isprintable() for each in names)
    if not (
        are_named
        and len(set(names)) == len(tables) == len(names) > 0
        and all(each.shape[1] == width and len(each) for each in tables)
        and (not norm or [each.shape for each in norm] == [(width,)] * 2)
        and eps >= 0.0
        and all(np.isfinite(each).all() for each in (*tables, shift, *norm))
    ):
        raise MalformedBytesError(
            f"cannot read a {KIND}: expected tables of one width with finite numbers, and an input "
            "for each, got others; copy it again from where it was saved"
        )
