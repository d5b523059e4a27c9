"""Tensors put together of others: concatenated, stacked, padded, chosen element by element."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import shown
from cloakwork.base.arrays import real_numbers
from cloakwork.base.source_line import users_origin
from cloakwork.errors import InvalidArgumentError, ProgramTooLargeError, ShapeMismatchError
from cloakwork.frontends.tensors.clear_operands import clear_numbers, clear_operand
from cloakwork.frontends.tensors.methods import (
    TensorMethods,
    are_all_truths,
    as_operand,
    axis_number,
    is_truths,
)
from cloakwork.frontends.tensors.numpy.rearranging import as_numpy
from cloakwork.plan.functions.linear_form import LinearForm, linear_form
from cloakwork.programs.ir.elementwise import LABELS
from cloakwork.programs.ir.tensors import Apply, Contract, are_zeros_and_ones
from cloakwork.programs.ir.truths import as_truths

# Modes of padding that repeat elements of the tensor.
_REPEATING = ("edge", "reflect", "symmetric", "wrap")

_Part = TensorMethods | NDArray[np.float64]


def concatenated(arrays: Sequence[Any], axis: int | None = 0) -> TensorMethods:
    """Tensors and clear arrays one after another along an axis, as `numpy.concatenate`.

    Without an axis their elements are. Takes a level.

    Raises:
        ShapeMismatchError: The shapes differ along other axes.
        InvalidArgumentError: There is no such axis.
    """
    read = [as_operand(each, "concatenate") for each in arrays]
    made = _joined([each.reshape(-1) for each in read] if axis is None else read, axis or 0)
    return _as_truths(made) if are_all_truths(*arrays) else made


def _joined(read: Sequence[_Part], axis: int) -> TensorMethods:
    ndim = len(read[0].shape)
    along = axis_number(axis, ndim, "concatenate")
    others = {each.shape[:along] + each.shape[along + 1 :] for each in read}
    if len(others) > 1 or any(len(each.shape) != ndim for each in read):
        shapes = [each.shape for each in read]
        raise ShapeMismatchError(f"cannot concatenate: shapes {shapes} differ beside axis {axis}")
    size, start = sum(each.shape[along] for each in read), 0
    made: TensorMethods | None = None
    clear = np.zeros(_with_size(read[0].shape, along, size))
    for each in read:
        stop = start + each.shape[along]
        if isinstance(each, TensorMethods):
            there = _embedded(each, along, start, size)
            made = there if made is None else made + there
        else:
            clear[(slice(None),) * along + (slice(start, stop),)] = each
        start = stop
    assert made is not None
    return made + clear if clear.any() else made


def stacked(arrays: Sequence[Any], axis: int = 0) -> TensorMethods:
    """Tensors and clear arrays side by side along a new axis, as `numpy.stack`. Takes a level.

    Raises:
        ShapeMismatchError: The shapes differ.
        InvalidArgumentError: There is no such axis.
    """
    read = [as_operand(each, "stack") for each in arrays]
    if len({each.shape for each in read}) > 1:
        raise ShapeMismatchError(f"cannot stack: shapes {[each.shape for each in read]} differ")
    along = axis_number(axis, len(read[0].shape) + 1, "stack")
    shape = (*read[0].shape[:along], 1, *read[0].shape[along:])
    made = _joined([each.reshape(shape) for each in read], along)
    return _as_truths(made) if are_all_truths(*arrays) else made


def padded(
    array: TensorMethods, pad_width: Any, mode: str = "constant", constant_values: Any = None
) -> Any:
    """A tensor with a number around it, or with its own, as `numpy.pad`. Takes a level.

    Raises:
        InvalidArgumentError: The mode is neither "constant" nor one that repeats elements, or the
            widths are not whole numbers from 0 on.
        NotRealError: The number is none.
        ProgramTooLargeError: Memory does not hold as many.
    """
    if mode in _REPEATING and constant_values is None:
        return as_numpy(np.pad, array, pad_width, mode)
    if mode != "constant":
        raise InvalidArgumentError(
            f"cannot pad: expected the mode 'constant' or one of {', '.join(_REPEATING)}, got "
            f"{shown(mode)}; concatenate slices"
        )
    blank = np.zeros(array.shape, dtype=bool if is_truths(array) else np.float64)
    around = real_numbers(0 if constant_values is None else constant_values, "pad")
    try:
        template = np.pad(blank, pad_width, constant_values=around)
        first = np.pad(blank, pad_width, constant_values=1).argmin()
    except (TypeError, ValueError, IndexError) as error:
        raise InvalidArgumentError(
            "cannot pad: expected how many numbers to add, from 0 on, as one number, a pair "
            f"(before, after), or such a pair for each of {array.ndim} axes, and as many numbers "
            f"to add there, got {shown(pad_width)} and {shown(constant_values)}"
        ) from error
    except MemoryError as error:
        raise ProgramTooLargeError(
            f"cannot pad: {shown(pad_width)} around a tensor of shape {array.shape} are more "
            "numbers than memory holds; add fewer"
        ) from error
    starts = np.unravel_index(int(first), template.shape)
    made = array
    for axis, (start, size) in enumerate(zip(starts, template.shape, strict=True)):
        if size > array.shape[axis]:
            made = _embedded(made, axis, int(start), size)
    made = made + template if template.any() else made
    return _as_truths(made) if is_truths(array) else made


def where(condition: Any, x: Any, y: Any) -> TensorMethods:
    """Elements of one where a condition holds and of the other elsewhere, as `numpy.where`.

    Where both sides meet as the compared numbers do, as in where(x > 0, x, 0.5 * x), the result is
    as near to numpy's for close numbers as for others.

    Args:
        condition: A clear array of truths, or an encrypted comparison, or some of them together, or
            bits of a program over bits.
        x: Elements where it holds, encrypted or clear.
        y: Elements elsewhere.

    Raises:
        ShapeMismatchError: The shapes do not fit.
        InvalidArgumentError: The condition is encrypted numbers.
    """
    if not isinstance(condition, TensorMethods):
        holds = clear_numbers(condition, "where").astype(bool)
        parts = [(x, holds), (y, ~holds)]
        made = [as_operand(each, "where") * mask.astype(np.float64) for each, mask in parts]
        encrypted = made[0] if isinstance(made[0], TensorMethods) else made[1]
        other = made[1] if encrypted is made[0] else made[0]
        assert isinstance(encrypted, TensorMethods)
        joined = encrypted + other
        return _as_truths(joined) if are_all_truths(x, y) else joined
    if not are_zeros_and_ones(condition.node()):
        raise InvalidArgumentError(
            "cannot choose by numpy.where: expected a condition that is a comparison, such as "
            "x > 0, or made of comparisons, got encrypted numbers, and nobody here knows which of "
            "them are 0; write numpy.where(x > 0, ...), or c * x + (1 - c) * y where c is known to "
            "be 1 or 0"
        )
    one, other = _numbers(x), _numbers(y)
    found = _bent(condition, one, other)
    if found is None:
        found = condition * (one - other) + other
    ends = [_ends(each) for each in (one, other)]
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    if low < high:
        found = found.within(low, high, claimed=False)
    return _as_truths(found) if are_all_truths(x, y) else found


def _bent(condition: TensorMethods, one: _Part, other: _Part) -> TensorMethods | None:
    """A choice between sides that differ by a multiple of the distance that is compared with 0."""
    compared = condition.node()
    # Whoever gives a gap has a choice of his own between levels and close numbers.
    if not (isinstance(compared, Apply) and compared.function == "step" and compared.gap is None):
        return None
    distance = compared.operand
    ratio = _form(one).plus(_form(other), -1.0).ratio(linear_form(distance))
    if not ratio:
        return None
    bend = condition.runner.compute(Apply("relu", distance, None, users_origin()), "where")
    made: TensorMethods = bend * ratio + other
    return made


def _form(part: _Part) -> LinearForm:
    return linear_form(part.node()) if isinstance(part, TensorMethods) else LinearForm({}, part)


def larger(x: Any, y: Any) -> TensorMethods:
    """The larger of each two elements, as `numpy.maximum`."""
    if are_all_truths(x, y):
        either: TensorMethods = x | y
        return either
    one, other = _encrypted_first(x, y, "compare")
    return _chosen_end((one - other).applied("relu", "maximum") + other, max, one, other)


def smaller(x: Any, y: Any) -> TensorMethods:
    """The smaller of each two elements, as `numpy.minimum`."""
    if are_all_truths(x, y):
        both: TensorMethods = x & y
        return both
    one, other = _encrypted_first(x, y, "compare")
    return _chosen_end(one - (one - other).applied("relu", "minimum"), min, one, other)


def _chosen_end(
    made: TensorMethods, choose: Callable[[float, float], float], one: _Part, other: _Part
) -> TensorMethods:
    """The larger or smaller of two parts, between the larger or smaller of their ends."""
    low, high = map(choose, _ends(one), _ends(other))
    return made.within(low, high, claimed=False)


def hypotenuse(x: Any, y: Any) -> TensorMethods:
    """The root of the sum of squares, as `numpy.hypot`."""
    one, other = _encrypted_first(x, y, "compute numpy.hypot")
    made: TensorMethods = (one**2 + other**2) ** 0.5
    return made


def clipped(x: Any, low: Any = None, high: Any = None) -> TensorMethods:
    """Elements brought between two ends, as `numpy.clip`, some of these encrypted."""
    if not isinstance(x, TensorMethods) or low is None or high is None or not _is_below(low, high):
        x, low, high = map(_read_for_clip, (x, low, high))
        raised = x if low is None else np.maximum(x, low)
        found: TensorMethods = raised if high is None else np.minimum(raised, high)
        return found
    # Side by side, which takes the levels of one.
    least, greatest = clear_operand(low, "clip"), clear_operand(high, "clip")
    beyond = (x - greatest).applied("relu", "clip")
    clipped_below: TensorMethods = (x - least).applied("relu", "clip") + least
    made = clipped_below - beyond
    (lowest, _), (_, highest) = _ends(least), _ends(greatest)
    start, end = _ends(x)
    return made.within(max(lowest, start), max(lowest, min(highest, end)), claimed=False)


def _read_for_clip(part: Any) -> Any:
    return part if part is None or isinstance(part, TensorMethods) else clear_numbers(part, "clip")


def _is_below(low: Any, high: Any) -> bool:
    """Whether both ends are clear, and the one nowhere above the other."""
    if isinstance(low, TensorMethods) or isinstance(high, TensorMethods):
        return False
    return bool(np.all(clear_operand(low, "clip") < clear_operand(high, "clip")))


def _encrypted_first(x: Any, y: Any, action: str) -> tuple[TensorMethods, _Part]:
    one, other = (x, y) if isinstance(x, TensorMethods) else (y, x)
    return one, as_operand(other, action)


def _ends(part: _Part) -> tuple[float, float]:
    if isinstance(part, TensorMethods):
        return part.runner.interval_of(part.node()).ends
    return float(part.min()), float(part.max())


def _numbers(value: Any) -> _Part:
    part = as_operand(value, "where")
    return 1.0 * part if is_truths(value) else part


def _as_truths(x: TensorMethods) -> TensorMethods:
    made: TensorMethods = x.runner.compute(as_truths(x.node()), "truths")
    return made


def _with_size(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], size, *shape[axis + 1 :])


def _embedded(x: TensorMethods, axis: int, start: int, size: int) -> TensorMethods:
    """The tensor within zeros along an axis, by a product with part of an identity."""
    if not math.prod(x.shape):
        raise ShapeMismatchError("cannot put tensors together: one has no elements")
    labels = LABELS[: x.ndim]
    new = LABELS[x.ndim]
    places = np.zeros((x.shape[axis], size))
    places[np.arange(x.shape[axis]), start + np.arange(x.shape[axis])] = 1.0
    output = labels[:axis] + new + labels[axis + 1 :]
    shape = _with_size(x.shape, axis, size)
    node = Contract((x.node(), places), (labels, labels[axis] + new), output, shape, users_origin())
    made: TensorMethods = x.runner.compute(node, "concatenate")
    return made
