"""Every operator and function of Python that computes with integers: equal to Python, or refused.

Each is tried with an encrypted integer, or a vector of them, at every place where it takes one,
beside integers in the clear.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import pytest

import cloakwork as cw
from cloakwork.errors import CloakworkError, EncryptedConditionError, InvalidArgumentError

# How many operands each takes. In place they are what they are on integers: new numbers.
OPERATORS: Mapping[str, int] = {
    **dict.fromkeys(("neg", "pos", "invert", "abs", "not_", "truth", "index"), 1),
    **dict.fromkeys(("add", "sub", "mul", "floordiv", "mod", "truediv", "pow", "matmul"), 2),
    **dict.fromkeys(("lshift", "rshift", "and_", "or_", "xor"), 2),
    **dict.fromkeys(("iadd", "isub", "imul", "ifloordiv", "imod", "itruediv", "ipow"), 2),
    **dict.fromkeys(("ilshift", "irshift", "iand", "ior", "ixor", "imatmul"), 2),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), 2),
}
FUNCTIONS: Mapping[Callable[..., Any], tuple[int, ...]] = {
    **{getattr(operator, name): (count,) for name, count in OPERATORS.items()},
    builtins.pow: (2, 3),
    divmod: (2,),
    min: (2, 3),
    max: (2, 3),
    round: (1, 2),
    **dict.fromkeys((int, bool, float, complex, hash, chr, hex, bin, oct, range), (1,)),
    **dict.fromkeys((math.trunc, math.floor, math.ceil, math.isqrt, math.factorial), (1,)),
    **dict.fromkeys((math.gcd, math.lcm, math.comb, math.perm), (2,)),
}
# Those that record something; every other one is refused of whatever is encrypted.
COMPUTED = {
    *("neg", "pos", "invert", "abs", "add", "sub", "mul", "floordiv", "mod", "divmod", "pow"),
    *("lshift", "rshift", "and_", "and", "or_", "or", "xor"),
    *("eq", "ne", "lt", "le", "gt", "ge"),
}
CLEAR = (-2, 0, 3)


def cases() -> Iterator[Any]:
    """A function, where its encrypted operands are, and the operands in the clear."""
    for function, counts in FUNCTIONS.items():
        for count in counts:
            for encrypted in product((False, True), repeat=count):
                if any(encrypted):
                    name = f"{function.__name__} {''.join('ce'[each] for each in encrypted)}"
                    yield pytest.param(function, encrypted, id=name)


CASES = list(cases())


def of_python(function: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
    """What Python computes, or the error."""
    try:
        return function(*operands)
    except Exception as error:
        return error


@pytest.mark.parametrize(("function", "encrypted"), CASES)
def test_operators_are_pythons_or_refused_by_name(
    function: Callable[..., Any], encrypted: tuple[bool, ...]
) -> None:
    computed = 0
    for operands in product(CLEAR, repeat=len(encrypted)):

        def on_scalar(x: Any, y: Any, z: Any, operands: tuple[int, ...] = operands) -> Any:
            given = [
                own if hides else clear
                for own, hides, clear in zip((x, y, z), encrypted, operands, strict=False)
            ]
            # It is encrypted, whatever the function forgets.
            return [x * 0, function(*given)]

        circuit = cw.circuit(x=cw.scalar(), y=cw.scalar(), z=cw.scalar())(on_scalar)
        values = (*operands, 1, 1)[:3]
        expected = of_python(function, operands)
        try:
            found = circuit(*values)[1]
        except CloakworkError:
            continue
        computed += 1
        if isinstance(expected, ZeroDivisionError | ValueError):
            # Of a division by an encrypted 0, and modulo one.
            assert operands[-1] == 0
            assert found in (0, (0, 0))
            continue
        assert type(found) is type(expected)
        assert found == expected
    names = {function.__name__, function.__name__.removeprefix("i")}
    if all(encrypted):
        assert bool(computed) == bool(names & COMPUTED)


@pytest.mark.parametrize(("function", "encrypted"), CASES)
def test_operators_on_vectors_are_pythons_on_elements_or_refused(
    function: Callable[..., Any], encrypted: tuple[bool, ...]
) -> None:
    for clear in CLEAR:

        def on_vector(v: Any, clear: int = clear) -> Any:
            return [v * 0, function(*(v if hides else clear for hides in encrypted))]

        try:
            found = cw.circuit(v=cw.vector(2))(on_vector)([3, -2])[1]
        except CloakworkError:
            continue
        if function in (operator.matmul, operator.imatmul):
            assert found == 3 * 3 + 2 * 2
            continue
        if function in (bool, operator.truth, operator.not_):
            # A vector is as true as a list: its length is not encrypted.
            assert found == function([3, -2])
            continue
        if function is divmod:
            found = [*zip(*found, strict=True)]
        operands = ([each if hides else clear for hides in encrypted] for each in (3, -2))
        assert found == [function(*each) for each in operands]


def test_a_shift_to_the_left_by_a_clear_count_is_a_product() -> None:
    @cw.circuit(x=cw.scalar(bits=8), v=cw.vector(2, bits=8))
    def shifted(x: Any, v: Any) -> Any:
        return [x << 1, x << 0, v << 3, v << [1, 2], x << (4, 5), (v << 70) - (v << 70)]

    expected = [-14, -7, [24, 40], [6, 20], [-112, -224], [0, 0]]
    assert shifted(-7, [3, 5]) == expected
    compiled = shifted.compile(bits=16, wrapping=True, effort=0.1, log_n=11, insecure=True)
    assert compiled.run(x=-7, v=[3, 5]) == expected


@pytest.mark.parametrize(
    ("function", "error", "reason"),
    [
        (lambda x: x << -1, InvalidArgumentError, "a clear count from 0 up to 4096, got -1"),
        (lambda x: x << 1.5, InvalidArgumentError, r"a clear count from 0 up to 4096, got 1\.5"),
        (lambda x: x << 10**6, InvalidArgumentError, "got 1000000"),
        (lambda x: x >> -1, InvalidArgumentError, "a count from 0 up, got -1"),
        (lambda x: x // 0, InvalidArgumentError, "a divisor that is not 0"),
        (lambda x: x % 0, InvalidArgumentError, "a divisor that is not 0"),
        (lambda x: x / 2, EncryptedConditionError, "write x // y"),
        (lambda x: pow(2, x, 3), EncryptedConditionError, "stands for an encrypted integer"),
        (lambda x: pow(2, 3, x), EncryptedConditionError, "stands for an encrypted integer"),
    ],
)
@pytest.mark.parametrize(("declared", "value"), [(cw.scalar(), 5), (cw.vector(2), [5, 6])])
def test_what_is_refused_says_why(
    function: Any, error: type[CloakworkError], reason: str, declared: Any, value: Any
) -> None:
    with pytest.raises(error, match=reason):
        cw.circuit(x=declared)(function)(value)
