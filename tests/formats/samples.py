"""What the files of each release were made of: programs, what they are given, what comes out.

A sample stays as it is, for files of releases were made of it; a new kind of program is a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import cloakwork as cw
from tests.families import greater, mapped, same
from tests.products import real_product

FOLDER = Path(__file__).parent

_RNG = np.random.default_rng(11)
_MATRIX, _VECTOR = _RNG.uniform(-1, 1, (2, 4)), _RNG.uniform(-1, 1, 4)
_LEFT, _RIGHT = _RNG.uniform(-1, 1, (3, 4)), _RNG.uniform(-1, 1, (4, 2))


@dataclass(frozen=True)
class Sample:
    """A program whose files are kept.

    Args:
        make: Makes the program, in a ring far too small for security.
        arguments: What it is given, by name.
        expected: What comes out.
        kinds: The kinds of files that are kept; an evaluator of bits takes megabytes.
    """

    make: Callable[[], cw.Program]
    arguments: Mapping[str, Any]
    expected: Any
    kinds: tuple[str, ...] = ("program", "client", "encryptor", "evaluator", "inputs", "outputs")

    def is_right(self, found: Any) -> bool:
        """Whether these are the results."""
        return same(found, self.expected, 2.0**-8)


def _tensors() -> cw.Program:
    def scores(x: Any, w: Any) -> Any:
        return x @ w

    return cw.compile(scores, (2, 4), (4,), public_inputs=True, log_n=6, insecure=True)


def _iterated(x: Any) -> Any:
    for _ in range(14):
        x = x * x + 0.2
    return x


def _bootstrapped() -> cw.Program:
    spec = cw.Spec((4,), bound=0.5)
    return cw.compile(_iterated, spec, precision=12, bootstrap=True, log_n=5, insecure=True)


def _network() -> cw.Program:
    dense = torch.nn.Linear(4, 2)
    with torch.no_grad():
        dense.weight.copy_(torch.from_numpy(_MATRIX))
        dense.bias.zero_()
    module = torch.nn.Sequential(dense, torch.nn.SiLU()).eval()
    return cw.nn.compile(module, np.stack([_VECTOR, -_VECTOR]), log_n=6, insecure=True)


@cw.circuit(a=cw.vector(3, bits=4), b=cw.vector(3, bits=4))
def _dot(a: Any, b: Any) -> Any:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


_ONE_HOLDER = ("program", "client", "evaluator", "inputs", "outputs")

SAMPLES: Mapping[str, Sample] = {
    "tensors": Sample(_tensors, {"x": _MATRIX, "w": _VECTOR}, _MATRIX @ _VECTOR),
    "bootstrapped": Sample(
        _bootstrapped,
        {"x": _VECTOR / 2},
        _iterated(_VECTOR / 2),
        _ONE_HOLDER,
    ),
    "matrices": Sample(
        lambda: real_product((3, 4), (4, 2), log_n=6, insecure=True),
        {"a": _LEFT, "b": _RIGHT},
        _LEFT @ _RIGHT,
        _ONE_HOLDER,
    ),
    "network": Sample(_network, {"input": _VECTOR}, _silu(_MATRIX @ _VECTOR), _ONE_HOLDER),
    "circuit": Sample(
        lambda: _dot.compile(bits=12, public_inputs=True, log_n=6, insecure=True),
        {"a": [1, 2, 3], "b": [4, -5, 6]},
        12,
    ),
    "bits": Sample(
        lambda: mapped(greater(2)),
        {"a": 3, "b": 1},
        {"above": 1, "differ": np.array([0, 1], dtype=np.uint8)},
        ("program", "client", "encryptor", "inputs", "outputs"),
    ),
}
