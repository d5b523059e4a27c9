"""Comparisons, tables and conditions in batch, on slots."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    CircuitTooDeepError,
    EncryptedConditionError,
    InvalidArgumentError,
    ParametersMismatchError,
    ResultOverflowError,
)
from cloakwork.programs.packing.scalar import ScalarPacking
from cloakwork.programs.slots import SlotProgram

TABLE = cw.table(Random(2).choices(range(-90, 90), k=64))


def in_small_ring(function: Callable[..., Any], batch: int, **declared: Any) -> cw.Program:
    """A program in a ring that is too small to be secure, which is quick."""
    return cw.circuit(**declared)(function).compile(batch=batch, log_n=11, insecure=True)


def encrypted(program: cw.Program, **inputs: Any) -> Any:
    """The results of a run on ciphertexts."""
    client, evaluator = program.keygen()
    return client.decrypt(evaluator.run(client.encrypt(**inputs), threads=1))


def test_a_table_in_batch() -> None:
    program = in_small_ring(lambda x: TABLE[x], 2048, x=cw.scalar(bounds=(0, 63)))
    assert program.scheme.name == "bgv"
    x = np.random.default_rng(0).integers(0, 64, 2048)
    wanted = [TABLE[each] for each in x.tolist()]
    assert program.run_clear(x=x) == wanted
    assert encrypted(program, x=x) == wanted


def test_at_128_bits() -> None:
    @cw.circuit(x=cw.scalar(bounds=(0, 15)), y=cw.scalar(bounds=(-8, 7)))
    def compared(x: Any, y: Any) -> Any:
        return {"less": x < y, "same": x == y, "larger": max(x, y), "kept": x if x < 5 else y}

    program = compared.compile(batch=4000)
    assert not program.scheme.insecure
    # Products, and levels of the inputs: what a run and its keys cost.
    assert cw.estimate(program).operations["ciphertext product"] == 24
    assert isinstance(program.body, SlotProgram)
    assert program.body.top_level <= 7
    random = np.random.default_rng(1)
    x, y = random.integers(0, 16, 4000), random.integers(-8, 8, 4000)
    wanted = [compared(*pair) for pair in zip(x.tolist(), y.tolist(), strict=True)]
    assert encrypted(program, x=x, y=y) == wanted


def test_wide_inputs_are_encrypted_as_digits(tmp_path: Path) -> None:
    wide = cw.vector(2, bits=16)
    function = cw.circuit(x=wide, y=wide)(
        lambda x, y: [x[0] < y[0], x[1] == y[1], np.maximum(x[1], y[0]) + x[0], abs(y[1])]
    )
    program = function.compile(batch=300, log_n=11, insecure=True)
    assert isinstance(program.packing, ScalarPacking)
    assert [each.count for each in program.packing.digits] == [8, 8]
    assert "|x[0] digit 0|" in cw.explain(program)
    random = np.random.default_rng(3)
    x, y = random.integers(-32768, 32768, (2, 300, 2))
    y[:99] = x[:99]
    x[0], y[0] = (-32768, 32767), (32767, -32768)
    wanted = [function(*pair) for pair in zip(x.tolist(), y.tolist(), strict=True)]
    assert program.run_clear(x=x, y=y) == wanted
    assert encrypted(program, x=x, y=y) == wanted
    program.save(tmp_path / "program")
    loaded = cw.load(tmp_path / "program", cw.Program, insecure=True)
    assert loaded.run_clear(x=x, y=y) == wanted


def test_conditions_and_counts() -> None:
    def conditions(v: Any, w: Any) -> Any:
        clipped = np.clip(v, 2, 5)
        return {
            "where": np.where(v < w, v, 9),
            "clipped": clipped,
            "count": sum(v > 3) + np.count_nonzero(v == w),
            "any": any(each == 7 for each in v),
            "within": 7 in v,
            "best": np.argmax(v),
            "apart": abs(v[0] - w[1]) if v[0] > 1 and w[0] != 2 else -1,
        }

    bounded = cw.vector(3, bounds=(0, 7))
    function = cw.circuit(v=bounded, w=bounded)(conditions)
    program = function.compile(batch=100, log_n=11, insecure=True)
    random = np.random.default_rng(2)
    v, w = random.integers(0, 8, (100, 3)), random.integers(0, 8, (100, 3))
    wanted = [function(*pair) for pair in zip(v.tolist(), w.tolist(), strict=True)]
    assert program.run_clear(v=v, w=w) == wanted
    assert encrypted(program, v=v, w=w) == wanted


def test_results_of_many_bits_take_several_primes() -> None:
    program = in_small_ring(lambda x: cw.select(x > 9, x**8, -x), 5, x=cw.scalar(bounds=(-20, 30)))
    assert len(program.scheme.parameter_sets) > 1
    x = [-20, 9, 10, 30, 0]
    assert encrypted(program, x=x) == [20, -9, 10**8, 30**8, 0]


def test_files(tmp_path: Path) -> None:
    program = in_small_ring(lambda x: TABLE[x], 8, x=cw.scalar(bounds=(0, 63)))
    program.save(tmp_path / "program")
    loaded = cw.load(tmp_path / "program", cw.Program, insecure=True)
    assert loaded.fingerprint == program.fingerprint
    assert loaded.run_clear(x=[5, 60]) == [TABLE[5], TABLE[60]]
    assert encrypted(loaded, x=[5, 60]) == [TABLE[5], TABLE[60]]


def test_the_engine_and_why() -> None:
    small = cw.scalar(bounds=(0, 9))
    function = cw.circuit(x=small, y=small)(lambda x, y: x < y)
    assert function.compile(threads=1).scheme.name == "tfhe"
    in_batch = function.compile(batch=2, log_n=11, insecure=True)
    assert "way     on slots, for batch=: < at test_by_polynomials.py:" in cw.explain(in_batch)
    alone = function.compile(on="slots", log_n=11, insecure=True)
    assert alone.run_clear(x=3, y=4) is True
    assert "as compile(on=) says" in cw.explain(alone)


def test_elements_lie_side_by_side() -> None:
    declared = {
        "m": cw.matrix(8, 9, bits=10),
        "least": cw.scalar(bits=10),
        "v": cw.vector(72, bits=10),
    }

    def computed(m: Any, least: Any, v: Any) -> Any:
        return {"above": [[x > least for x in row] for row in m], "order": [v < 7, v]}

    function = cw.circuit(**declared)(computed)
    program = function.compile(on="slots", log_n=11, insecure=True)
    # As many products as one element takes, and of inputs as many ciphertexts as it has digits.
    one = cw.circuit(x=cw.scalar(bits=10), y=cw.scalar(bits=10), z=cw.scalar(bits=10))(
        lambda x, y, z: [x > y, z < 7, z]
    )
    alone = one.compile(on="slots", log_n=11, insecure=True)
    counts = [cw.estimate(each).operations["ciphertext product"] for each in (program, alone)]
    assert counts[0] == counts[1]
    assert program.packing.vector_counts[0] == alone.packing.vector_counts[0]
    assert program.packing.batch == 2 * (1024 // 72)
    random = np.random.default_rng(4)
    given = {"m": random.integers(-512, 512, (8, 9)), "v": random.integers(-512, 512, 72)}
    given["m"][0, :3] = 5
    wanted = function(**{name: each.tolist() for name, each in given.items()}, least=5)
    assert program.run_clear(**given, least=5) == wanted
    assert encrypted(program, **given, least=5) == wanted
    many = {name: [each, each[::-1]] for name, each in given.items()}
    assert encrypted(program, **many, least=[5, 5])[0] == wanted


def test_many_elements_run_on_slots_where_these_do() -> None:
    many = {"x": cw.vector(64, bits=8), "y": cw.vector(64, bits=8)}
    program = cw.circuit(**many)(lambda x, y: [*(x < y)]).compile(log_n=11, insecure=True)
    assert "on slots, for many elements: < at" in cw.explain(program)
    fewer = {"x": cw.vector(3, bits=4), "y": cw.vector(3, bits=4)}
    assert cw.circuit(**fewer)(lambda x, y: [*(x < y)]).compile(threads=1).scheme.name == "tfhe"
    # Quotients of two encrypted numbers are for bits.
    tiny = {"x": cw.vector(64, bounds=(0, 1)), "y": cw.vector(64, bounds=(1, 2))}
    on_bits = cw.circuit(**tiny)(lambda x, y: [*(x // y)]).compile()
    assert on_bits.scheme.name == "tfhe"


def test_refusals() -> None:
    wide = cw.scalar(bounds=(0, 2**20))
    with pytest.raises(EncryptedConditionError, match=r"got // at .* say on='bits'"):
        cw.circuit(x=wide, y=wide)(lambda x, y: x // y).compile(batch=8)
    small = cw.circuit(x=cw.scalar())(lambda x: x < 3)
    with pytest.raises(InvalidArgumentError, match="no wrapping="):
        small.compile(batch=2, bits=4, wrapping=True)
    with pytest.raises(InvalidArgumentError, match="expected bits= for the results"):
        small.compile(batch=2)
    assert small.compile(batch=2, bits=4, log_n=11, insecure=True).run_clear(x=[-8, 7]) == [
        True,
        False,
    ]
    with pytest.raises(ResultOverflowError, match="bits=5"):
        cw.circuit(x=cw.scalar())(lambda x: x + (x < 3)).compile(batch=2, bits=4)
    nine = cw.vector(9, bounds=(0, 200))
    with pytest.raises(CircuitTooDeepError, match=r"on slots: its comparisons, .* say on='bits'"):
        cw.circuit(v=nine)(lambda v: sorted(v)[4]).compile(batch=32)


def test_programs_with_other_primes_are_not_brought_together() -> None:
    table = cw.circuit(x=cw.scalar(bounds=(0, 63)))(lambda x: TABLE[x]).compile(
        on="slots", log_n=11, insecure=True
    )
    product = cw.circuit(x=cw.scalar(bits=12))(lambda x: x * x).compile(log_n=11, insecure=True)
    with pytest.raises(ParametersMismatchError, match="one modulus"):
        cw.together(table, product)
