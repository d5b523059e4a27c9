"""Programs in a row between slots and bits, what they are run on, and which results are right."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import torch

import cloakwork as cw
from cloakwork.runtime.leaving import Leaving, border
from examples.boolean.deciphered_regression import BIAS, FRACTION, WEIGHTS, circuits, enciphered
from examples.boolean.deciphered_regression import programs as deciphering
from examples.nn.training import train_lenet

# Equal to what is computed in the clear; off by no more than errors and rounding allow; or wrong.
Verdict: TypeAlias = Literal["equal", "close", "wrong"]
_SEED = 20260731
# Of the scores of an image.
_SCORE_BITS = 12
_TABLE_BITS = 8
_TABLE = np.random.default_rng(_SEED).integers(0, 256, 1 << _TABLE_BITS)
_TEXTS = np.random.default_rng(_SEED).normal(size=(100, 64))


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a row.

    Args:
        arguments: What the first program takes encrypted.
        judge: What a result of the last program is.
        clear: What the evaluator of the first program knows.
    """

    arguments: Mapping[str, Any]
    judge: Callable[[Any], Verdict]
    clear: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Task:
    """Programs that follow one another under one key, and their runs."""

    programs: tuple[cw.Program, ...]
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """A task by name.

    Args:
        name: What it is called in the report.
        make: Makes it for so many runs.
    """

    name: str
    make: Callable[[int], Task]


def _verdict(*, equal: bool, close: bool) -> Verdict:
    return "equal" if equal else "close" if close else "wrong"


def _border(program: cw.Program) -> float:
    """How near to a border of rounding numbers may be rounded to either side."""
    (link,) = program.after
    assert isinstance(link, Leaving)
    return border(program, link)


def _regression(runs: int) -> Task:
    """AES-128 in counter mode deciphers ten numbers, which a logistic regression takes."""
    circuit, expand_key = circuits()
    first, second = deciphering(circuit)
    rng = np.random.default_rng(_SEED)
    key = secrets.token_bytes(16)

    def run() -> Run:
        numbers = rng.integers(-2 << FRACTION, 2 << FRACTION, len(WEIGHTS)) / 2**FRACTION
        counter = secrets.token_bytes(16)
        wanted = 1 / (1 + math.exp(-(numbers @ WEIGHTS + BIAS)))
        return Run(
            {"key": expand_key.run_clear(key=key)["out"]},
            lambda found: _verdict(equal=abs(found - wanted) < (second.error or 0.0), close=False),
            {"block": counter, "message": enciphered(key, counter, numbers)},
        )

    return Task((first, second), tuple(run() for _ in range(runs)))


def _looked_up(runs: int) -> Task:
    """A table of 256 entries on 64 results over reals."""
    rng = np.random.default_rng(_SEED)
    weights = rng.uniform(-1, 1, (64, 16)) / 16
    first = cw.compile(lambda x: weights @ x, (16,), log_n=14, precision=18)
    port = cw.Port("v", "signed", _TABLE_BITS, shape=(64,), fraction=_TABLE_BITS - 1)
    second = cw.boolean.table(port, _TABLE).compile(after={"v": cw.result(first)})
    first, second = cw.together(first, second)
    off = _border(second)

    def run() -> Run:
        x = rng.uniform(-1, 1, 16)
        scaled = weights @ x * 2**port.fraction
        low, high = (np.floor(scaled + side * off * 2**port.fraction + 0.5) for side in (-1, 1))
        usual, *others = (
            _TABLE[each.astype(int) % len(_TABLE)] for each in (np.round(scaled), low, high)
        )

        def judge(found: Any) -> Verdict:
            entries = found["entries"]
            is_close = np.logical_or.reduce([entries == each for each in others])
            return _verdict(equal=bool((entries == usual).all()), close=bool(is_close.all()))

        return Run({"x": x}, judge)

    return Task((first, second), tuple(run() for _ in range(runs)))


def _greatest(runs: int) -> Task:
    """The greatest of four results over integers, exactly."""

    @cw.circuit(a=cw.vector(4, bounds=(-8, 7)), b=cw.vector(4, bounds=(-8, 7)))
    def products(a: Any, b: Any) -> Any:
        return [x * y + x for x, y in zip(a, b, strict=True)]

    first = products.compile(bits=18)
    port = cw.Port("v", "signed", 8, shape=(4,))
    second = cw.boolean.argmax(port).compile(after={"v": cw.result(first)})
    first, second = cw.together(first, second)
    rng = np.random.default_rng(_SEED)

    def run() -> Run:
        a, b = rng.integers(-8, 8, (2, 4))
        values = a * b + a
        wanted = {"index": int(values.argmax()), "greatest": int(values.max())}
        return Run(
            {"a": a.tolist(), "b": b.tolist()},
            lambda found: _verdict(equal=found == wanted, close=False),
        )

    return Task((first, second), tuple(run() for _ in range(runs)))


def _top_five(runs: int) -> Task:
    """The five texts of a hundred that a query is most similar to."""
    texts = _TEXTS / np.linalg.norm(_TEXTS, axis=1, keepdims=True)
    spec = cw.Spec((64,), bound=0.5)
    first = cw.compile(lambda query: texts @ query, spec, log_n=14, precision=18)
    # A range of results for all queries is larger than that of vectors of length 1.
    bits = math.ceil(math.log2(np.abs(texts).sum(axis=1).max() / 2))
    port = cw.Port("similar", "signed", 8, shape=(100,), fraction=7 - bits)
    second = cw.boolean.top(port, 5).compile(after={"similar": cw.result(first)})
    first, second = cw.together(first, second)
    slack = 2 * _border(second) + 2.0**-port.fraction
    rng = np.random.default_rng(_SEED)

    def run() -> Run:
        query = rng.normal(size=64)
        query *= 0.5 / np.abs(query).max()
        values = texts @ query
        best = np.sort(values)[::-1][:5]

        def judge(found: Any) -> Verdict:
            chosen = found["indices"]
            several = len(set(chosen.tolist())) == len(best)
            is_equal = several and set(chosen.tolist()) == set(np.argsort(values)[-5:].tolist())
            is_close = several and bool((values[chosen] > best - slack).all())
            return _verdict(equal=is_equal, close=is_close)

        return Run({"query": query}, judge)

    return Task((first, second), tuple(run() for _ in range(runs)))


def _classified(runs: int) -> Task:
    """The digit that LeNet sees in an image: the greatest of its ten scores."""
    trained = train_lenet()
    network = cw.nn.compile(
        trained.module,
        trained.data.test[:1],
        calibration=trained.data.train[:256],
        precision=8,
    )
    (scores,) = network.outputs
    assert scores.low is not None
    assert scores.high is not None
    bits = math.ceil(math.log2(max(-scores.low, scores.high)))
    port = cw.Port(
        "scores", "signed", _SCORE_BITS, shape=scores.shape, fraction=_SCORE_BITS - 1 - bits
    )
    last = cw.boolean.argmax(port).compile(after={"scores": cw.result(network)})
    network, last = cw.together(network, last)
    slack = 2 * (_border(last) + (network.error or 0.0)) + 2.0**-port.fraction
    images = trained.data.test[:runs]
    with torch.no_grad():
        clear = trained.module(images).double().numpy()

    def run(image: Any, expected: Any) -> Run:
        def judge(found: Any) -> Verdict:
            digit = found["index"]
            return _verdict(
                equal=digit == expected.argmax(), close=expected.max() - expected[digit] < slack
            )

        return Run({network.inputs[0].name: image}, judge)

    pairs = zip(images.double().numpy(), clear, strict=True)
    return Task((network, last), tuple(run(*pair) for pair in pairs))


JOBS = (
    Job("AES, then a regression", _regression),
    Job("table on 64 results", _looked_up),
    Job("greatest of four integers", _greatest),
    Job("top five of 100", _top_five),
    Job("LeNet's digit", _classified),
)
