"""Functions of numpy's on encrypted integers and vectors of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cloakwork.base.arguments import shown
from cloakwork.errors import EncryptedConditionError, InvalidArgumentError
from cloakwork.frontends.circuit import ordering
from cloakwork.frontends.circuit.refusals import at_line
from cloakwork.frontends.circuit.selection import select
from cloakwork.frontends.circuit.symbols import (
    Symbol,
    Vector,
    clear_integer,
    operand,
    shape_of_vector,
)
from cloakwork.frontends.circuit.ufuncs import greater_of, lesser_of

_OfVector = Callable[[Sequence[Any]], Any]


def _elements(value: Any) -> list[Any]:
    """All numbers of a vector or matrix, row by row."""
    if not isinstance(value, Vector):
        return [value]
    return [element for item in value for element in _elements(item)]


def _along(compute: _OfVector, *, flat: bool = True) -> Callable[..., Any]:
    """A function of vectors as numpy's, which takes one along an axis of a matrix.

    Args:
        compute: The function.
        flat: Whether it takes all numbers where no axis is said, or else the last.
    """

    def function(a: Any, axis: int | None = None if flat else -1) -> Any:
        value = operand(a)
        axes = len(shape_of_vector(value))
        if axis is None or not axes:
            return compute(_elements(value))
        if not -axes <= axis < axes:
            raise InvalidArgumentError(
                f"cannot compute{at_line()}: expected an axis of {axes}, got {shown(axis)}"
            )
        if axes == 1:
            return compute(value)
        rows = value if axis % 2 else [value[:, at] for at in range(value.shape[1])]
        return (
            Vector([_vector(compute(row)) for row in rows])
            if axis % 2
            else _turned([compute(row) for row in rows])
        )

    return function


def _vector(value: Any) -> Any:
    return Vector(value) if isinstance(value, list) else value


def _turned(columns: Sequence[Any]) -> Vector:
    """Results of columns as a vector, or as rows where each result is one."""
    if isinstance(columns[0], list):
        return Vector([Vector(row) for row in zip(*columns, strict=True)])
    return Vector(columns)


def _where(condition: Any, x: Any, y: Any) -> Any:
    return select(_truth(operand(condition)), x, y)


def _truth(value: Any) -> Any:
    """Whether a number is not 0, or each of a vector."""
    if isinstance(value, Vector):
        return Vector([_truth(each) for each in value])
    return value if isinstance(value, Symbol) and value.is_boolean else value != 0


def _clip(a: Any, a_min: Any = None, a_max: Any = None) -> Any:
    value = operand(a)
    if a_min is not None:
        value = greater_of(value, operand(a_min))
    return value if a_max is None else lesser_of(value, operand(a_max))


def _isin(element: Any, test_elements: Any) -> Any:
    items = _elements(operand(test_elements))
    value = operand(element)
    if isinstance(value, Vector):
        return Vector([_isin(each, items) for each in value])
    return ordering.any_holds([value == item for item in items])


def _argsort(a: Any, axis: int = -1, kind: str = "stable") -> Any:
    if kind != "stable":
        raise InvalidArgumentError(
            f"cannot sort{at_line()}: expected kind='stable', as equal numbers keep their order, "
            f"got {shown(kind)}; leave it out"
        )
    return _along(lambda items: ordering.rising_by([*items], range(len(items))), flat=False)(
        a, axis
    )


def _partition(a: Any, kth: int, axis: int = -1) -> Any:
    place = _clear_place(kth)
    return _along(lambda items: ordering.parted([*items], place), flat=False)(a, axis)


def _clear_place(kth: Any) -> int:
    place = clear_integer(kth)
    if place is None:
        raise InvalidArgumentError(
            f"cannot part integers{at_line()}: expected a clear integer as kth, got {shown(kth)}"
        )
    return place


def _argpartition(a: Any, kth: int, axis: int = -1) -> Any:
    place = _clear_place(kth)
    return _along(
        lambda items: ordering.parted_by([*items], [*range(len(items))], place), flat=False
    )(a, axis)


def _bincount(x: Any, minlength: int = 0) -> Any:
    items, bins = _elements(operand(x)), clear_integer(minlength)
    if not bins or bins < 1:
        raise InvalidArgumentError(
            f"cannot count by number{at_line()}: expected a clear minlength that is more than any "
            f"of the numbers, got {shown(minlength)}; how long the counts are would else depend on "
            "encrypted values"
        )
    for item in items:
        if isinstance(item, Symbol):
            # Refuses numbers that may be beyond the counts; nothing is computed with it.
            item.item_of([0] * bins)
    # Refuses those below 0.
    bits = [1 << item for item in items]
    return Vector([sum(bit >> place & 1 for bit in bits) for place in range(bins)])


def _searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    items, value = _elements(operand(a)), operand(v)
    if isinstance(value, Vector):
        return Vector([_searchsorted(items, each, side) for each in value])
    if side not in ("left", "right"):
        raise InvalidArgumentError(
            f"cannot search{at_line()}: expected side='left' or 'right', got {shown(side)}"
        )
    return sum((item < value) if side == "left" else (item <= value) for item in items)


def _cumsum(a: Sequence[Any]) -> list[Any]:
    sums, total = [], 0
    for each in a:
        total = each + total
        sums.append(total)
    return sums


_sum_of_elements = _along(sum)


def _sum(a: Any, axis: int | None = None) -> Any:
    """A sum; of products and sums of matrices that of their parts, which takes fewer products."""
    value = operand(a)
    whole = value.whole if isinstance(value, Vector) else None
    axes = len(shape_of_vector(value))
    if whole is None or axis not in (None, *range(-axes, axes)):
        return _sum_of_elements(value, axis)
    if whole.summands:
        return sum(sign * _sum(each, axis) for sign, each in whole.summands)
    if whole.factors is None:
        return _sum_of_elements(value, axis)
    left, right = whole.factors
    is_over = {each for each in range(axes) if axis is None or axis % axes == each}
    if 0 in is_over and len(left.shape) > 1:
        left = _sum(left, 0)
    if axes - 1 in is_over and len(right.shape) > 1:
        right = _sum(right, 1)
    return left @ right


_FUNCTIONS: Mapping[Callable[..., Any], Callable[..., Any]] = {
    np.sum: _sum,
    np.prod: _along(math.prod),
    np.min: _along(ordering.least),
    np.max: _along(ordering.greatest),
    np.any: _along(ordering.any_holds),
    np.all: _along(ordering.all_hold),
    np.argmax: _along(ordering.first_greatest),
    np.argmin: _along(ordering.first_least),
    np.median: _along(ordering.middle),
    np.count_nonzero: _along(lambda items: sum(each != 0 for each in items)),
    np.cumsum: _along(_cumsum),
    np.sort: _along(ordering.rising, flat=False),
    np.argsort: _argsort,
    np.partition: _partition,
    np.argpartition: _argpartition,
    np.bincount: _bincount,
    np.where: _where,
    np.clip: _clip,
    np.isin: _isin,
    np.searchsorted: _searchsorted,
    np.transpose: lambda a: operand(a).T,
    np.dot: lambda a, b: operand(a) @ operand(b),
}


def of_numpy(
    function: Callable[..., Any], positional: Sequence[Any], named: Mapping[str, Any]
) -> Any:
    """What a function of numpy's is of encrypted integers.

    Raises:
        EncryptedConditionError: It is none of those above, or takes an argument that they do not.
    """
    compute = _FUNCTIONS.get(function)
    name = getattr(function, "__name__", "function")
    if compute is None:
        known = ", ".join(sorted(each.__name__ for each in _FUNCTIONS))
        raise EncryptedConditionError(
            f"cannot use an encrypted integer in numpy's {name}{at_line()}: expected one of "
            f"{known}, or an operator of numpy's; write a loop"
        )
    try:
        made = compute(*positional, **named)
    except TypeError as error:
        if f"{compute.__name__}() " not in str(error):
            raise
        raise EncryptedConditionError(
            f"cannot use an encrypted integer in numpy's {name}{at_line()} with these arguments: "
            f"{error}; leave them out"
        ) from error
    return _vector(made)
