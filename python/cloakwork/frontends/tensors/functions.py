"""Functions of encrypted tensors that numpy has not, and the ranges that users give.

All of them take arrays of numpy as well, and compute these in the clear: a function that is to be
compiled runs on plain data as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, TypeGuard, TypeVar, cast

import numpy as np

from cloakwork.base.arguments import integer, positive, shown
from cloakwork.errors import InvalidArgumentError, NotRealError, ValueOutOfRangeError
from cloakwork.frontends.tensors.methods import TensorMethods, axes_of
from cloakwork.frontends.tensors.tracing import TracedTensor, planned_together
from cloakwork.programs.functions import FUNCTIONS
from cloakwork.programs.spec import ends

T = TypeVar("T", bound=TensorMethods)

Range = tuple[float, float]
_MOST_BITS = 50


def within(x: T, low: float, high: float) -> T:
    """The same tensor, whose elements are said to lie in a range.

    Functions after it are computed over this range instead of the one that follows from the
    bounds of the inputs, which is often much wider; and the parameters of a compiled program, its
    bootstraps and its error are for numbers of this range from there on. Numbers outside it give
    wrong results: a client of a compiled program runs it in the clear first and refuses to encrypt
    such inputs; an eager evaluator cannot know, nor can a client that has some of the inputs.

    Args:
        x: The tensor, or an array of numpy, whose numbers are looked at.
        low: The least number.
        high: The greatest.

    Raises:
        ValueOutOfRangeError: A number of an array is outside.
        InvalidArgumentError: `x` is neither, or the range is empty, or no number
            of it is one that the elements can be by the bounds of the inputs.

    Example:
        >>> import numpy as np
        >>> import cloakwork as cw
        >>> program = cw.compile(lambda x: np.sqrt(cw.within((x * x).sum(), 1, 4)), (8,))
        >>> round(float(program.run_clear([0.5] * 8)), 4)
        1.4142
    """
    action = "say that numbers are within a range"
    _require(x, action)
    least, greatest = ends(low, high, math.inf, action)
    if is_clear(x):
        if x.size and not (least <= x.min() and x.max() <= greatest):
            raise ValueOutOfRangeError(
                f"cannot {action} from {least:g} to {greatest:g}: they are from {x.min():g} to "
                f"{x.max():g}; give the range that they have"
            )
        return cast(T, x)
    known_least, known_greatest = x.runner.interval_of(x.node()).ends
    if greatest < known_least or known_greatest < least:
        raise InvalidArgumentError(
            f"cannot {action} from {least:g} to {greatest:g}: by the bounds of the inputs all are "
            f"from {known_least:g} to {known_greatest:g}, and none is in both; give the range that "
            "they have, or the inputs other bounds"
        )
    return x.within(least, greatest)


def greater(x: T, y: Any, gap: float) -> T:
    """1 where x is greater than y and 0 where it is less, as `x > y`, with a gap of one's own.

    Where two numbers are closer than the gap, the result is between 0 and 1, and rises with x - y.
    `x > y` takes 1/64 of the largest distance that the ranges allow, and clients of compiled
    programs refuse closer numbers, whose results would be neither. A gap that is given is allowed:
    clients refuse nothing, and the stated error is that of numbers which are not so close.

    Args:
        x: An encrypted tensor, or an array of numpy.
        y: What it is compared with, encrypted or clear.
        gap: The least distance of two numbers that it tells apart. The smaller a part of the
            range, the more levels it takes.

    Raises:
        ActivationFitError: The gap is too small a part of the range.
        InvalidArgumentError: `x` is not an encrypted tensor, or the gap is not above 0.

    Example:
        >>> import cloakwork as cw
        >>> session = cw.Session(depth=14, backend="clear")
        >>> x = session.encrypt([-0.75, 0.25, 0.5], bound=1)
        >>> session.decrypt(cw.greater(x, 0.25, gap=0.125)).round(3) + 0.0
        array([0. , 0.5, 1. ])
    """
    _require(x, "compare")
    gap = positive(gap, "gap", "compare")
    distance: T = x - y
    if is_clear(distance):
        return cast(T, FUNCTIONS["step"].value(distance))
    return distance.applied("step", "greater", gap=gap)


def relu(x: T, *, range: Range | None = None, precision: int | None = None) -> T:
    """The larger of each element and 0.

    Args:
        x: An encrypted tensor.
        range: The least and the greatest element, as in `within`; by default what bounds say.
        precision: Bits after the binary point that are to be right; by default the program's.

    Raises:
        ActivationFitError: No composition of polynomials is as near.
        InvalidArgumentError: `x` is not an encrypted tensor, or an argument is invalid.

    Example:
        >>> import cloakwork as cw
        >>> session = cw.Session(depth=9, backend="clear")
        >>> x = session.encrypt([-1.0, 0.5], bound=1)
        >>> session.decrypt(cw.relu(x, precision=6)).round(1) + 0.0
        array([0. , 0.5])
    """
    return _applied(x, "relu", range, precision)


def sigmoid(x: T, *, range: Range | None = None, precision: int | None = None) -> T:
    """1 / (1 + exp(-x)) of each element x. Arguments and errors are those of `relu`.

    Example:
        >>> import cloakwork as cw
        >>> session = cw.Session(depth=6, backend="clear")
        >>> session.decrypt(cw.sigmoid(session.encrypt([0.0, 2.0], bound=4))).round(3)
        array([0.5  , 0.881])
    """
    return _applied(x, "sigmoid", range, precision)


def silu(x: T, *, range: Range | None = None, precision: int | None = None) -> T:
    """x times `sigmoid(x)` of each element x. Arguments and errors are those of `relu`."""
    return _applied(x, "silu", range, precision)


def gelu(x: T, *, range: Range | None = None, precision: int | None = None) -> T:
    """Each element times the probability that a standard normal number is below it.

    Arguments and errors are those of `relu`.

    Example:
        >>> import cloakwork as cw
        >>> session = cw.Session(depth=6, backend="clear")
        >>> session.decrypt(cw.gelu(session.encrypt([0.0, 2.0], bound=4))).round(3) + 0.0
        array([0.   , 1.954])
    """
    return _applied(x, "gelu", range, precision)


def softmax(x: T, axis: int = -1, *, range: Range | None = None, precision: int | None = None) -> T:
    """exp(x) along an axis, divided by its sum.

    Args:
        x: An encrypted tensor.
        axis: The axis.
        range: The least and the greatest element, as in `within`; by default what bounds say.
        precision: Bits after the binary point that are to be right; by default the program's.

    Raises:
        ActivationFitError: The range is so wide that the sum's inverse is not as near.
        InvalidArgumentError: `x` is not an encrypted tensor, or an argument is invalid.

    Example:
        >>> import cloakwork as cw
        >>> session = cw.Session(depth=12, backend="clear")
        >>> session.decrypt(cw.softmax(session.encrypt([0.0, 1.0], bound=1))).round(3)
        array([0.269, 0.731])
    """
    bits = _bits(precision, "softmax")
    _require(x, "softmax")
    along = tuple(axes_of(axis, x.ndim, "softmax"))

    if is_clear(x):
        within_range = _ranged(x, range, "softmax")
        powers = np.exp(within_range - within_range.max(along, keepdims=True))
        return cast(T, powers / powers.sum(along, keepdims=True))

    def steps(x: TracedTensor, bits: int | None) -> TracedTensor:
        _, high = x.runner.interval_of(x.node()).ends
        # The largest power is 1, so the sum is at most the number of elements.
        powers = (x - high).applied("exp", "softmax", bits)
        sums = powers.sum(along, keepdims=True)
        shares = powers * sums.applied("reciprocal", "softmax", bits)
        return shares.within(0.0, 1.0, claimed=False)

    return planned_together(_ranged(x, range, "softmax"), "softmax", steps, bits)


def layer_norm(
    x: T,
    weight: Any = None,
    bias: Any = None,
    *,
    axis: int | Sequence[int] = -1,
    eps: float = 1e-5,
    range: Range | None = None,
    precision: int | None = None,
) -> T:
    """Elements less their mean along axes, divided by their standard deviation.

    Args:
        x: An encrypted tensor.
        weight: What the result is multiplied by, encrypted or clear.
        bias: What is added then.
        axis: The axis, or several.
        eps: Is added to the variance.
        range: The least and the greatest variance; by default what bounds say, which begins at 0
            and is expensive.
        precision: Bits after the binary point that are to be right before `weight` and `bias`; by
            default the program's.

    Raises:
        ActivationFitError: The range is so wide that the inverse root is not as near.
        InvalidArgumentError: `x` is not an encrypted tensor, or an argument is invalid.

    Example:
        >>> import cloakwork as cw
        >>> session = cw.Session(depth=10, backend="clear")
        >>> x = session.encrypt([[1.0, -1.0, 0.5, -0.5]], bound=1)
        >>> session.decrypt(cw.layer_norm(x, range=(0.25, 1.0))).round(3)
        array([[ 1.265, -1.265,  0.632, -0.632]])
    """
    _require(x, "layer_norm")
    along = tuple(axes_of(axis, x.ndim, "layer_norm"))
    bits = _bits(precision, "layer_norm")
    if not isinstance(eps, Real) or not 0 <= eps < math.inf:
        raise InvalidArgumentError(
            f"cannot layer_norm: expected an eps from 0 on, got {shown(eps)}"
        )

    def steps(x: TracedTensor, bits: int | None) -> TracedTensor:
        variance = _ranged(x.var(along, keepdims=True), range, "layer_norm")
        inverse = (variance + eps).applied("rsqrt", "layer_norm", bits)
        return (x - x.mean(along, keepdims=True)) * inverse

    if is_clear(x):
        variance = _ranged(x.var(along, keepdims=True), range, "layer_norm")
        made = (x - x.mean(along, keepdims=True)) / np.sqrt(variance + eps)
    else:
        made = planned_together(x, "layer_norm", steps, bits)
    if weight is not None:
        made = made * weight
    return made if bias is None else made + bias


def _applied(x: T, function: str, range: Range | None, precision: int | None) -> T:
    bits, ranged = _bits(precision, function), _ranged(x, range, function)
    if is_clear(ranged):
        return cast(T, FUNCTIONS[function].value(ranged))
    return ranged.applied(function, function, bits)


def _ranged(x: T, range: Range | None, action: str) -> T:
    _require(x, action)
    if range is None:
        return x
    if not isinstance(range, tuple | list) or len(range) != 2:
        raise InvalidArgumentError(
            f"cannot {action}: expected a range of a least and a greatest number, got "
            f"{shown(range)}"
        )
    return within(x, *range)


def _bits(precision: int | None, action: str) -> int | None:
    if precision is None:
        return None
    return integer(precision, "precision", action, least=1, most=_MOST_BITS)


def is_clear(x: Any) -> TypeGuard[Any]:
    """Whether something is an array of numpy, or one number of it."""
    return isinstance(x, np.ndarray | np.generic)


def _require(x: Any, action: str) -> None:
    if not isinstance(x, TensorMethods) and not is_clear(x):
        raise InvalidArgumentError(
            f"cannot {action}: expected an encrypted tensor or an array of numpy, got {shown(x)}"
        )
    if is_clear(x) and x.dtype.kind not in "biuf":
        raise NotRealError(
            f"cannot {action}: expected real numbers, got an array of {x.dtype}; give numbers"
        )
