"""Every function on many arrays: 1,000 each in the clear, 20 on ciphertexts at full security.

Arrays are the rows of one tensor. Both ends of the range are in every row, and numbers that are
compared are as close as they may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

import cloakwork as cw
from cloakwork.plan.functions.recipes import GAP
from cloakwork.programs.functions import FUNCTIONS

OF_NUMBERS = [name for name, each in FUNCTIONS.items() if not each.parameters]

Array: TypeAlias = NDArray[np.float64]

COLUMNS = 4
RANGES, ROWS = 5, 200
ENCRYPTED_ROWS = 20
BITS = 10
# More than double rounding of sums of a few numbers up to 100.
_ROUNDING = 1e-9
# What rows are multiplied by in the clear.
_WEIGHTS = np.array([[0.5, -1.0], [0.25, 2.0], [-1.5, 0.75], [1.0, 1.0]])


@dataclass(frozen=True)
class Case:
    """A function.

    Args:
        ours: It of encrypted tensors.
        numpys: It of arrays.
        operands: How many it takes.
        low: Between which ends the least number of a range is.
        width: Between which ends its width is.
        jumps: Whether numbers close to 0, or to each other, are left out.
    """

    ours: Callable[..., Any]
    numpys: Callable[..., Any]
    operands: int = 1
    low: tuple[float, float] = (-3.0, 1.0)
    width: tuple[float, float] = (0.5, 3.0)
    jumps: bool = False

    def ranges(self, count: int) -> Iterator[tuple[float, float]]:
        """Random ones."""
        rng = np.random.default_rng(7)
        for _ in range(count):
            low = rng.uniform(*self.low)
            yield low, low + rng.uniform(*self.width)

    def arrays(self, rows: int, low: float, high: float) -> list[Array]:
        """Its operands, each with both ends in every row."""
        rng = np.random.default_rng(rows)
        made = rng.uniform(low, high, (self.operands, rows, COLUMNS))
        made[..., :2] = low, high
        made = rng.permuted(made, axis=-1)
        return list(_apart(made, low, high) if self.jumps else made)


def _apart(numbers: Array, low: float, high: float) -> Array:
    """Numbers at least the gap from 0, or if they are two from each other."""
    if len(numbers) == 1:
        least = GAP * max(-low, high)
        return np.where(np.abs(numbers) < least, np.where(numbers < 0, -least, least), numbers)
    a, b = numbers
    least = GAP * (high - low)
    further = np.where(a + least <= high, a + least, a - least)
    return np.stack([a, np.where(np.abs(a - b) < least, further, b)])


def _softmax(x: Array) -> Array:
    powers = np.exp(x)
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def _layer_norm(x: Array) -> Array:
    away = x - x.mean(axis=-1, keepdims=True)
    return np.asarray(away / np.sqrt(x.var(axis=-1, keepdims=True) + 0.1))


def _matrices(x: Any) -> Any:
    """Each row as a matrix."""
    return x.reshape(len(x), 2, 2)


def _trace(x: Any) -> Any:
    return np.trace(x.T.reshape(2, 2, len(x)))


def _joined(*parts: Any) -> Any:
    return np.concatenate(parts, axis=1)


def _stacked(*parts: Any) -> Any:
    return np.stack(parts, axis=1)


def _padded(x: Any) -> Any:
    return np.pad(x, ((0, 0), (1, 2)), constant_values=0.5)


def _product(x: Any, y: Any) -> Any:
    return _matrices(x) @ _matrices(y)


def _known(name: str) -> Case:
    """A function of single numbers, by its name."""

    def ours(x: Any) -> Any:
        return x.applied(name, name)

    value = FUNCTIONS[name].value
    if name in ("sign", "step"):
        return Case(ours, value, low=(-3.0, -0.5), width=(3.5, 5.0), jumps=True)
    if FUNCTIONS[name].below == 1.0:
        return Case(ours, value, low=(-0.9, -0.2), width=(0.3, 0.9))
    if FUNCTIONS[name].above == 1.0:
        return Case(ours, value, low=(1.1, 3.0), width=(0.5, 8.0))
    if FUNCTIONS[name].above > -np.inf:
        return Case(ours, value, low=(0.25, 2.0), width=(0.1, 8.0))
    return Case(ours, value)


_positive = partial(Case, low=(0.25, 2.0), width=(0.1, 8.0))
_compared = partial(Case, low=(-3.0, -0.5), width=(3.5, 5.0), jumps=True)
CASES: Mapping[str, Case] = {
    **{name: _known(name) for name in OF_NUMBERS},
    "clip": Case(lambda x: np.clip(x, -0.5, 0.5), lambda x: np.clip(x, -0.5, 0.5)),
    "maximum": Case(np.maximum, np.maximum, 2),
    "minimum": Case(np.minimum, np.minimum, 2),
    "hypot": _positive(np.hypot, np.hypot, 2),
    "divide": _positive(lambda x, y: x / y, lambda x, y: x / y, 2),
    "number over tensor": _positive(lambda x: 2 / x, lambda x: 2 / x),
    "power of a number": Case(lambda x: 3**x, lambda x: 3**x),
    "fifth power": Case(lambda x: x**5, lambda x: x**5, low=(-1.5, 0.0), width=(0.5, 1.5)),
    "power 0": Case(lambda x: x**0, lambda x: x**0),
    "power -2": _positive(lambda x: x**-2, lambda x: x**-2.0),
    "power 0.5": _positive(lambda x: x**0.5, lambda x: x**0.5),
    "power -0.5": _positive(lambda x: x**-0.5, lambda x: x**-0.5),
    "above 0": _compared(lambda x: x > 0, lambda x: x > 0),
    "at most 0": _compared(lambda x: x <= 0, lambda x: x <= 0),
    "less": _compared(np.less, np.less, 2),
    "greater or equal": _compared(lambda x, y: x >= y, lambda x, y: x >= y, 2),
    "where": _compared(
        lambda x: np.where(x > 0, 0.5 * x, -2.0), lambda x: np.where(x > 0, 0.5 * x, -2.0)
    ),
    **{each.__name__: Case(each, each, 2) for each in (np.add, np.subtract, np.multiply)},
    "negative": Case(np.negative, np.negative),
    "square": Case(np.square, np.square),
    "matmul": Case(_product, _product, 2),
    "dot": Case(lambda x: np.dot(x, _WEIGHTS), lambda x: np.dot(x, _WEIGHTS)),
    "trace": Case(_trace, _trace),
    "sum": Case(lambda x: np.sum(x, axis=-1), lambda x: x.sum(axis=-1)),
    "mean": Case(lambda x: np.mean(x, axis=-1), lambda x: x.mean(axis=-1)),
    "concatenate": Case(_joined, _joined, 2),
    "stack": Case(_stacked, _stacked, 2),
    "pad": Case(_padded, _padded),
    "var": Case(lambda x: x.var(axis=-1), lambda x: x.var(axis=-1)),
    "std": Case(lambda x: np.sqrt(cw.within(x.var(axis=-1), 0.01, 3.0)), lambda x: x.std(axis=-1)),
    "softmax": Case(cw.softmax, _softmax),
    "layer_norm": Case(partial(cw.layer_norm, eps=0.1), _layer_norm, width=(0.5, 1.5)),
}


def ratio_in_clear(case: Case) -> float:
    """The largest error, as a part of what each result says of its own."""
    session = cw.Session(
        depth=40, precision=BITS, backend="clear", insecure=True, log_n=11, bound=1000
    )
    ratios: list[float] = []
    for low, high in case.ranges(RANGES):
        arrays = case.arrays(ROWS, low, high)
        made = case.ours(*(session.encrypt(each, low=low, high=high) for each in arrays))
        off = float(np.abs(session.decrypt(made) - case.numpys(*arrays)).max())
        ratios.append((off - _ROUNDING) * 2.0**made.precision)
    return max(ratios)


def ratio_on_ciphertexts(case: Case) -> float:
    """The largest error, as a part of what was asked for."""
    [(low, high)] = case.ranges(1)
    arrays = case.arrays(ENCRYPTED_ROWS, low, high)
    specs = [cw.Spec(each.shape, low=low, high=high) for each in arrays]
    program = cw.compile(case.ours, *specs, precision=BITS)
    assert not program.scheme.insecure
    return float(np.abs(program.run(*arrays) - case.numpys(*arrays)).max() * 2.0**BITS)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_1000_arrays_in_the_clear(name: str) -> None:
    assert ratio_in_clear(CASES[name]) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_20_arrays_on_ciphertexts_at_full_security(name: str) -> None:
    assert ratio_on_ciphertexts(CASES[name]) <= 1


def test_every_function_is_among_them() -> None:
    assert set(OF_NUMBERS) <= set(CASES)
    for case in CASES.values():
        for low, high in case.ranges(RANGES):
            for each in case.arrays(2, low, high):
                assert each.min() >= low
                assert each.max() <= high
