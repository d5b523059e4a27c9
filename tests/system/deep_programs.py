"""Random slot programs deeper than their chain, with bootstraps, and the keys that run them all."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.polynomial.chebyshev import chebinterpolate

from cloakwork.plan.parameters.bootstrapping import least_level
from cloakwork.plan.passes.bootstraps import with_bootstraps
from cloakwork.plan.passes.simplify import simplified
from cloakwork.programs.bounds import polynomial_ceilings, value_bounds
from cloakwork.programs.keys import KeyRequirements
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import (
    Add,
    Bootstrap,
    Builder,
    Constant,
    DropLevel,
    Input,
    Linear,
    Mul,
    Neg,
    Output,
    Polynomial,
    Rescale,
    Rotate,
    SlotProgram,
    Sub,
    Vector,
)
from cloakwork.runtime.costs import comparable
from cloakwork.runtime.executor import estimated_results, run
from cloakwork.schemes.ckks import Ckks
from cloakwork.schemes.clear_real import ClearBackend, ClearVector

# No value exceeds this, so that a product of two is off by 1.2 times what they are at the most;
# sums before they are halved exceed it, up to what bootstraps are made for.
BOUND = 0.6
REFRESHED_BOUND = 2.0
# Rotations, few so that programs share keys.
STEPS = (1, 5)
_TOP = 60
_INPUTS = 2
# Functions by polynomials of degree 7, which take three levels.
_FUNCTIONS = (np.tanh, np.exp, np.cos, np.arctan, np.abs, lambda t: 1 / (1.5 + t))
_DEGREE = 7
_KINDS = ["product", "sum", "difference", "products", "rotation", "linear", "function"]
_OFTEN = [4, 2, 2, 2, 2, 1, 2]


class _Growing:
    """A program to which operations are added on values of any levels."""

    def __init__(self, rng: random.Random, slots: int) -> None:
        self.builder = Builder("deep", slots)
        self.values = [self.builder.append(Input(f"x{n}", _TOP)) for n in range(_INPUTS)]
        self._rng = rng
        self._slots = slots

    @property
    def depth(self) -> int:
        """Levels that the last value takes."""
        return _TOP - self.builder.level(self.values[-1])

    def grow(self) -> None:
        """Make a value of the last one, and of one of those before it."""
        a, b = self._pair()
        append, rng = self.builder.append, self._rng
        match rng.choices(_KINDS, _OFTEN)[0]:
            case "product":
                made = self._lifted(append(Rescale(append(Mul(a, b)))))
            case "sum":
                made = self._halved(append(Add(a, b)))
            case "difference":
                made = self._halved(append(Sub(a, append(Neg(b)))))
            case "products":
                both = append(Mul(a, a)), append(Mul(a, b))
                made = self._halved(append(Rescale(append(Sub(*both)))))
            case "rotation":
                made = self._halved(append(Add(a, append(Rotate(b, rng.choice(STEPS))))))
            case "linear":
                weights = np.random.default_rng(rng.getrandbits(32)).uniform(-1, 1, self._slots)
                made = append(Linear(a, {0: weights / 2, STEPS[0]: weights[::-1] / 2}, 1))
                made = append(Rescale(made))
            case _:
                made = append(Polynomial(a, self._function(), "chebyshev"))
        self.values.append(made)

    def _pair(self) -> tuple[int, int]:
        """The last value and an earlier one, at one level."""
        pair = self.values[-1], self._rng.choice(self.values[-4:])
        level = min(map(self.builder.level, pair))
        first, second = (
            each
            if self.builder.level(each) == level
            else self.builder.append(DropLevel(each, level))
            for each in pair
        )
        return first, second

    def _lifted(self, product: int) -> int:
        """A product with a constant, so that numbers do not vanish."""
        constant = np.full(self._slots, self._rng.uniform(0, BOUND - BOUND**2))
        return self.builder.append(Add(product, self.builder.append(Constant(constant))))

    def _halved(self, value: int) -> int:
        half = self.builder.append(Constant(np.full(self._slots, 0.5)))
        return self.builder.append(Rescale(self.builder.append(Mul(value, half))))

    def _function(self) -> tuple[float, ...]:
        """Coefficients whose absolute values add up to the bound."""
        found = chebinterpolate(self._rng.choice(_FUNCTIONS), _DEGREE)
        return tuple((found * (BOUND / np.abs(found).sum())).tolist())


def deep_program(seed: int, refreshing: Refreshing) -> SlotProgram:
    """Sums, products, rotations, functions and products with matrices, of values that join.

    Args:
        seed: Which of them.
        refreshing: What bootstraps do. It has one at least, most have several.
    """
    rng = random.Random(seed)
    growing = _Growing(rng, refreshing.chain.slots)
    between = refreshing.output_level - refreshing.input_level
    # Fresh values have the levels of SlotsToCoeffs beside those between bootstraps.
    deepest = refreshing.output_level + rng.choice([0, 0, between, 2 * between])
    while growing.depth <= deepest:
        growing.grow()
    growing.builder.append(Output(growing.values[-1]))
    costs = comparable(refreshing.chain).with_bootstrap(refreshing)
    whole = simplified(growing.builder.finish())
    return with_bootstraps(whole, refreshing, costs, floor=least_level(refreshing, BOUND))


def bootstraps(program: SlotProgram) -> int:
    """How many there are."""
    return sum(isinstance(each, Bootstrap) for each in program.operations)


class Bench:
    """A secret key and the evaluation keys of several programs under one parameter set.

    Args:
        refreshing: The parameter set.
        programs: The programs.
    """

    def __init__(self, refreshing: Refreshing, programs: Sequence[SlotProgram]) -> None:
        self._scheme = Ckks(refreshing.chain, refreshing)
        self._secret = self._scheme.secret_key()
        needed = KeyRequirements()
        for program in programs:
            needed = needed.joined(self._scheme.required_keys(program))
        keys = self._scheme.keys_for(self._secret, needed)
        self._backend: Any = self._scheme.backend(keys, cache_bytes=0)

    def ratio(self, program: SlotProgram, seed: int) -> float:
        """The error of a run on random inputs, against the clear backend, by what is stated."""
        entries = [each for each in program.operations if isinstance(each, Input)]
        rng = np.random.default_rng(seed)
        inputs = [rng.uniform(-BOUND, BOUND, program.slots) for _ in entries]
        for vector in inputs:
            vector[:2] = -BOUND, BOUND
        levels = [each.level for each in entries]
        ceilings = polynomial_ceilings(program)
        bounds = value_bounds(program, [np.full(program.slots, BOUND)] * len(inputs), ceilings)
        [estimates] = estimated_results(self._scheme, program, [BOUND] * len(inputs), bounds)
        encrypted = [
            self._scheme.encrypt_vector(self._secret, vector, level=level, bound=BOUND)
            for vector, level in zip(inputs, levels, strict=True)
        ]
        outputs = run(program, self._backend, encrypted, bounds=bounds)
        found = self._scheme.decrypt(self._secret, outputs, program, estimates)
        [expected] = _in_clear(program, inputs, levels)
        [vector] = found.vectors
        return float(np.abs(np.asarray(vector).real - expected).max() / found.error)


def _in_clear(
    program: SlotProgram, inputs: Sequence[Vector], levels: Sequence[int]
) -> list[Vector]:
    vectors = [ClearVector(*pair) for pair in zip(inputs, levels, strict=True)]
    return [each.slots for each in run(program, ClearBackend(), vectors)]
