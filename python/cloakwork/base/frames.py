"""Frames of pandas and of polars as arrays, their columns by name.

Neither package is imported: whoever has a frame has loaded its package.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import shown
from cloakwork.errors import InputNameError, NotFiniteError, NotRealError

_AXES_OF_FRAME = 2


def is_frame(data: object) -> bool:
    """Whether something is a frame, or one column or row of it.

    Example:
        >>> is_frame(np.ones(3))
        False
    """
    kinds = [
        kind
        for name in ("pandas", "polars")
        if (package := sys.modules.get(name)) is not None
        for kind in (getattr(package, "DataFrame", None), getattr(package, "Series", None))
        if isinstance(kind, type)
    ]
    return isinstance(data, tuple(kinds))


def columns_of(data: Any) -> tuple[str, ...]:
    """The names of a frame's columns, of a row of pandas those of its index; none of numbers alone.

    Example:
        >>> columns_of(np.ones(3))
        ()
    """
    if not is_frame(data):
        return ()
    return _names(getattr(data, "columns", getattr(data, "index", ())))


def labels_of(data: Any) -> list[tuple[str, ...]]:
    """The names along each axis of a frame that has some, its columns and those of its index.

    Example:
        >>> labels_of(np.ones(3))
        []
    """
    if not is_frame(data):
        return []
    return [found for axis in ("columns", "index") if (found := _names(getattr(data, axis, ())))]


def _names(labels: Iterable[Any]) -> tuple[str, ...]:
    """Labels that are names; none where one is not."""
    names = tuple(labels)
    return names if all(isinstance(each, str) for each in names) else ()


def labels_of_axes(data: Any, columns: Sequence[str] = ()) -> tuple[Any, ...]:
    """The labels along each axis of a frame or series; () where its package has none of rows.

    Args:
        data: The frame.
        columns: The names of all columns in the order that is meant; by default as they are.

    Example:
        >>> import pandas
        >>> [list(each) for each in labels_of_axes(pandas.DataFrame({"a": [1], "b": [2]}), ["b"])]
        [[0], ['b']]
    """
    if columns and columns_of(data):
        data = data[[*columns]]
    of_rows = getattr(data, "index", ())
    return (of_rows,) if len(data.shape) == 1 else (of_rows, data.columns)


def framed(array: NDArray[Any], labels: Sequence[Any], like: Any) -> Any:
    """An array as a frame or a series of a package; as it is where that has none such.

    Polars has no labels of rows: numbers by column are a frame with one row. A frame numbers what
    has no labels, which could be taken for those of others: rows that are not known stay an array,
    and so do such columns beside a frame whose columns are numbered.

    Args:
        array: The array.
        labels: Those of each axis, as `labels_of_axes` gives them; None of an axis without.
        like: A frame of that package.

    Example:
        >>> import pandas
        >>> framed(np.array([1.0, 2.0]), [["a", "b"]], pandas.DataFrame()).to_dict()
        {'a': 1.0, 'b': 2.0}
    """
    if not 1 <= array.ndim <= _AXES_OF_FRAME or labels[0] is None:
        return array
    names = labels[-1]
    if names is None and not columns_of(like):
        return array
    if hasattr(like, "iloc"):
        package = sys.modules["pandas"]
        if array.ndim == 1:
            return package.Series(array, index=names)
        return package.DataFrame(array, index=labels[0], columns=names)
    package = sys.modules["polars"]
    is_named = names is not None and len(names) > 0
    if array.ndim == 1 and not is_named:
        return package.Series(array)
    if is_named or (names is None and not len(labels[0])):
        return package.DataFrame(np.atleast_2d(array), schema=[*names] if is_named else None)
    return array


def numbers_of_frame(data: Any, action: str, columns: Sequence[str] = ()) -> NDArray[Any]:
    """The numbers of a frame, its columns in an order.

    Args:
        data: The frame.
        action: What is done with it, in words.
        columns: The names of all columns in order; by default as they are.

    Raises:
        InputNameError: A column is missing, or there is another, or one comes twice.
        NotRealError: A column is not of numbers.
        NotFiniteError: A number is missing.
    """
    for name, column in _named_columns(data):
        missing = _missing_in(column)
        if missing and _is_of_numbers(column):
            raise NotFiniteError(
                f"cannot {action}: expected numbers in all places, and {name} lacks {missing}; say "
                "what stands for them by missing= of cloakwork.compile, a number or 'mean', or by "
                "frame.fillna(0.0) or frame.fill_null(0.0)"
            )
    return numbers_and_gaps(data, action, columns)


def numbers_and_gaps(data: Any, action: str, columns: Sequence[str] = ()) -> NDArray[Any]:
    """The numbers of a frame as `numbers_of_frame` gives them, NaN where one is missing.

    Raises:
        InputNameError: As `numbers_of_frame`.
        NotRealError: As `numbers_of_frame`.
    """
    if columns and columns_of(data):
        _require_columns(columns_of(data), columns, action)
        data = data[[*columns]]
    found = [_numbers(column, action, name) for name, column in _named_columns(data)]
    if len(data.shape) == 1:
        return found[0]
    return np.column_stack(found) if found else np.empty(data.shape)


def _named_columns(data: Any) -> list[tuple[str, Any]]:
    """The columns of a frame, or the one of a series, with what messages call them."""
    if len(data.shape) == 1:
        return [(shown(data.name) if data.name is not None else "it", data)]
    return [
        (
            f"column {shown(name)}",
            data.iloc[:, number] if hasattr(data, "iloc") else data.to_series(number),
        )
        for number, name in enumerate(data.columns)
    ]


def _require_columns(found: Sequence[str], expected: Sequence[str], action: str) -> None:
    twice = sorted({each for each in found if found.count(each) > 1})
    missing = [each for each in expected if each not in found]
    others = [each for each in found if each not in expected]
    for names, what in (
        (twice, "that come once, got twice"),
        (missing, "of all names that it was compiled with, got none of"),
        (others, "of these names alone, got others"),
    ):
        if names:
            raise InputNameError(
                f"cannot {action}: expected columns {what}: {', '.join(map(shown, names))}; "
                "rename or choose columns, or give an array of them in order"
            )


def _numbers(column: Any, action: str, name: str) -> NDArray[Any]:
    """One column as an array of its own kind of numbers, of reals where some are missing."""
    if not _is_of_numbers(column):
        raise NotRealError(
            f"cannot {action}: expected columns of numbers, and {name} is of {column.dtype}; leave "
            f"it out, or make numbers of it, as by {_encoding(column)} of text and categories, and "
            "(times - start).dt.total_seconds() of times"
        )
    if _missing_in(column):
        # Pandas makes objects of its own missing numbers.
        of_pandas = {"dtype": np.float64, "na_value": np.nan} if hasattr(column, "iloc") else {}
        return np.asarray(column.to_numpy(**of_pandas), np.float64)
    array = np.asarray(column.to_numpy())
    return array if array.dtype.kind in "biuf" else array.astype(np.float64)


# Both packages know which of their types are of numbers, each in its own words.
def _is_of_numbers(column: Any) -> bool:
    kind = column.dtype
    if hasattr(column, "null_count"):
        return kind.is_numeric() or str(kind) == "Boolean"
    types = sys.modules["pandas"].api.types
    return types.is_numeric_dtype(kind) and not types.is_complex_dtype(kind)


def _encoding(column: Any) -> str:
    return "pandas.get_dummies(frame)" if hasattr(column, "iloc") else "frame.to_dummies(column)"


def _missing_in(column: Any) -> int:
    return column.null_count() if hasattr(column, "null_count") else int(column.isna().sum())
