"""Times the operations of the CKKS backend on this machine."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from cloakwork._native import Evaluator, Parameters, SecretKey
from cloakwork.backends.ckks import CkksBackend, CkksKey

_Work: TypeAlias = Callable[[], Any]

# The least of so many runs; the first also warms the engine's memory up.
_RUNS = 4
_HOISTED = 8
# Few, as keys are the most that timing takes of memory.
_STEPS = (1, 2, 3)
_SPACING = len(_STEPS) + 1


def operation_seconds(parameters: Parameters, level: int) -> dict[str, float]:
    """Seconds of each kind of operation at a level, named as `plan.cost.LevelCosts` names them.

    Takes fresh keys that end with it. Part of a second for a ring of degree 2^14.

    Args:
        parameters: The parameter set.
        level: A level from 1 up; the inputs of the operations stand there.

    Raises:
        LevelExhaustedError: The level is 0, at which most operations do not exist.

    Example:
        >>> seconds = operation_seconds(Parameters(levels=1, log_n=10, insecure=True), 1)
        >>> seconds["addition"] < seconds["rotation"]
        True
    """
    key = CkksKey(parameters, SecretKey.generate(parameters))
    giants = tuple(_SPACING * step for step in _STEPS)
    keys = key.evaluation_keys(level, dict.fromkeys(_STEPS + giants, level))
    backend = CkksBackend(parameters, keys)
    evaluator = Evaluator(keys)
    vector = np.random.default_rng(0).uniform(-1, 1, parameters.slots)
    value = key.encrypt(vector, bound=1.0, level=parameters.levels)
    if level < parameters.levels:
        value = backend.drop_level(value, level)
    product = backend.multiply_constant(value, vector)

    def linear(diagonals: int) -> float:
        vectors = dict.fromkeys(range(diagonals), vector)
        return _least_seconds(lambda: backend.linear(value, vectors, _SPACING))

    seconds = {
        name: _least_seconds(work)
        for name, work in {
            "rotation": lambda: backend.rotate(value, 1),
            "product": lambda: backend.multiply(value, value),
            "rescale": lambda: backend.rescale(product),
            "encoding": lambda: parameters.encode(vector, level=level),
            "plaintext_product": lambda: backend.multiply_constant(value, vector),
            "addition": lambda: backend.add(value, value),
            "drop_level": lambda: backend.drop_level(value, level - 1),
        }.items()
    }
    hoisted = _least_seconds(lambda: evaluator.rotate_hoisted(value, [1] * _HOISTED))
    further = min((hoisted - seconds["rotation"]) / (_HOISTED - 1), seconds["rotation"])
    # Both transforms have the fixed part; the square has its rotations and diagonals besides.
    single, square = linear(1), linear(_SPACING**2)
    rotations = len(_STEPS) * (further + seconds["rotation"])
    diagonal = (square - single - rotations) / (_SPACING**2 - 1)
    parts = {"hoisted_rotation": further, "linear": single - diagonal, "diagonal": diagonal}
    # A difference of two noisy times may come out as nothing, which no operation takes.
    return seconds | {name: max(part, seconds["addition"]) for name, part in parts.items()}


def _least_seconds(work: _Work) -> float:
    seconds = []
    for _ in range(_RUNS):
        start = perf_counter()
        work()
        seconds.append(perf_counter() - start)
    return min(seconds)
