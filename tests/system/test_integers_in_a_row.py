"""Programs over integers in a row: exact, under one key, with nothing decrypted between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    InputNameError,
    InsecureParametersError,
    InvalidArgumentError,
    InvalidProgramError,
    NoiseBudgetError,
    ParametersMismatchError,
    ResultOverflowError,
    ShapeMismatchError,
)
from cloakwork.runtime.by_element import OfIntegers
from tests.system.rows import keys_are_once, row
from tests.thoroughness import slow

RING: dict[str, Any] = {"log_n": 11, "insecure": True}
SECURE: dict[str, Any] = {"log_n": 14}
SMALL: Any = cw.vector(4, bits=5)


@cw.circuit(a=SMALL, b=SMALL)
def squares(a: Any, b: Any) -> Any:
    return [(x - y) ** 2 for x, y in zip(a, b, strict=True)]


@cw.circuit(a=SMALL, b=SMALL)
def table(a: Any, b: Any) -> Any:
    return [[x * y for x in a] for y in b]


@cw.circuit(s=cw.vector(4), w=cw.vector(4, bits=4))
def weighed(s: Any, w: Any) -> Any:
    return sum(x * y for x, y in zip(s, w, strict=True)) - s[0] * s[3]


@cw.circuit(m=cw.matrix(4, 4))
def minors(m: Any) -> Any:
    return [m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0], m[2, 3] * m[3, 2] + m[0, 0]]


def whole(*shape: int) -> cw.Spec:
    return cw.Spec(shape, bound=9, kind="integer")


def product(a: Any, b: Any) -> Any:
    return a @ b


def by_itself(y: Any) -> Any:
    return y @ y.T


@dataclass(frozen=True)
class Step:
    """One program of a row.

    Args:
        function: What it computes, of a result where it follows one.
        compiled: Compiles it; what follows takes a result.
        bounds: Of each input that is encrypted its name, shape and bound.
    """

    function: Callable[..., Any]
    compiled: Callable[..., cw.Program]
    bounds: tuple[tuple[str, tuple[int, ...], int], ...] = ()


def of_circuit(function: Any, bits: int, name: str = "") -> Callable[..., cw.Program]:
    def compiled(result: Any = None, **ring: Any) -> cw.Program:
        after = {name: result} if name else {}
        made: cw.Program = function.compile(bits=bits, effort=0.1, after=after, **ring)
        return made

    return compiled


def of_product(function: Any, *specs: cw.Spec) -> Callable[..., cw.Program]:
    def compiled(*result: Any, **ring: Any) -> cw.Program:
        return cw.compile(function, *result, *specs, **ring)

    return compiled


FIRST = {
    "circuit": Step(table, of_circuit(table, 12), (("a", (4,), 15), ("b", (4,), 15))),
    "product": Step(
        product, of_product(product, whole(4, 3), whole(3, 4)), (("a", (4, 3), 9), ("b", (3, 4), 9))
    ),
}
SECOND = {
    "circuit": Step(minors, of_circuit(minors, 40, "m")),
    "product": Step(product, of_product(product, whole(4, 5)), (("b", (4, 5), 9),)),
    "product with itself": Step(by_itself, of_product(by_itself)),
}
PAIRS = [(one, other) for one in FIRST for other in SECOND]


def drawn(step: Step, rng: np.random.Generator) -> dict[str, Any]:
    return {name: rng.integers(-most, most + 1, shape) for name, shape, most in step.bounds}


def in_python(function: Any, *arguments: Any) -> Any:
    if isinstance(function, type(table)):
        return function(*(np.asarray(each).tolist() for each in arguments))
    return function(*map(np.asarray, arguments))


def check(one: Step, other: Step, ring: dict[str, Any]) -> None:
    rng = np.random.default_rng(3)
    first = one.compiled(**ring)
    second = other.compiled(cw.result(first), **({"insecure": True} if "insecure" in ring else {}))
    first, second = cw.together(first, second)
    given, further = drawn(one, rng), drawn(other, rng)
    of_first = in_python(one.function, *given.values())
    expected = in_python(other.function, of_first, *further.values())
    for programs in ((first, second), (first.in_clear(), second.in_clear())):
        clients, evaluators = row(*programs)
        assert not programs[0].scheme.encrypts or keys_are_once(*programs, evaluators=evaluators)
        made = [evaluators[0].run(clients[0].encrypt(**given))]
        if further:
            made.append(clients[1].encrypt(**further))
        found = clients[1].decrypt(evaluators[1].run(made))
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(second.run_clear(of_first, *further.values()), expected)
    assert first.log2_failure < second.log2_failure < -100
    assert "in a row" in cw.explain(second)


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_integers_follow_integers(one: str, other: str) -> None:
    check(FIRST[one], SECOND[other], RING)


@pytest.mark.parametrize(("one", "other"), slow(*PAIRS))
def test_integers_follow_integers_at_128_bits(one: str, other: str) -> None:
    check(FIRST[one], SECOND[other], SECURE)


def pair() -> tuple[cw.Program, cw.Program]:
    first = squares.compile(bits=12, effort=0.1, **RING)
    return first, weighed.compile(bits=26, effort=0.1, after={"s": cw.result(first)}, insecure=True)


def test_three_in_a_row_and_files(tmp_path: Path) -> None:
    @cw.circuit(t=cw.scalar(), s=cw.vector(4))
    def last(t: Any, s: Any) -> Any:
        return {"sum": 2 * t + s[1], "kept": 7}

    first, second = pair()
    third = last.compile(
        bits=30,
        effort=0.1,
        after={"t": cw.result(second), "s": cw.result(first)},
        insecure=True,
    )
    programs = cw.together(first, second, third)
    clients, evaluators = row(*programs)
    assert keys_are_once(*programs, evaluators=evaluators)
    clients[2].save(tmp_path / "client")
    evaluators[2].save(tmp_path / "evaluator")
    loaded = cw.load(tmp_path / "evaluator", cw.Evaluator, insecure=True)
    assert loaded.program.fingerprint == programs[2].fingerprint
    rng = np.random.default_rng(4)
    a, b = rng.integers(-16, 16, (2, 4)).tolist()
    w = rng.integers(-8, 8, 4).tolist()
    made = evaluators[0].run(clients[0].encrypt(a=a, b=b))
    made.save(tmp_path / "made")
    made = cw.load(tmp_path / "made", cw.Encrypted)
    then = evaluators[1].run([made, clients[1].encrypt(w=w)])
    client = cw.load(tmp_path / "client", cw.Client, insecure=True)
    assert client.decrypt(loaded.run([then, made])) == last(
        weighed(squares(a, b), w), squares(a, b)
    )


def test_refusals_say_what_would_do() -> None:
    first, second = pair()
    with pytest.raises(
        ResultOverflowError,
        match="compile with bits=21 or more, declare inputs with bits=10 or fewer, or let",
    ):
        weighed.compile(bits=20, after={"s": cw.result(first)}, insecure=True)
    for after in ({"z": cw.result(first)}, {"s": first}, [1]):
        with pytest.raises(InvalidArgumentError):
            weighed.compile(bits=26, after=after, insecure=True)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="compile all with log_n=12"):
        weighed.compile(bits=26, after={"s": cw.result(first)}, log_n=12, insecure=True)
    with pytest.raises(InvalidArgumentError, match="expected an input of shape"):
        minors.compile(bits=26, after={"m": cw.result(first)}, insecure=True)
    fixed = cw.circuit(s=cw.vector(4, layout=[0, 2, 4, 6]))(lambda s: s[0] * s[1])
    with pytest.raises(InvalidArgumentError, match="leave layout= out"):
        fixed.compile(bits=26, after={"s": cw.result(first)}, insecure=True)
    wrapping = squares.compile(bits=5, effort=0.1, wrapping=True, **RING)
    with pytest.raises(InvalidArgumentError, match="compile it without wrapping="):
        weighed.compile(bits=26, after={"s": cw.result(wrapping)}, insecure=True)
    modular = cw.compile(product, whole(4, 4), whole(4, 4), modulus=40961, **RING)
    with pytest.raises(InvalidArgumentError, match="compile it without modulus="):
        cw.compile(product, cw.result(modular), whole(4, 4), insecure=True)
    for known, words in (
        # Taken for the numbers of slots: 4, 5, 4 of 4, 5, 0.
        (lambda a: [a[0], a[1], a[0] - a[0], a[1]], "some of it is known"),
        (lambda a: [a[0], a[1], a[0], a[3]], "return it once"),
    ):
        before = cw.circuit(a=SMALL)(known).compile(bits=12, effort=0.1, **RING)
        with pytest.raises(InvalidArgumentError, match=words):
            weighed.compile(bits=26, effort=0.1, after={"s": cw.result(before)}, insecure=True)
    client, evaluator = first.keygen()
    made = evaluator.run(client.encrypt(a=[1] * 4, b=[2] * 4))
    with pytest.raises(ParametersMismatchError):
        client.serving(second)
    one, two = cw.together(first, second)
    clients, evaluators = row(one, two)
    made = evaluators[0].run(clients[0].encrypt(a=[1] * 4, b=[2] * 4))
    with pytest.raises(InputNameError, match="the input 's' is the result"):
        clients[1].encrypt(s=[1] * 4, w=[1] * 4)
    with pytest.raises(InputNameError, match="got none for s; give what a run of"):
        evaluators[1].run(clients[1].encrypt(w=[1] * 4))
    several = evaluators[0].run(clients[0].encrypt(a=[[1] * 4] * 2, b=[[2] * 4] * 2))
    with pytest.raises(ShapeMismatchError, match="run them one by one"):
        evaluators[1].run([several, clients[1].encrypt(w=[[1] * 4] * 2)])
    assert clients[1].decrypt(evaluators[1].run([made, clients[1].encrypt(w=[1] * 4)])) == 3
    moved = table.compile(bits=12, effort=0.1, **RING)
    for link in (
        OfIntegers("z", first, "result"),
        OfIntegers("s", first, "z"),
        OfIntegers("s", moved, "result"),
    ):
        with pytest.raises(InvalidProgramError):
            cw.Program(second.scheme, second.body, second.packing, after=(link,))


def test_results_for_others_count_the_failures_of_the_row() -> None:
    ring = {**RING, "failure_bits": 40}
    first = squares.compile(bits=12, effort=0.1, **ring)
    second = weighed.compile(
        bits=26, effort=0.1, failure_bits=40, after={"s": cw.result(first)}, insecure=True
    )
    first, second = cw.together(first, second)
    own, whole = second.scheme.log2_failure(second.body), second.log2_failure
    assert own < whole == second.log2_exact_failure
    clients, evaluators = row(first, second)
    made = evaluators[0].run(clients[0].encrypt(a=[1] * 4, b=[2] * 4))
    last = evaluators[1].run([made, clients[1].encrypt(w=[1] * 4)])
    # So many that those of the second program alone would be few enough.
    decryptions = round(2 ** (-20 - (own + whole) / 2))
    with pytest.raises(NoiseBudgetError, match="compile with more failure_bits"):
        clients[1].decrypt_for_others(last, statistical_bits=20, decryptions=decryptions)
    assert clients[1].decrypt_for_others(last, statistical_bits=20, decryptions=1000) == 3


def test_rings_that_are_too_small_are_refused() -> None:
    first = squares.compile(bits=12, effort=0.1, log_n=12)
    with pytest.raises(InsecureParametersError, match="log_n = 13 would do"):
        weighed.compile(bits=26, effort=0.1, after={"s": cw.result(first)})
