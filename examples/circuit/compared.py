"""The four programs by which compilers for encrypted data are compared, as Python has them.

A test of genotypes by chi-squared, a score of the risk of heart disease, an auction, and the
number of bits by which two texts differ. Haskell has the same in examples/boolean/Compared.hs.
Run: python examples/circuit/compared.py
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

import cloakwork as cw

WORD = (0, (1 << 16) - 1)
BYTE = (0, (1 << 8) - 1)
FLAG = (0, 1)
BIDS = 32
BITS = 64


@cw.circuit(n=cw.vector(3, bounds=WORD))
def chi_squared(n: Any) -> Any:
    """The four terms of the statistic of how often three genotypes come, as words of 16 bits."""
    first, second = 2 * n[0] + n[1], 2 * n[2] + n[1]
    return [
        (4 * n[0] * n[2] - n[1] ** 2) ** 2 & WORD[1],
        2 * first**2 & WORD[1],
        first * second & WORD[1],
        2 * second**2 & WORD[1],
    ]


@cw.circuit(
    flags=cw.vector(4, bounds=FLAG),
    age=cw.scalar(bounds=BYTE),
    hdl=cw.scalar(bounds=BYTE),
    weight=cw.scalar(bounds=BYTE),
    height=cw.scalar(bounds=BYTE),
    activity=cw.scalar(bounds=BYTE),
    glasses=cw.scalar(bounds=BYTE),
)
def cardio(
    flags: Any, age: Any, hdl: Any, weight: Any, height: Any, activity: Any, glasses: Any
) -> Any:
    """How many of ten signs of a risk of heart disease someone shows."""
    is_man, smokes, is_diabetic, has_high_pressure = flags
    return (
        (age > cw.select(is_man, 50, 60))
        + smokes
        + is_diabetic
        + has_high_pressure
        + (hdl < 40)
        + (weight > height - 90)
        + (activity < 30)
        + (glasses > cw.select(is_man, 3, 2))
    )


@cw.circuit(bids=cw.vector(BIDS, bounds=WORD))
def auction(bids: Any) -> Any:
    """The highest bid, and the first bidder who made it."""
    return {"bid": np.max(bids), "bidder": np.argmax(bids)}


@cw.circuit(a=cw.vector(BITS, bounds=FLAG), b=cw.vector(BITS, bounds=FLAG))
def hamming(a: Any, b: Any) -> Any:
    """The number of bits in which two texts of 8 bytes differ."""
    return sum(a ^ b)


PROGRAMS = {
    "chi-squared": chi_squared,
    "cardio": cardio,
    "auction": auction,
    "hamming": hamming,
}


def drawn(program: cw.Program) -> dict[str, Any]:
    """Inputs of a program, the same each time."""
    random = np.random.default_rng(7)
    return {
        port.name: random.integers(0, int(port.bound) + 1, port.shape).tolist()
        for port in program.inputs
    }


def report(programs: Mapping[str, Any], inputs: Mapping[str, Mapping[str, Any]]) -> None:
    """Run programs on ciphertexts on one thread, each under its own keys, and print what they take.

    Args:
        programs: The functions by name.
        inputs: Those of some of them; others are drawn.
    """
    print(f"{'':<14}{'bootstraps':>12}{'CPU s':>8}  result")
    for name, function in programs.items():
        program = function.compile(on="bits", threads=1)
        client, evaluator = program.keygen()
        given = inputs.get(name) or drawn(program)
        encrypted = client.encrypt(**given)
        start = time.process_time()
        made = evaluator.run(encrypted, threads=1)
        seconds = time.process_time() - start
        result = client.decrypt(made)
        assert result == function(**given)
        bootstraps = cw.estimate(program).operations["bootstrap"]
        print(f"{name:<14}{bootstraps:>12}{seconds:>8.2f}  {result}", flush=True)


if __name__ == "__main__":
    report(PROGRAMS, {})
