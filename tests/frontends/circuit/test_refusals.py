"""Functions that cannot be circuits: each is refused with the line that asks for it, and a way out.

`x` is from -9 to 9, `v` four such numbers, and `m` two rows of two.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import CloakworkError

NUMBERS = [3, 1, 2]
SHARES = [0.5, 0.25]

# By a part of the refusal.
REFUSED: list[tuple[Callable[[Any, Any, Any], Any], str]] = [
    # As numbers of another kind.
    (lambda x, v, m: x / 2, "x // y"),
    (lambda x, v, m: 1 / x, "x // y"),
    (lambda x, v, m: v / 2, "x // y"),
    (lambda x, v, m: x * 0.5, "expected integers"),
    (lambda x, v, m: x + 1.0, "expected integers"),
    (lambda x, v, m: v * np.array(SHARES * 2), "expected integers"),
    (lambda x, v, m: x + "1", "expected integers"),
    (lambda x, v, m: x + None, "expected integers"),
    (lambda x, v, m: x + 1j, "expected integers"),
    (lambda x, v, m: float(x), "exact"),
    (lambda x, v, m: complex(x), "exact"),
    (lambda x, v, m: int(x), "cw.select"),
    (lambda x, v, m: round(x, 1), "exact"),
    (lambda x, v, m: math.sqrt(x), "exact"),
    (lambda x, v, m: math.floor(x / 2), "x // y"),
    (lambda x, v, m: math.gcd(x, 4), "cw.table"),
    (lambda x, v, m: math.factorial(x), "cw.table"),
    # As what Python has to know.
    (lambda x, v, m: NUMBERS[x], "cw.table"),
    (lambda x, v, m: NUMBERS[:x], "cw.table"),
    (lambda x, v, m: sum(range(x)), "cw.table"),
    (lambda x, v, m: {x: 1}[x], "as a key"),
    (lambda x, v, m: {1: 2}[x], "as a key"),
    (lambda x, v, m: len({*v}), "as a key"),
    (lambda x, v, m: hash(x), "as a key"),
    (lambda x, v, m: bin(x), "cw.table"),
    (lambda x, v, m: hex(x), "cw.table"),
    (lambda x, v, m: chr(x), "cw.table"),
    (lambda x, v, m: f"{x:d}", "decrypted"),
    (lambda x, v, m: "%d" % x, "Symbol"),  # noqa: UP031
    (lambda x, v, m: random.randrange(x), "cw"),
    (lambda x, v, m: x.bit_length(), "Symbol"),
    (lambda x, v, m: x.real, "Symbol"),
    (lambda x, v, m: x[0], "Symbol"),
    (lambda x, v, m: x(), "Symbol"),
    (lambda x, v, m: [*x], "Symbol"),
    (lambda x, v, m: len(x), "Symbol"),
    (lambda x, v, m: sum(x), "Symbol"),
    (lambda x, v, m: v.mean(), "Vector"),
    (lambda x, v, m: [y for y in v if y > 0], "as a condition"),
    (lambda x, v, m: next(y for y in v if y > 0), "as a condition"),
    (lambda x, v, m: [*filter(lambda y: y > 0, v)], "as a condition"),
    # Shapes, items and ranges.
    (lambda x, v, m: v + np.array([1, 2]), "elements"),
    (lambda x, v, m: v @ [1, 2], "columns"),
    (lambda x, v, m: m @ v, "columns"),
    (lambda x, v, m: v[4], "4"),
    (lambda x, v, m: m[0, 2], "2"),
    (lambda x, v, m: v[x], "clip"),
    (lambda x, v, m: cw.table([1, 2])[x], "clip"),
    (lambda x, v, m: cw.table([]), "from 1 to"),
    (lambda x, v, m: cw.table([x, "a"]), "expected integers"),
    (lambda x, v, m: v["a"], "a"),
    (lambda x, v, m: v[v > 0], "where"),
    (lambda x, v, m: x // 0, "not 0"),
    (lambda x, v, m: x % 0, "not 0"),
    (lambda x, v, m: v // [1, 0, 1, 1], "not 0"),
    (lambda x, v, m: x << -1, "from 0"),
    (lambda x, v, m: x >> -1, "from 0"),
    (lambda x, v, m: 1 << x, "from 0"),
    (lambda x, v, m: 2 >> x, "from 0"),
    (lambda x, v, m: x**-1, "from 0"),
    (lambda x, v, m: 2**x, "from 0"),
    (lambda x, v, m: x**0.5, "from 0"),
    (lambda x, v, m: x**5000, "up to"),
    (lambda x, v, m: x**2000, "1024 bits"),
    (lambda x, v, m: pow(2, abs(x), 5), "Symbol"),
    # What is ordered, and chosen.
    (lambda x, v, m: v == 2 * v and 1, "numpy.all"),
    (lambda x, v, m: 1 if v > 0 else 0, "numpy.any"),
    (lambda x, v, m: max(m), "key="),
    (lambda x, v, m: sorted(m), "key="),
    (lambda x, v, m: min((x, 1), (2, x)), "key="),
    (lambda x, v, m: "a" if x else "b", "both sides"),
    (lambda x, v, m: [1] if x else [1, 2], "1 and 2 elements"),
    (lambda x, v, m: (1,) if x else (1, 2), "1 and 2 elements"),
    (lambda x, v, m: None if x else 1, "both sides"),
    (lambda x, v, m: cw.select(2, x, 1), "0 or 1"),
    (lambda x, v, m: cw.select(x > 0, v, [1, 2]), "elements"),
    (lambda x, v, m: cw.select(x > 0, "a", 1), "expected integers"),
    # numpy's.
    (lambda x, v, m: np.median(v[:0]), "one number or more"),
    (lambda x, v, m: np.mean(v), "numpy's mean"),
    (lambda x, v, m: np.std(v), "numpy's std"),
    (lambda x, v, m: np.unique(v), "numpy's unique"),
    (lambda x, v, m: np.bincount(v), "minlength"),
    (lambda x, v, m: np.nonzero(v), "numpy's nonzero"),
    (lambda x, v, m: np.sqrt(x), "sqrt"),
    (lambda x, v, m: np.sin(v), "sin"),
    (lambda x, v, m: np.add.reduce(v), "reduce"),
    (lambda x, v, m: np.sum(v, axis=3), "axis"),
    (lambda x, v, m: np.sort(v, kind="quicksort"), "arguments"),
    (lambda x, v, m: np.partition(v, x), "clear integer"),
    (lambda x, v, m: np.partition(v, 9), "place"),
    (lambda x, v, m: np.linalg.inv(m), "inv"),
    (lambda x, v, m: np.fft.fft(v), "fft"),
    (lambda x, v, m: np.cov(m), "cov"),
    (lambda x, v, m: divmod(x, 0), "not 0"),
    (lambda x, v, m: x @ 3, "columns"),
    (lambda x, v, m: v.sort(), "Vector"),
]

# By what they return, which no line asks for.
RETURNED: list[tuple[Callable[[Any, Any, Any], Any], str]] = [
    (lambda x, v, m: None, "return"),
    (lambda x, v, m: 3, "no encrypted"),
    (lambda x, v, m: {1: x}, "keys are text"),
    (lambda x, v, m: {x, 1}, "as a key"),
    (lambda x, v, m: [x, "a"], "integers"),
    (lambda x, v, m: (y for y in v), "integers"),
    (lambda x, v, m: object(), "integers"),
]


def refusal_of(function: Callable[[Any, Any, Any], Any], way_out: str) -> str:
    """The message of the error that is raised, in which there is a way out."""
    number = cw.scalar(bounds=(-9, 9))
    vector, matrix = cw.vector(4, bounds=(-9, 9)), cw.matrix(2, 2, bounds=(-9, 9))
    made = cw.circuit(x=number, v=vector, m=matrix)(function)
    with pytest.raises(CloakworkError, match=way_out) as refusal:
        made.compile(on="bits", threads=1)
    return str(refusal.value)


@pytest.mark.parametrize("place", range(len(REFUSED)))
def test_refused_with_a_line_and_a_way_out(place: int) -> None:
    assert "test_refusals.py:" in refusal_of(*REFUSED[place])


@pytest.mark.parametrize("place", range(len(RETURNED)))
def test_results_that_are_refused(place: int) -> None:
    refusal_of(*RETURNED[place])


def test_there_are_a_hundred() -> None:
    assert len(REFUSED) + len(RETURNED) >= 100
