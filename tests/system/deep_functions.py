"""Random functions of encrypted matrices that are deeper than a chain, as a person writes them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import cloakwork as cw
from cloakwork.programs.slots import Bootstrap, SlotProgram

Array: TypeAlias = NDArray[np.float64]
Step: TypeAlias = Callable[[Any, Any], Any]

# No value of a function exceeds this, nor does an input.
BOUND = 0.7
SIDE = 4
PRECISION = 10
_INPUTS = 2
# Products in a row. All take two levels and more, and fresh ciphertexts have thirteen.
_DEPTHS = range(8, 13)
_FUNCTIONS = (np.tanh, np.sin, np.cos, np.arctan)


@dataclass(frozen=True)
class DeepFunction:
    """A function of two matrices: every step makes a value of the last one and an earlier one.

    Args:
        steps: What each step makes of the two.
        earlier: For each step how many values before the last the other one is.
    """

    steps: tuple[Step, ...]
    earlier: tuple[int, ...]

    def __call__(self, *inputs: Any) -> Any:
        """The last value, of arrays or of encrypted tensors."""
        values = list(inputs)
        for step, earlier in zip(self.steps, self.earlier, strict=True):
            values.append(step(values[-1], values[-1 - earlier]))
        return values[-1]


def deep_function(seed: int) -> DeepFunction:
    """Products, sums, functions, matrix products and moves, of values that join.

    Args:
        seed: Which of them. All values are within the bound wherever inputs are.
    """
    rng = random.Random(seed)
    steps: list[Step] = []
    products = 0
    depth = rng.choice(_DEPTHS)
    while products < depth:
        kind = rng.choices(list(_KINDS), [each.often for each in _KINDS.values()])[0]
        steps.append(_KINDS[kind].make(rng))
        products += _KINDS[kind].products
    # Its constant makes the result larger than its error.
    steps.append(_product(rng))
    before = range(_INPUTS, _INPUTS + len(steps))
    return DeepFunction(tuple(steps), tuple(rng.randrange(min(3, count)) for count in before))


def compiled(function: DeepFunction, log_n: int, *, insecure: bool) -> cw.Program:
    """The program of a function, on the chain between bootstraps."""
    specs = [cw.Spec((SIDE, SIDE), bound=BOUND)] * _INPUTS
    return cw.compile(
        function, *specs, precision=PRECISION, log_n=log_n, insecure=insecure, bootstrap=True
    )


def inputs_of(seed: int) -> Array:
    """Random inputs, both ends of their range among them."""
    made = np.random.default_rng(seed).uniform(-BOUND, BOUND, (_INPUTS, SIDE, SIDE))
    made[:, 0, :2] = -BOUND, BOUND
    return made


def bootstraps(program: cw.Program) -> int:
    """How many there are, two at once counted as one."""
    assert isinstance(program.body, SlotProgram)
    return sum(isinstance(each, Bootstrap) for each in program.body.operations)


@dataclass(frozen=True)
class _Kind:
    """A kind of step.

    Args:
        make: Makes one.
        often: How often it is taken, beside others.
        products: As how many products in a row it counts.
    """

    make: Callable[[random.Random], Step]
    often: int
    products: int


def _product(rng: random.Random) -> Step:
    constant = rng.uniform(0.28, 0.35)
    return lambda a, b: 0.7 * (a * b) + constant


def _products(rng: random.Random) -> Step:
    constant = rng.uniform(-0.2, 0.2)
    return lambda a, b: 0.5 * (a * a - b * b) + constant


def _sum(rng: random.Random) -> Step:
    return rng.choice([lambda a, b: 0.5 * (a + b), lambda a, b: 0.5 * (a - b)])


def _mean(_: random.Random) -> Step:
    return lambda a, b: 0.5 * (a.mean(axis=0) + b)


def _transposed(_: random.Random) -> Step:
    return lambda a, b: 0.5 * (a.T - b)


def _turned(_: random.Random) -> Step:
    def step(a: Any, b: Any) -> Any:
        return np.concatenate([a[1:], b[:1]])

    return step


def _matrix(rng: random.Random) -> Step:
    weights = np.random.default_rng(rng.getrandbits(32)).uniform(-1, 1, (SIDE, SIDE)) / SIDE
    return lambda a, _: a @ weights


def _matrices(_: random.Random) -> Step:
    return lambda a, b: (a @ b) * (1 / SIDE)


def _function(rng: random.Random) -> Step:
    function = rng.choice(_FUNCTIONS)
    return lambda a, _: BOUND * function(a)


_KINDS = {
    "product": _Kind(_product, 12, 1),
    "products": _Kind(_products, 5, 1),
    "sum": _Kind(_sum, 5, 0),
    "mean": _Kind(_mean, 1, 0),
    "transposed": _Kind(_transposed, 1, 0),
    "turned": _Kind(_turned, 1, 0),
    "matrix": _Kind(_matrix, 1, 0),
    "matrices": _Kind(_matrices, 1, 1),
    "function": _Kind(_function, 1, 2),
}
