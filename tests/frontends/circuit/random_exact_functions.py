"""Random functions of the whole language: the same on Python's integers and on symbols."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import cloakwork as cw
from cloakwork.frontends.circuit.followed import with_conditions

Compute = Callable[..., Any]


def quotient(a: Any, b: Any) -> Any:
    """a // b, and 0 of a division by 0."""
    return 0 if isinstance(b, int) and b == 0 else a // b


def remainder(a: Any, b: Any) -> Any:
    """a % b, and 0 of a division by 0."""
    return 0 if isinstance(b, int) and b == 0 else a % b


def entry(a: Any, *items: Any) -> Any:
    """One of several items."""
    place = a % len(items)
    return items[place] if isinstance(place, int) else cw.table(items)[place]


def negation(a: Any) -> Any:
    """Whether a number is 0."""
    return ~(a != 0) if not isinstance(a, int) else not a


# By how many operands each takes.
UNARY: Sequence[Compute] = (
    operator.neg,
    abs,
    # Of a Boolean ~ is its opposite, as numpy's, and not Python's.
    lambda a: ~(a + 0),
    negation,
    lambda a: a >> 2,
    lambda a: a << 3,
    lambda a: a % 10,
    lambda a: a // 10,
    lambda a: a // -3,
    lambda a: a % -7,
    lambda a: a & 7,
    lambda a: a * 13,
    lambda a: a % 8,
    lambda a: a // 16,
    lambda a: a * a,
    lambda a: a**3,
    lambda a: 2 ** (a % 9),
    lambda a: entry(a, 5, 0, -7, 100, 3, 2),
)
BINARY: Sequence[Compute] = (
    operator.add,
    operator.sub,
    operator.mul,
    quotient,
    remainder,
    operator.and_,
    operator.or_,
    operator.xor,
    lambda a, b: a << b % 5,
    lambda a, b: a >> b % 7,
    lambda a, b: (a % 6) ** (b % 4),
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
    lambda a, b: max(a, b, 4),
    lambda a, b: min(a, 5, b),
    lambda a, b: divmod(a, b % 9 + 1)[1],
)
TERNARY: Sequence[Compute] = (
    lambda a, b, c: cw.select(a < b, c, a),
    lambda a, b, c: sorted([a, b, c])[1],
    lambda a, b, c: any([a < b, b < c]) & all([a, b, c]),
    lambda a, b, c: entry(a, b, c, 7),
    lambda a, b, c: sum([a, b, c, 3]) - 2 * b,
)
_OPERATIONS: Mapping[int, Sequence[Compute]] = {
    count: [with_conditions(each) for each in functions]
    for count, functions in ((1, UNARY), (2, BINARY), (3, TERNARY))
}


@dataclass(frozen=True)
class RandomExactFunction:
    """A function of one vector, as a list of steps on values that are there already.

    Args:
        bounds: Of the elements.
        length: Of the vector.
        steps: The operation of each step, by operands and number, and the values that it takes.
    """

    bounds: tuple[int, int]
    length: int
    steps: tuple[tuple[int, int, tuple[int, ...]], ...]

    def __call__(self, x: Sequence[Any]) -> list[Any]:
        """Compute it, on Python's integers or on symbols."""
        values = list(x)
        for count, which, operands in self.steps:
            values.append(_OPERATIONS[count][which](*(values[each] for each in operands)))
        return values[-3:]


def random_function(random: Random, most: int = 8) -> RandomExactFunction:
    """A random function of up to so many steps."""
    low = random.choice([0, 0, -1, -8, -100, 3])
    bounds = low, low + random.choice([1, 2, 9, 100, 300])
    length = random.randint(1, 4)
    steps = []
    for at in range(random.randint(1, most)):
        count = random.choice([1, 1, 2, 2, 2, 2, 3])
        which = random.randrange(len(_OPERATIONS[count]))
        operands = tuple(random.randrange(length + at) for _ in range(count))
        steps.append((count, which, operands))
    return RandomExactFunction(bounds, length, tuple(steps))


def inputs_of(function: RandomExactFunction, random: Random, runs: int) -> list[list[int]]:
    """Inputs all over the bounds, and at their ends."""
    ends = [*function.bounds]
    low, high = function.bounds
    return [
        [random.choice([*ends, random.randint(low, high)]) for _ in range(function.length)]
        for _ in range(runs)
    ]
