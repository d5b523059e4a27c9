"""Functions of the whole language on bits: equal to Python itself, or refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    CloakworkError,
    EncryptedConditionError,
    IndexOutOfRangeError,
    InvalidArgumentError,
    NotIntegerError,
    ResultOverflowError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.frontends.boolean.circuit import Circuit
from cloakwork.frontends.circuit.on_bits import gates_of_function
from cloakwork.frontends.circuit.staging import staged
from tests.frontends.circuit.random_exact_functions import inputs_of, random_function
from tests.thoroughness import part


@pytest.mark.parametrize("seed", range(part(500)))
def test_random_functions_equal_python(seed: int) -> None:
    random = Random(seed)
    function = random_function(random)
    declared = {"x": cw.vector(function.length, bounds=function.bounds)}
    made = staged(lambda x: [x[0], *function(x)], declared)
    try:
        gates = gates_of_function(made, declared)
    except ResultOverflowError:
        return
    inputs = inputs_of(function, random, 64)
    expected = [[each[0], *map(int, function(each))] for each in inputs]
    assert np.array(Circuit(gates).run_clear(x=inputs)["result"]).tolist() == expected


@pytest.mark.parametrize("seed", range(1000, 1000 + part(60)))
def test_random_functions_on_ciphertexts(seed: int) -> None:
    random = Random(seed)
    function = random_function(random, most=3)
    made = cw.circuit(x=cw.vector(function.length, bounds=function.bounds))(
        lambda x: [x[0], *function(x)]
    )
    program = made.compile(on="bits", threads=2)
    inputs = inputs_of(function, random, 1)[0]
    assert program.run(x=inputs) == [inputs[0], *function(inputs)]


@cw.circuit(bids=cw.vector(4, bounds=(0, 1000)), limit=cw.scalar(bounds=(-5, 500)))
def auction(bids: Any, limit: Any) -> Any:
    """The best bid, who made it, and whether it reaches a limit."""
    return {"best": max(bids), "who": np.argmax(bids), "sold": max(bids) >= limit}


def test_an_auction_on_ciphertexts(tmp_path: Path) -> None:
    program = auction.compile(threads=2)
    program.save(tmp_path / "program")
    read = cw.load(tmp_path / "program", cw.Program)
    assert read.fingerprint == program.fingerprint
    client, evaluator = read.keygen()
    client.encrypt(bids=[3, 999, 12, 999]).save(tmp_path / "bids")
    bids = cw.load(tmp_path / "bids", cw.Encrypted)
    found = client.decrypt(evaluator.run([bids, client.encrypt(limit=-5)]))
    assert found == {"best": 999, "who": 1, "sold": True} == auction([3, 999, 12, 999], -5)
    assert found["sold"] is True
    several = read.run_clear(bids=[[1, 2, 3, 4], [9, 8, 7, 6]], limit=5)
    assert several == [
        {"best": 4, "who": 3, "sold": False},
        {"best": 9, "who": 0, "sold": True},
    ]
    assert [str(port) for port in read.inputs] == [
        "bids: 4 x unsigned, 10 bits",
        "limit: signed, 10 bits",
    ]


def test_programs_over_bits_follow_one_another() -> None:
    first = cw.circuit(x=cw.vector(2, bounds=(0, 9)))(lambda x: {"least": min(x)}).compile()
    last = cw.circuit(a=cw.scalar(), b=cw.scalar(bounds=(1, 3)))(lambda a, b: a // b)
    after = last.compile(after={"a": cw.result(first)})
    first, after = cw.together(first, after)
    client, evaluator = first.keygen()
    other = client.serving(after)
    made = [evaluator.run(client.encrypt(x=[9, 7])), other.encrypt(b=2)]
    assert other.decrypt(evaluator.serving(after).run(made)) == 3


OF_NUMPY: dict[str, Callable[[Any, Any], Any]] = {
    "where": lambda v, _: np.where(v > 3, v, 0),
    "where not 0": lambda v, _: np.where(v, 1, -v),
    "where of Booleans": lambda v, _: ~np.where(v[0] > 0, v > 1, v < 0),
    "where of two": lambda v, _: np.where(v > 3, v, -v),
    "clip": lambda v, _: np.clip(v, -2, 5),
    "sort": lambda v, _: np.sort(v),
    "sort of rows": lambda _, m: np.sort(m),
    "sort of columns": lambda _, m: np.sort(m, axis=0),
    "argsort": lambda v, _: np.argsort(v, kind="stable"),
    "partition": lambda v, m: [np.partition(v, -2)[-2:], np.partition(v, 1)[:2]],
    "kth": lambda v, m: [
        *np.partition(m, 1)[:, 1],
        np.partition(v, 2)[2],
        np.sum(np.partition(v, 3)),
    ],
    "argmax": lambda v, m: [np.argmax(v), np.argmin(v), *np.argmax(m, axis=1)],
    "extremes": lambda v, m: [np.max(v), np.min(m), *np.max(m, axis=0), *np.min(m, axis=-1)],
    "sums": lambda v, m: [np.sum(v), np.sum(m), *np.sum(m, axis=0), np.prod(v[:3])],
    "any": lambda v, m: [np.any(v == 3), np.all(m > -9), *np.all(m > 0, axis=1)],
    "median": lambda v, _: int(np.median(v)) if isinstance(v, np.ndarray) else np.median(v),
    "counts": lambda v, m: [np.count_nonzero(v), np.count_nonzero(m > 2)],
    "isin": lambda v, _: np.isin(v, [1, 3, 4, -8]),
    "searchsorted": lambda v, _: np.searchsorted([-3, 0, 0, 4], v, side="right"),
    "cumsum": lambda v, _: np.cumsum(v),
    "minimum": lambda v, m: [np.minimum(v[:3], 2), np.maximum(m[0], m[1])],
    "logical": lambda v, _: np.logical_and(v > 1, np.logical_not(v == 3)) | np.logical_or(v, v < 0),
    "divmod": lambda v, _: [*np.divmod(v, 3)],
    "not": lambda v, _: ~((v > 1) ^ (v < 5)),
    "of bits": lambda v, _: [(v & 6) | (v ^ 3), v >> 1, v << 2, np.abs(v), v % 3, v // -2],
    "dot": lambda v, m: np.dot(m, v[:3]),
}


@pytest.mark.parametrize("function", OF_NUMPY.values(), ids=OF_NUMPY)
def test_functions_of_numpy(function: Callable[[Any, Any], Any]) -> None:
    random = np.random.default_rng(0)
    declared = {"v": cw.vector(5, bounds=(-9, 9)), "m": cw.matrix(2, 3, bounds=(-4, 9))}

    def both(v: Any, m: Any) -> Any:
        return [function(v, m), v[0], m[0, 0]]

    made = staged(both, declared)
    circuit = cw.circuit(**declared)(both)
    gates = Circuit(gates_of_function(made, declared))
    for _ in range(8):
        v, m = random.integers(-9, 10, 5), random.integers(-4, 10, (2, 3))
        expected = [
            int(each)
            for each in np.concatenate(
                [*map(np.ravel, np.atleast_1d(np.array(function(v, m), object))), [v[0], m[0, 0]]]
            )
        ]
        assert np.array(gates.run_clear(v=v, m=m)["result"]).ravel().tolist() == expected
        assert np.array(circuit(v.tolist(), m.tolist())[0], object).size == len(expected) - 2


@pytest.mark.parametrize(
    ("function", "error", "reason"),
    [
        (lambda x, v: x << v[0], ValueOutOfRangeError, r"<< at test_on_bits.py:\d+: .* may be -9"),
        (lambda x, v: 2 ** v[0], ValueOutOfRangeError, "test_on_bits.py.*that may be -9"),
        (lambda x, v: x ** v[0], ValueOutOfRangeError, r"an exponent from 0 up.*that may be -9"),
        (lambda x, v: v[x], IndexOutOfRangeError, r"test_on_bits.py:\d+.*from -3 to 2.*0 to 100"),
        (lambda x, v: cw.table(range(9))[x], IndexOutOfRangeError, r"numpy.clip\(index, 0, 8\)"),
        (lambda x, v: (x + 2) ** (x * x), ResultOverflowError, "up to 1024 bits.*narrower"),
        (lambda x, v: [y for y in v if x < y], EncryptedConditionError, "write cw.select"),
        (lambda x, v: [1 for _ in range(x)], EncryptedConditionError, "as an index"),
    ],
)
def test_what_bits_do_not_compute_names_its_line(
    function: Any, error: type[CloakworkError], reason: str
) -> None:
    made = cw.circuit(x=cw.scalar(bounds=(0, 100)), v=cw.vector(3, bounds=(-9, 9)))(function)
    with pytest.raises(error, match=reason):
        made.compile(threads=1)


@pytest.mark.parametrize(
    ("given", "error", "reason"),
    [
        ({"x": 101}, ValueOutOfRangeError, "'x' to hold integers from 0 to 100, got 101"),
        ({"x": -1}, ValueOutOfRangeError, "got -1; declare wider bounds"),
        ({"x": 1.5}, NotIntegerError, "got 1.5"),
        ({"v": [1, 2]}, ShapeMismatchError, r"\(3,\)"),
        ({"v": [1, 2, 10]}, ValueOutOfRangeError, "from -9 to 9, got 10"),
    ],
)
def test_wrong_inputs_are_refused(
    given: dict[str, Any], error: type[CloakworkError], reason: str
) -> None:
    made = cw.circuit(x=cw.scalar(bounds=(0, 100)), v=cw.vector(3, bounds=(-9, 9)))
    program = made(lambda x, v: [x < v[0]]).compile(threads=1)
    with pytest.raises(error, match=reason):
        program.run_clear(**{"x": 5, "v": [1, 2, 3], **given})


def test_slots_are_taken_where_they_do() -> None:
    bounded = cw.circuit(x=cw.vector(2, bounds=(-9, 9)))
    product = bounded(lambda x: x[0] * x[1])
    assert product.compile(effort=0.1, log_n=11, insecure=True).scheme.name == "bgv"
    on_bits = product.compile(on="bits", threads=1)
    assert on_bits.run_clear(x=[-9, 7]) == -63
    assert "TFHE" in str(on_bits.scheme)
    assert "way         on bits, as compile(on=) or after= says" in cw.explain(on_bits)
    compared = bounded(lambda x: x[0] < x[1])
    assert "way         on bits, for < at test_on_bits.py:" in cw.explain(compared.compile())
    with pytest.raises(InvalidArgumentError, match="no log_n=, wrapping= for a program on bits"):
        compared.compile(log_n=12, wrapping=True)
    with pytest.raises(InvalidArgumentError, match="on='slots' or on='bits', got 'gpu'"):
        compared.compile(on="gpu")  # type: ignore[arg-type]
    unbounded = cw.circuit(x=cw.scalar())(lambda x: x < 3)
    with pytest.raises(InvalidArgumentError, match="the range of the input 'x'"):
        unbounded.compile()
    assert unbounded.compile(bits=4, threads=1).run_clear(x=-8) is True
    with pytest.raises(InvalidArgumentError, match=r"expected bits= for the results"):
        cw.circuit(x=cw.scalar())(lambda x: x * 3).compile()
    with pytest.raises(ResultOverflowError, match=r"signed numbers of 4 bits.*from 0 to 18"):
        bounded(lambda x: abs(x[0]) + abs(x[1])).compile(bits=4)


def test_unsigned_numbers_of_64_bits() -> None:
    most = 2**64 - 1
    made = cw.circuit(x=cw.vector(2, bounds=(0, most)))(lambda x: [x[0] + x[1], x[0] < x[1]])
    program = made.compile(threads=1)
    assert program.run_clear(x=[most, most]) == [2 * most, False]
    assert program.run_clear(x=[most - 1, most]) == [2 * most - 1, True]
