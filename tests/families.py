"""One small program of every family, what it is given, and what comes out."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from unittest import mock

import numpy as np

import cloakwork as cw
from benchmarks.nn.networks import SQUARE, Weights, network
from cloakwork.frontends.boolean.circuit import Circuit
from cloakwork.plan.networks.compile_graph import compile_graph
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.programs.gates import GateBuilder, GateKind, GateProgram
from cloakwork.programs.ir.layer_values import evaluate
from cloakwork.programs.port import Port
from cloakwork.schemes.tfhe_noise import FAILURE_BITS

RNG = np.random.default_rng(3)
A, B = RNG.uniform(-1, 1, (4, 8)), RNG.uniform(-2, 2, (8, 3))
IMAGE = RNG.uniform(-1, 1, 5)
WEIGHTS = Weights()
GRAPH = network((5,), WEIGHTS.linear(3, 5), SQUARE, WEIGHTS.linear(2, 3))
SAMPLES = np.concatenate([IMAGE[None], RNG.uniform(-1, 1, (3, 5))])
MATRIX, ADDEND = [[1, -2], [3, 4]], 5


def scores(a: Any, b: Any) -> tuple[Any, Any]:
    return a @ b, a.sum(axis=1)


def tensors(log_n: int | None = 10) -> cw.Program:
    """A matrix product and sums of rows."""
    return cw.compile(
        scores,
        cw.Spec((4, 8)),
        cw.Spec((8, 3), 2.0),
        public_inputs=True,
        log_n=log_n,
        insecure=log_n is not None,
    )


def networks(log_n: int | None = 9) -> cw.Program:
    """Two dense layers with a square in between, two inputs beside each other."""
    options = NetworkOptions(
        title="dense",
        batch=2,
        public_inputs=True,
        log_n=log_n,
        insecure=log_n is not None,
    )
    return compile_graph(GRAPH, SAMPLES, options)


@cw.circuit(x=cw.matrix(2, 2, bounds=(-9, 9)), s=cw.scalar(bits=5))
def some(x: Any, s: Any) -> Any:
    return {"product": [x[0, 0] * x[1, 0] + s, x[0, 1] * x[1, 1]], "rest": (7,)}


def circuits(log_n: int | None = 11) -> cw.Program:
    """Products and a sum, modulo two primes."""
    return some.compile(
        bits=36,
        batch=3,
        effort=0.1,
        public_inputs=True,
        log_n=log_n,
        insecure=log_n is not None,
    )


def greater(bits: int, title: str = "greater") -> GateProgram:
    """Whether a is above b, and the bits in which they differ."""
    builder = GateBuilder(title, (Port("a", "unsigned", bits), Port("b", "unsigned", bits)))
    differ = [builder.append(GateKind.XOR, bit, bits + bit) for bit in range(bits)]
    above = builder.append(GateKind.ZERO)
    for bit in range(bits):
        above = builder.append(GateKind.MUX, differ[bit], bit, above)
    builder.output(Port("above", "unsigned", 1), [above])
    builder.output(Port("differ", "bits", bits), differ)
    return builder.finish()


def bits(_: int | None = None) -> cw.Program:
    """A comparison; there are no parameters for bits that are not secure."""
    return mapped(greater(3))


# Seconds as on a Zen 3.
SECONDS = {"space4": 0.0054, "space4x2": 0.0079, "space8": 0.0086, "space16": 0.0096}


def mapped(gates: GateProgram, threads: int = 1, failure_bits: int = FAILURE_BITS) -> cw.Program:
    """What the compile of a circuit makes."""
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.dict(os.environ, XDG_CACHE_HOME=folder),
    ):
        return Circuit(gates).compile(threads=threads, failure_bits=failure_bits)


@dataclass(frozen=True)
class Family:
    """One family, encrypted or in the clear.

    Args:
        name: Its name.
        make: Makes the program, in a ring that is too small for security, or by None in one
            that is not.
        arguments: What the program is given, by name.
        expected: What comes out.
        clear: Whether it is the twin that hides nothing.
    """

    name: str
    make: Callable[[int | None], cw.Program]
    small: int | None
    arguments: Mapping[str, Any]
    expected: Any
    clear: bool = False

    @property
    def program(self) -> cw.Program:
        """The program, made once."""
        return _program(self.name, self.clear)

    @property
    def hides(self) -> bool:
        """Whether numbers are encrypted."""
        return not self.clear

    def keys(self) -> tuple[cw.Client, cw.Evaluator]:
        """A client and its evaluator; the keys are made once, the client has given out nothing."""
        client, evaluator = _keys(self.name, self.clear)
        return cw.Client(client.program, client._key, client._key_id), evaluator

    def encrypted(self) -> cw.Encrypted:
        """The arguments, encrypted once."""
        return _encrypted(self.name, self.clear)

    def is_right(self, found: Any) -> bool:
        """Whether these are the results, as close as the family promises."""
        return same(found, self.expected, 2.0**-14)

    def __str__(self) -> str:
        return f"{self.name}, clear" if self.clear else self.name


def same(found: Any, expected: Any, tolerance: float) -> bool:
    """Whether results are equal in form, and numbers as close as asked; integers always equal."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(
            same(found[name], each, tolerance) for name, each in expected.items()
        )
    if isinstance(expected, tuple | list):
        return (
            type(found) is type(expected)
            and len(found) == len(expected)
            and all(same(*pair, tolerance) for pair in zip(found, expected, strict=True))
        )
    if isinstance(expected, np.ndarray) and expected.dtype.kind == "f":
        return (
            isinstance(found, np.ndarray)
            and found.shape == expected.shape
            and bool((np.abs(found - expected) <= tolerance).all())
        )
    return type(found) is type(expected) and bool(np.array_equal(found, expected))


_HIDDEN = (
    Family("tensors", tensors, 10, {"a": A, "b": B}, (A @ B, A.sum(axis=1))),
    Family("networks", networks, 9, {"input": IMAGE}, evaluate(GRAPH, IMAGE[None])[0]),
    Family(
        "circuits",
        circuits,
        11,
        {"x": MATRIX, "s": ADDEND},
        {"product": [1 * 3 + 5, -8], "rest": (7,)},
    ),
    Family(
        "bits",
        bits,
        None,
        {"a": 5, "b": 3},
        {"above": 1, "differ": np.array([0, 1, 1], dtype=np.uint8)},
    ),
)
FAMILIES = (
    *_HIDDEN,
    *(
        Family(each.name, each.make, each.small, each.arguments, each.expected, clear=True)
        for each in _HIDDEN
    ),
)
ENCRYPTED = FAMILIES[: len(_HIDDEN)]
TENSORS, NETWORKS, CIRCUITS, BITS = ENCRYPTED
BY_NAME = {str(each): each for each in FAMILIES}


@cache
def _program(name: str, clear: bool) -> cw.Program:
    if clear:
        return _program(name, clear=False).in_clear()
    family = BY_NAME[name]
    return family.make(family.small)


@cache
def _keys(name: str, clear: bool) -> tuple[cw.Client, cw.Evaluator]:
    return _program(name, clear).keygen()


@cache
def _encrypted(name: str, clear: bool) -> cw.Encrypted:
    return _keys(name, clear)[0].encrypt(**BY_NAME[f"{name}, clear" if clear else name].arguments)
