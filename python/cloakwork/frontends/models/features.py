"""What a client makes of its own features before it encrypts: small integers, without a key."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError, NotFiniteError, ShapeMismatchError

# What LightGBM takes for zero.
_NEARLY_ZERO = 1e-35

_OPERATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
}


@dataclass(frozen=True, slots=True)
class Scaling:
    """A step of a scaler: every feature plus, minus, times or by a number of its own.

    Args:
        operation: add, subtract, multiply or divide.
        numbers: One for each feature.
    """

    operation: str
    numbers: tuple[float, ...]

    def of(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows after the step."""
        return np.asarray(_OPERATIONS[self.operation](rows, np.array(self.numbers)))


@dataclass(frozen=True, slots=True, order=True)
class Condition:
    """What a node of a tree asks of a feature.

    Args:
        feature: The number of the feature.
        threshold: What it is compared with.
        reaches: Whether the feature is to be as large at least, and not larger.
        missing: What holds of a feature that is missing.
        zero_is_missing: Whether 0 counts as missing.
    """

    feature: int
    threshold: float
    reaches: bool = False
    missing: bool = False
    zero_is_missing: bool = False

    def of(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """Whether it holds of each row, as 0 or 1.

        Example:
            >>> Condition(0, 2.0).of(np.array([[1.0], [2.0], [3.0]])).tolist()
            [0, 0, 1]
        """
        # One of 32 bits beside a threshold of 64 is not to round that.
        column = rows[:, self.feature].astype(np.float64)
        holds = column >= self.threshold if self.reaches else column > self.threshold
        absent = np.isnan(column)
        if self.zero_is_missing:
            absent |= np.abs(column) <= _NEARLY_ZERO
        return np.asarray(np.where(absent, self.missing, holds), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Conditions:
    """Features as zeros and ones: whether each of several conditions holds.

    Args:
        conditions: The conditions.
        single: Whether features are rounded to 32 bits before, as the model does.
        may_miss: Whether features may be missing.
    """

    conditions: tuple[Condition, ...]
    single: bool = False
    may_miss: bool = False

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest integer."""
        return 0, 1

    @property
    def count(self) -> int:
        """How many integers a row is."""
        return len(self.conditions)

    def of(self, rows: NDArray[np.float64]) -> NDArray[np.int64]:
        """The integers of each row."""
        if not self.may_miss:
            require_finite(rows)
        held = rows.astype(np.float32) if self.single else rows
        columns = [each.of(held) for each in self.conditions]
        return np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Steps:
    """Features as the nearest of equally spaced numbers, within the range of what was shown.

    Args:
        low: The least of each feature.
        step: The space between numbers.
        bits: Bits of an integer.
    """

    low: tuple[float, ...]
    step: tuple[float, ...]
    bits: int

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest integer."""
        return 0, (1 << self.bits) - 1

    @property
    def count(self) -> int:
        """How many integers a row is."""
        return len(self.low)

    def of(self, rows: NDArray[np.float64]) -> NDArray[np.int64]:
        """The integers of each row; what is out of range is at its end."""
        require_finite(rows)
        places = np.rint((rows - np.array(self.low)) / np.array(self.step))
        made: NDArray[np.int64] = np.clip(places, *self.bounds).astype(np.int64)
        return made

    def values(self, integers: NDArray[np.int64]) -> NDArray[np.float64]:
        """The features that integers stand for."""
        return np.asarray(np.array(self.low) + integers * np.array(self.step))


Quantised: TypeAlias = Conditions | Steps


def steps_within(rows: NDArray[np.float64], bits: int) -> Steps:
    """Steps of so many bits that hold each feature of rows, and as much again beyond them.

    Example:
        >>> steps_within(np.array([[0.0, 5.0], [3.0, 5.0]]), 2)
        Steps(low=(-1.5, 5.0), step=(2.0, 1.0), bits=2)
    """
    require_finite(rows)
    least, greatest = rows.min(axis=0), rows.max(axis=0)
    beyond = (greatest - least) / 2
    low = least - beyond
    step = (greatest + beyond - low) / ((1 << bits) - 1)
    step[step == 0] = 1.0
    return Steps(tuple(low.tolist()), tuple(step.tolist()), bits)


def require_finite(rows: NDArray[np.float64]) -> None:
    """Refuse rows that lack a number.

    Raises:
        NotFiniteError: A feature is missing, or infinite.
    """
    absent = np.argwhere(~np.isfinite(rows))
    if len(absent):
        row, feature = absent[0].tolist()
        raise NotFiniteError(
            f"cannot encode rows for a model: expected finite numbers, got {rows[row, feature]} as "
            f"feature {feature} of row {row}; the model was not trained on missing numbers, so "
            "fill them in"
        )


def scaled_rows(
    rows: Any, count: int, names: Sequence[str], scalings: Sequence[Scaling]
) -> NDArray[np.float64]:
    """Rows of features as an array after the steps of scalers; of a frame the columns of names.

    Args:
        rows: Rows in lists, an array or a frame; one row may be given by itself.
        count: How many features there are.
        names: Their names, if the model knows any.
        scalings: The steps.

    Raises:
        ShapeMismatchError: There are more features, or fewer.
        InvalidArgumentError: A frame lacks a column, or rows are not of numbers.

    Example:
        >>> scaled_rows([1, 2], 2, (), [Scaling("add", (0.5, 1.0))]).tolist()
        [[1.5, 3.0]]
    """
    columns = getattr(rows, "columns", None)
    if columns is not None and names:
        missing = [name for name in names if name not in columns]
        if missing:
            raise InvalidArgumentError(
                f"cannot encode rows for a model: expected the columns {', '.join(names)}, got "
                f"none named {', '.join(missing)}; rename the columns as they were in training"
            )
        rows = rows[list(names)]
    try:
        made = np.asarray(rows.to_numpy() if hasattr(rows, "to_numpy") else rows, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"cannot encode rows for a model: expected numbers, got {shown(rows)}: {error}; turn "
            "text, dates and categories into the numbers that the model was trained on"
        ) from error
    made = made[None] if made.ndim == 1 else made
    if made.ndim != 2 or made.shape[1] != count:
        raise ShapeMismatchError(
            f"cannot encode rows for a model: expected rows of {count} features, got the shape "
            f"{np.shape(rows)}"
        )
    for each in scalings:
        made = each.of(made)
    return made
