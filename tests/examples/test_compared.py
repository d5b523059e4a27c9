"""The programs by which compilers are compared: Python's, and those in Haskell, against Python."""

from typing import Any

import numpy as np
import pytest

from examples.circuit.compared import BIDS, BITS, PROGRAMS
from tests.examples.haskell_programs import haskell

RUNS = 100
TOPS = {
    "chi-squared": "chiSquared",
    "cardio": "cardio",
    "auction": "auction",
    "hamming": "hamming",
}


def chi_squared(n: list[int]) -> list[int]:
    first, second = 2 * n[0] + n[1], 2 * n[2] + n[1]
    terms = [(4 * n[0] * n[2] - n[1] ** 2) ** 2, 2 * first**2, first * second, 2 * second**2]
    return [term % (1 << 16) for term in terms]


def cardio(flags: list[int], **numbers: int) -> int:
    is_man, *others = flags
    return sum(others) + sum(
        [
            bool(is_man and numbers["age"] > 50),
            bool(not is_man and numbers["age"] > 60),
            numbers["hdl"] < 40,
            numbers["weight"] > numbers["height"] - 90,
            numbers["activity"] < 30,
            bool(is_man and numbers["glasses"] > 3),
            bool(not is_man and numbers["glasses"] > 2),
        ]
    )


def auction(bids: list[int]) -> dict[str, int]:
    return {"bid": max(bids), "bidder": bids.index(max(bids))}


def hamming(a: list[int], b: list[int]) -> int:
    return sum(x != y for x, y in zip(a, b, strict=True))


MEANINGS: dict[str, Any] = {
    "chi-squared": chi_squared,
    "cardio": cardio,
    "auction": auction,
    "hamming": hamming,
}


def inputs_of(name: str, random: np.random.Generator) -> dict[str, Any]:
    match name:
        case "chi-squared":
            return {"n": random.integers(0, 1 << 16, 3).tolist()}
        case "cardio":
            # Numbers about where a sign begins.
            known = {"age": 50, "hdl": 40, "weight": 80, "height": 170, "activity": 30}
            offsets = random.integers(-20, 20, len(known)).tolist()
            numbers = {key: known[key] + each for key, each in zip(known, offsets, strict=True)}
            glasses = int(random.integers(0, 6))
            return {"flags": random.integers(0, 2, 4).tolist(), **numbers, "glasses": glasses}
        case "auction":
            # Some bids are as high as others.
            return {"bids": random.integers(65_000, 65_000 + BIDS, BIDS).tolist()}
        case _:
            a, b = random.integers(0, 2, (2, BITS)).tolist()
            return {"a": a, "b": b}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_in_python(name: str) -> None:
    program = PROGRAMS[name].compile(on="bits", threads=1)
    random = np.random.default_rng(1)
    for _ in range(RUNS // 10):
        inputs = inputs_of(name, random)
        assert program.run_clear(**inputs) == MEANINGS[name](**inputs)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_in_haskell(name: str) -> None:
    circuit = haskell("Compared.hs", TOPS[name])
    random = np.random.default_rng(2)
    for _ in range(RUNS):
        inputs = inputs_of(name, random)
        expected = MEANINGS[name](**inputs)
        names = [port.name for port in circuit.gates.inputs]
        given = [np.array(each) for each in inputs.values()]
        made = circuit.run_clear(**dict(zip(names, given, strict=True)))
        found = [np.asarray(each).tolist() for each in made.values()]
        assert found == ([*expected.values()] if isinstance(expected, dict) else [expected])


def test_cardio_on_ciphertexts() -> None:
    client, evaluator = PROGRAMS["cardio"].compile(threads=1).keygen()
    inputs = inputs_of("cardio", np.random.default_rng(3))
    assert client.decrypt(evaluator.run(client.encrypt(**inputs))) == cardio(**inputs)
