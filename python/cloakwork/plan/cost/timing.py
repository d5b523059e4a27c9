"""Times the operations of the CKKS backend on this machine, in programs that are run."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from time import process_time
from typing import TypeAlias

import numpy as np

from cloakwork._native import Parameters, threads
from cloakwork.programs.bounds import value_bounds
from cloakwork.programs.keys import KeyRequirements
from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    DropLevel,
    Input,
    Linear,
    Mul,
    Rescale,
    Rotate,
    RotatedProducts,
    SlotProgram,
    SwitchProduct,
    Vector,
)
from cloakwork.runtime.costs import WIDE_ROTATIONS
from cloakwork.runtime.executor import run
from cloakwork.schemes.ckks import Ckks

# Appends operations to a program that has two inputs, numbers 0 and 1, and a constant, 2.
_Body: TypeAlias = Callable[[Builder], None]

_INPUTS = 2
_CLEAR = 2
# Operations of one kind in a program, which is long enough that it tells them from the run.
_REPEATS = 5
_MANY = 5 * _REPEATS
# A program is run at least and at most so often, besides once to warm up, and no further
# once it has taken so many seconds.
_FEWEST_RUNS = 3
_MOST_RUNS = 9
_ENOUGH_SECONDS = 0.1
# Of a rotation that is timed by itself. The clock of the process may go in large steps.
_FEWEST_ROTATIONS, _MOST_ROTATIONS, _LEAST_SECONDS = 20, 1000, 1e-4
# Small, so that no sum or product outgrows what a ciphertext can hold.
_BOUND = 2.0**-10
# Of rotated products.
_FEW_TERMS, _MANY_TERMS = 8, 64
_FEW_ROTATIONS, _MANY_ROTATIONS = WIDE_ROTATIONS, 4 * WIDE_ROTATIONS
_NARROW_ROTATIONS = WIDE_ROTATIONS // 2
# A linear transform of so many rotations, counting the one by 0. Few, as keys are the most
# that timing takes of memory.
_BABY = 4
_GIANT = 4


def seconds_beside_operations(parameters: Parameters) -> float:
    """CPU seconds that a run of a program takes besides its operations.

    Example:
        >>> seconds_beside_operations(Parameters(levels=0, log_n=10, insecure=True)) > 0
        True
    """
    timing = _Timing(parameters, 0, rotations=())
    few, many = timing.of(_additions(_REPEATS)), timing.of(_additions(_MANY))
    # The difference of two noisy times may be anything, but a run takes some of the time.
    return max(few - _REPEATS * (many - few) / (_MANY - _REPEATS), few / _MANY)


def rotation_seconds(parameters: Parameters) -> float:
    """CPU seconds of a rotation at the highest level, timed once for each set and thread count.

    It transforms, converts and streams a key through memory as most operations do, so that it tells
    how fast a machine is at all of that. Takes a key that ends with it, and as long as that takes
    to make: three seconds at N = 2^16. What other threads of the process do meanwhile counts, too.

    Example:
        >>> 0 < rotation_seconds(Parameters(levels=1, log_n=10, insecure=True)) < 1
        True
    """
    found = _rotation_seconds.get((parameters.fingerprint, threads()))
    if found is None:
        found = _timed_rotation(parameters)
        _rotation_seconds[parameters.fingerprint, threads()] = found
    return found


_rotation_seconds: dict[tuple[str, int], float] = {}


def _timed_rotation(parameters: Parameters) -> float:
    top = parameters.levels
    scheme = Ckks(parameters)
    secret = scheme.secret_key()
    keys = scheme.keys_for(secret, KeyRequirements(None, {1: top}))
    backend = scheme.backend(keys, cache_bytes=0)
    vector = np.full(parameters.slots, _BOUND)
    value = scheme.encrypt_vector(secret, vector, level=top, bound=_BOUND)
    backend.rotate(value, 1)
    seconds: list[float] = []
    while len(seconds) < _FEWEST_ROTATIONS or (
        len(seconds) < _MOST_ROTATIONS and sum(seconds) < _ENOUGH_SECONDS
    ):
        start = process_time()
        backend.rotate(value, 1)
        seconds.append(process_time() - start)
    # Whatever else the machine does makes some of them slow, most of them where it lasts a second.
    typical, *_ = statistics.quantiles(seconds, n=4)
    return typical or max(sum(seconds), _LEAST_SECONDS) / len(seconds)


def measured_seconds(parameters: Parameters, level: int) -> dict[str, float]:
    """CPU seconds of each kind of operation at a level, as `runtime.costs.LevelCosts` names them.

    Programs of one kind of operation each are run as any program is, and what a run takes
    besides is taken off: what an operation costs the executor is in its price, and its memory
    is as warm as it is in a program. Takes fresh keys that end with it. About a second for a
    ring of degree 2^14.

    Example:
        >>> seconds = measured_seconds(Parameters(levels=1, log_n=10, insecure=True), 0)
        >>> sorted(seconds)
        ['addition', 'encoding', 'hoisted_rotation', 'rotation']
    """
    steps = range(1, _BABY) if level else range(1, 2)
    giants = [_BABY * step for step in range(1, _GIANT)] if level else []
    timing = _Timing(parameters, level, rotations=[*steps, *giants])
    few, many = timing.of(_additions(_REPEATS)), timing.of(_additions(_MANY))
    addition = (many - few) / (_MANY - _REPEATS)
    besides = few - _REPEATS * addition
    rotation = (timing.of(_rotations) - besides) / _REPEATS
    hoisted = timing.of(_hoisted_rotations) - besides - rotation
    seconds = {
        "addition": addition,
        "encoding": (timing.of(_encodings) - besides) / _REPEATS - addition,
        "rotation": rotation,
        "hoisted_rotation": hoisted / (_REPEATS - 1) - addition,
    }
    if level:
        seconds |= _products(timing, besides, addition)
        seconds |= _transforms(timing, besides + seconds["rescale"])
        seconds |= _rotated_products(timing, seconds["rescale"])
    # A difference of two noisy times may come out as nothing, which no operation takes.
    least = max(addition, few / _MANY) / _REPEATS
    return {kind: max(each, least) for kind, each in seconds.items()}


class _Timing:
    """Times programs at a level."""

    def __init__(self, parameters: Parameters, level: int, rotations: Sequence[int]) -> None:
        scheme = Ckks(parameters)
        secret = scheme.secret_key()
        # At level 0 there are no products.
        # Of rotated products the one that is not rotated, which the relinearisation key serves.
        needed = KeyRequirements(level or None, dict.fromkeys(rotations, level))
        self._level = level
        self._backend = scheme.backend(scheme.keys_for(secret, needed), cache_bytes=0)
        self._vector = np.random.default_rng(0).uniform(-_BOUND, _BOUND, parameters.slots)
        self._inputs = [
            scheme.encrypt_vector(secret, self._vector, level=level, bound=_BOUND)
            for _ in range(_INPUTS)
        ]
        self._bounds = [np.full(parameters.slots, _BOUND)] * _INPUTS

    def of(self, body: _Body) -> float:
        """Median CPU seconds of a run of a program."""
        builder = Builder("timing", slots=len(self._vector))
        for number in range(_INPUTS):
            builder.append(Input(str(number), self._level))
        builder.append(Constant(self._vector))
        body(builder)
        program = builder.finish()
        bounds = value_bounds(program, self._bounds)
        self._run(program, bounds)
        seconds: list[float] = []
        while len(seconds) < _FEWEST_RUNS or (
            len(seconds) < _MOST_RUNS and sum(seconds) < _ENOUGH_SECONDS
        ):
            seconds.append(self._run(program, bounds))
        return statistics.median(seconds)

    def _run(self, program: SlotProgram, bounds: Sequence[float | None]) -> float:
        start = process_time()
        run(program, self._backend, self._inputs, bounds=bounds)
        return process_time() - start

    def diagonals(self, numbers: Sequence[int]) -> dict[int, Vector]:
        """Diagonals of a linear transform."""
        return {number: np.roll(self._vector, number) for number in numbers}


def _products(timing: _Timing, besides: float, addition: float) -> dict[str, float]:
    sums = (_REPEATS - 1) * addition
    together, apart = timing.of(_rescaled_once(_CLEAR)), timing.of(_rescaled_each(_CLEAR))
    rescale = (apart - together) / (_REPEATS - 1)
    clear = (together - besides - sums - rescale) / _REPEATS
    together, apart = timing.of(_rescaled_once(1)), timing.of(_rescaled_each(1))
    # Sums of products that are not relinearised have three polynomials for two.
    both = (apart - together + sums / 2) / (_REPEATS - 1)
    return {
        "rescale": rescale,
        "plaintext_product": clear,
        "relinearisation": both - rescale,
        "product": (together - besides - 3 * sums / 2 - both) / _REPEATS,
        "drop_level": (timing.of(_drops) - besides) / _REPEATS,
    }


def _transforms(timing: _Timing, besides: float) -> dict[str, float]:
    def of(babies: int, giants: int) -> float:
        numbers = [_BABY * giant + baby for giant in range(giants) for baby in range(babies)]
        diagonals = timing.diagonals(numbers)
        return timing.of(lambda builder: _transform(builder, diagonals)) - besides

    one, babies, giants, all_of_them = of(1, 1), of(_BABY, 1), of(1, _GIANT), of(_BABY, _GIANT)
    diagonal = (all_of_them - babies - giants + one) / ((_BABY - 1) * (_GIANT - 1))
    return {
        "linear": one - diagonal,
        "baby_step": (babies - one) / (_BABY - 1) - diagonal,
        "giant_step": (giants - one) / (_GIANT - 1) - diagonal,
        "diagonal": diagonal,
    }


def _rotated_products(timing: _Timing, rescale: float) -> dict[str, float]:
    """Few and many terms and rotations tell what each takes; a switch is one more of one product.

    The product that is not rotated takes what the others do: two key switches and a division.
    """
    few, long, wide = (
        timing.of(_products_of(terms, rotations, 1))
        for terms, rotations in (
            (_FEW_TERMS, _FEW_ROTATIONS),
            (_MANY_TERMS, _FEW_ROTATIONS),
            (_MANY_TERMS, _MANY_ROTATIONS),
        )
    )
    switched = timing.of(_products_of(_FEW_TERMS, _FEW_ROTATIONS, 1 + _REPEATS))
    narrow = [
        timing.of(_products_of(terms, _NARROW_ROTATIONS, 1)) for terms in (_FEW_TERMS, _MANY_TERMS)
    ]
    term = (wide - long) / (_MANY_TERMS * (_MANY_ROTATIONS - _FEW_ROTATIONS))
    operand = (long - few) / (_MANY_TERMS - _FEW_TERMS) - _FEW_ROTATIONS * term
    pair = (narrow[1] - narrow[0]) / (_MANY_TERMS - _FEW_TERMS)
    return {
        "gathering": operand / 2,
        "rotated_term": term,
        "narrow_term": (pair - operand) / _NARROW_ROTATIONS,
        "product_switch": (switched - few) / _REPEATS - rescale,
    }


def _products_of(terms: int, rotations: int, switches: int) -> _Body:
    def body(builder: Builder) -> None:
        step = max(1, builder.slots // rotations)
        products = builder.append(RotatedProducts((0,) * terms, (1,) * terms, step))
        for _ in range(switches):
            builder.append(Rescale(builder.append(SwitchProduct(products, 0))))

    return body


def _additions(count: int) -> _Body:
    def body(builder: Builder) -> None:
        total = 0
        for _ in range(count):
            total = builder.append(Add(total, 1))

    return body


def _encodings(builder: Builder) -> None:
    total = 0
    for _ in range(_REPEATS):
        total = builder.append(Add(total, _CLEAR))


def _rotations(builder: Builder) -> None:
    value = 0
    for _ in range(_REPEATS):
        value = builder.append(Rotate(value, 1))


def _hoisted_rotations(builder: Builder) -> None:
    _sum(builder, [builder.append(Rotate(0, 1)) for _ in range(_REPEATS)])


def _rescaled_once(factor: int) -> _Body:
    def body(builder: Builder) -> None:
        products = [builder.append(Mul(0, factor)) for _ in range(_REPEATS)]
        builder.append(Rescale(_sum(builder, products)))

    return body


def _rescaled_each(factor: int) -> _Body:
    def body(builder: Builder) -> None:
        products = [builder.append(Mul(0, factor)) for _ in range(_REPEATS)]
        _sum(builder, [builder.append(Rescale(product)) for product in products])

    return body


def _drops(builder: Builder) -> None:
    for _ in range(_REPEATS):
        builder.append(DropLevel(0, builder.level(0) - 1))


def _transform(builder: Builder, diagonals: dict[int, Vector]) -> None:
    builder.append(Rescale(builder.append(Linear(0, diagonals, _BABY))))


def _sum(builder: Builder, values: Sequence[int]) -> int:
    total, *others = values
    for value in others:
        total = builder.append(Add(total, value))
    return total
