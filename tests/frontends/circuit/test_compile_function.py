"""Circuits from Python functions to results, in the clear and on BGV."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloakwork as cw
from cloakwork.errors import (
    CircuitTooDeepError,
    EncryptedConditionError,
    InputNameError,
    InsecureParametersError,
    InvalidArgumentError,
    InvalidParametersError,
    NotIntegerError,
    ResultOverflowError,
    ShapeMismatchError,
    SlotMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.explain.work_levels_keys import counted_operations
from cloakwork.frontends.circuit.inputs import Declared
from cloakwork.programs.slots import SlotProgram
from tests.frontends.circuit.random_functions import RandomFunction, functions
from tests.thoroughness import part, slow


@cw.circuit(a=cw.vector(3), b=cw.vector(3))
def distance(a: Any, b: Any) -> Any:
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


@cw.circuit(x=cw.matrix(2, 3, bounds=(-9, 9)), y=cw.matrix(3, 2, bounds=(-9, 9)))
def product(x: Any, y: Any) -> Any:
    return [[sum(x[i, k] * y[k][j] for k in range(3)) for j in range(2)] for i in range(2)]


@cw.circuit(bit=cw.scalar(bounds=(0, 1)), x=cw.scalar(bits=10), y=cw.scalar(bits=10))
def chosen(bit: Any, x: Any, y: Any) -> Any:
    return {"chosen": cw.select(bit, x, y), "others": (cw.select(bit, y, x), 3)}


def small(function: Any, declared: Declared, **settings: Any) -> cw.Program:
    return cw.circuit(x=declared)(function).compile(**{"bits": 16, "effort": 0.1, **settings})


@cache
def distance_of_16_bits() -> cw.Program:
    return distance.compile(bits=16, effort=0.1)


def body_of(program: cw.Program) -> SlotProgram:
    assert isinstance(program.body, SlotProgram)
    return program.body


def on_ciphertexts(program: cw.Program, **inputs: Any) -> Any:
    client, evaluator = program.keygen()
    return client.decrypt(evaluator.run(client.encrypt(**inputs)))


def test_a_distance() -> None:
    program = distance.compile(bits=24)
    assert program.run_clear(a=[1, 2, 3], b=[4, 6, 8]) == 50
    assert on_ciphertexts(program, a=[1, 2, 3], b=[4, 6, 8]) == 50
    assert distance([1, 2, 3], [4, 6, 8]) == 50
    assert not any(each.insecure for each in program.scheme.parameter_sets)


def test_results_come_in_the_form_that_the_function_returns() -> None:
    x, y = [[1, -2, 3], [4, 5, -6]], [[7, 8], [-9, 1], [2, 3]]
    expected = (np.array(x) @ np.array(y)).tolist()
    program = product.compile(bits=16, effort=0.1)
    assert program.run_clear(x=x, y=y) == expected
    assert on_ciphertexts(program, x=np.array(x), y=y) == expected
    taken = {"chosen": 5, "others": (-7, 3)}
    program = chosen.compile(bits=16, effort=0.1)
    assert program.run_clear(bit=1, x=5, y=-7) == taken
    assert on_ciphertexts(program, bit=1, x=5, y=-7) == taken


def test_a_batch_shares_a_run() -> None:
    program = distance.compile(bits=16, batch=1500)
    rng = random.Random(0)
    a, b = ([[rng.randint(-30, 30) for _ in range(3)] for _ in range(1500)] for _ in "ab")
    expected = [distance(x, y) for x, y in zip(a, b, strict=True)]
    assert program.run_clear(a=a, b=b) == expected
    assert on_ciphertexts(program, a=a, b=b) == expected
    assert program.run_clear(a=a[:2], b=b[:2]) == expected[:2]


def test_a_matrix_of_64_rows_times_a_vector_is_planned_in_few_operations() -> None:
    declared = {"a": cw.matrix(64, 64, bits=8), "v": cw.vector(64, bits=8)}
    rows = cw.circuit(**declared)(lambda a, v: [sum(x * v) for x in a])
    program = rows.compile(effort=0.1)
    assert len(body_of(program).operations) <= 12


def test_results_of_64_bits_take_several_primes() -> None:
    program = small(lambda x: x[0] * x[1] - x[0], cw.vector(2, bits=32), bits=64)
    assert len(program.scheme.parameter_sets) == 3
    for pair in ([2**31 - 1, 2**31 - 1], [-(2**31), 2**31 - 1], [-(2**31), -(2**31)]):
        assert on_ciphertexts(program, x=pair) == pair[0] * pair[1] - pair[0]


def test_circuits_call_circuits() -> None:
    @cw.circuit(points=cw.matrix(2, 3), a=cw.vector(3))
    def both(points: Any, a: Any) -> Any:
        return [distance(a, point) for point in points]

    points = [[1, 2, 3], [4, 5, 6]]
    assert both.compile(bits=16, effort=0.1).run_clear(points=points, a=[0, 0, 1]) == [9, 66]
    with pytest.raises(ShapeMismatchError, match="expected b of shape"):
        cw.circuit(a=cw.vector(3))(lambda a: distance(a, a[:2])).compile(bits=8)


@settings(max_examples=part(6), deadline=None)
@given(functions(most=30, depth=2), st.integers(0, 2**32))
def test_random_circuits_on_ciphertexts(function: RandomFunction, seed: int) -> None:
    require_right_on_ciphertexts(function, seed)


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(functions(most=200, depth=4), st.integers(0, 2**32))
def test_many_random_circuits_on_ciphertexts(function: RandomFunction, seed: int) -> None:
    require_right_on_ciphertexts(function, seed)


def require_right_on_ciphertexts(function: RandomFunction, seed: int) -> None:
    rng = random.Random(seed)
    inputs = [rng.randint(-2, 2) for _ in range(function.length)]
    expected = function(inputs)
    bits = max(8, *(abs(each).bit_length() + 1 for each in expected))
    if bits > 64:
        return
    program = small(function, cw.vector(function.length), bits=bits, effort=0.02)
    assert not any(each.insecure for each in program.scheme.parameter_sets)
    assert program.run_clear(x=inputs) == expected
    assert on_ciphertexts(program, x=inputs) == expected


@pytest.mark.parametrize(
    ("function", "bits"),
    [
        (lambda x: x * 2**70 - 2**71 + 3 - (x - 2) * 2**70, 16),
        (lambda x: (x * 2**40) * 2**40 * (x - 7), 16),
        (lambda x: [x - 2**63, (x + 2**65) * 3 - 3 * 2**65], 64),
        *slow((lambda x: (x * 3**90 + 5**80) * (x * 3**90 - 5**80) - x * x * 3**180 + 5**160, 24)),
    ],
)
def test_clear_numbers_in_between_may_be_of_any_size(function: Any, bits: int) -> None:
    program = small(function, cw.scalar(), bits=bits)
    assert program.run_clear(x=7) == on_ciphertexts(program, x=7) == function(7)


def test_a_seed_makes_one_program() -> None:
    one, two = (distance.compile(bits=16, seed=1, effort=0.1) for _ in range(2))
    assert str(one.body) == str(two.body)
    assert one.fingerprint == two.fingerprint


def test_levels_are_switched_where_noise_asks_for_it() -> None:
    program = small(lambda x: x**8, cw.scalar(bits=2))
    assert on_ciphertexts(program, x=-2) == 256
    assert counted_operations(body_of(program))["modulus switch"] >= 2
    flat = small(lambda x: x + x + 1, cw.scalar(bits=2))
    assert counted_operations(body_of(flat))["modulus switch"] == 0


def test_overflow_is_refused_in_the_clear() -> None:
    program = small(lambda x: x * x, cw.scalar(), bits=16)
    assert program.run_clear(x=181) == 32761
    with pytest.raises(ResultOverflowError, match=r"16 bits, result 0 is 33124.*bits=17"):
        program.run_clear(x=182)
    assert "may exceed 16 bits, which encrypt refuses" in cw.explain(program)
    assert "may exceed" not in cw.explain(small(lambda x: x * x, cw.scalar(bits=8)))


@pytest.mark.parametrize(
    ("function", "bits", "inputs", "right"),
    [
        (lambda a, b: a * b, 16, {"a": 300, "b": 200}, 60000),
        (lambda a, b: a * a * a + 0 * b, 24, {"a": 30000, "b": 0}, 27000000000000),
        (lambda a, b: [a, b * 2], 8, {"a": [1, 2], "b": [3, 64]}, 128),
    ],
)
def test_a_client_refuses_what_would_wrap(
    function: Any, bits: int, inputs: dict[str, Any], right: int
) -> None:
    undeclared = cw.circuit(a=cw.scalar(), b=cw.scalar())(function)
    program = undeclared.compile(bits=bits, effort=0.1, public_inputs=True)
    client, _ = program.keygen()
    for encrypt in (client.encrypt, client.public_key().encrypt):
        with pytest.raises(
            ResultOverflowError, match=rf"cannot encrypt for .* is {right}; compile"
        ):
            encrypt(**inputs)
    with pytest.raises(InputNameError, match=r"too many bits .* got none for b; .* cw\.scalar"):
        client.encrypt(a=1)


@pytest.mark.parametrize(
    ("function", "declared", "bits", "message"),
    [
        (lambda x: x * x, cw.scalar(bits=16), 16, "32 bits; compile with bits=32 or .* bits=8 or"),
        (lambda x: x * x * x, cw.scalar(bits=16), 24, "46 bits; .* bits=46 or .* bits=8 or"),
        (lambda x: x**4, cw.scalar(bits=60), 64, "238 bits; declare inputs with bits=16 or fewer"),
        (
            lambda x: x**90,
            cw.scalar(bits=60),
            64,
            "more than 1024 bits; declare inputs with bits=1",
        ),
        (lambda x: x - 9, cw.scalar(bounds=(0, 1)), 3, "5 bits; compile with bits=5 or more, "),
        (lambda x: x[0] - x[1], cw.vector(2, bounds=(3, 200)), 8, "9 bits; .* bits=8 or fewer"),
    ],
)
def test_declared_ranges_that_allow_more_bits_are_refused(
    function: Any, declared: Declared, bits: int, message: str
) -> None:
    with pytest.raises(ResultOverflowError, match=rf"cannot compile .*{message}.*wrapping=True"):
        small(function, declared, bits=bits)


def test_what_cancels_counts_in_full_where_ranges_are_declared() -> None:
    def difference(x: Any) -> Any:
        return x * 2**70 - (x - 2) * 2**70 - 2**71 + 3

    declared = cw.circuit(x=cw.scalar(bits=8))(difference)
    with pytest.raises(ResultOverflowError, match=r"declare no ranges, .* what cancels counts"):
        declared.compile(bits=16, effort=0.1)
    undeclared = cw.circuit(x=cw.scalar())(difference)
    for program in (
        undeclared.compile(bits=16, effort=0.1),
        declared.compile(bits=16, effort=0.1, wrapping=True),
    ):
        assert program.run_clear(x=-100) == 3


def test_an_overflow_is_refused_with_what_is_done_and_what_to_do() -> None:
    @cw.circuit(a=cw.scalar(), b=cw.scalar())
    def times(a: Any, b: Any) -> Any:
        return a * b

    program = times.compile(bits=16, effort=0.1, log_n=11, insecure=True)
    client, _ = program.keygen()
    with pytest.raises(ResultOverflowError) as refused:
        client.encrypt(a=300, b=200)
    assert refused.value.action == "encrypt for times"
    assert refused.value.reason == "expected signed numbers of 16 bits, result 0 is 60000"
    assert refused.value.remedy == "compile with bits=17 or more"


def test_wrapping_is_done_where_it_is_asked_for(tmp_path: Path) -> None:
    @cw.circuit(a=cw.scalar(bits=16), b=cw.scalar())
    def times(a: Any, b: Any) -> Any:
        return a * b

    program = times.compile(bits=16, wrapping=True, effort=0.1)
    assert "may exceed 16 bits, unseen" in cw.explain(program)
    client, evaluator = program.keygen()
    parts = [client.encrypt(a=300), client.encrypt(b=200)]
    assert client.decrypt(evaluator.run(parts)) == 60000 - 65537
    program.save(tmp_path / "program")
    read = cw.load(tmp_path / "program", cw.Program)
    assert read.fingerprint == program.fingerprint
    assert on_ciphertexts(read, a=300, b=200) == 60000 - 65537
    with pytest.raises(ResultOverflowError, match="result 0 is 60000"):
        program.run_clear(a=300, b=200)
    with pytest.raises(InvalidArgumentError, match="wrapping to be True or False"):
        times.compile(bits=16, wrapping=1)  # type: ignore[arg-type]


def test_a_choice_by_a_bit_has_no_more_bits_than_either() -> None:
    @cw.circuit(x=cw.scalar(bounds=(-99, 99)), y=cw.scalar(bits=8), bit=cw.scalar(bounds=(0, 1)))
    def chosen(x: Any, y: Any, bit: Any) -> Any:
        return [cw.select(bit, -x, x), bit * (x - y) + y, cw.select(bit, 100, y)]

    program = chosen.compile(bits=8, effort=0.1)
    assert "may exceed" not in cw.explain(program)
    assert program.run_clear(x=-99, y=-128, bit=1) == [99, -99, 100]
    assert program.run_clear(x=-99, y=-128, bit=0) == [-99, -128, -128]
    with pytest.raises(ResultOverflowError, match="may have 4 bits"):
        small(lambda x: x[2] + x[0] * (x[1] - x[2]), cw.vector(3, bounds=(0, 2)), bits=2)


_ANY_BITS = (functions(most=6, depth=3), st.integers(1, 64), st.none() | st.integers(1, 24))


@settings(max_examples=part(40), deadline=None)
@given(*_ANY_BITS, st.data())
def test_functions_never_give_another_number(
    function: RandomFunction, bits: int, declared: int | None, data: st.DataObject
) -> None:
    require_right_or_refused(function, bits, declared, data)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(*_ANY_BITS, st.data())
def test_many_functions_never_give_another_number(
    function: RandomFunction, bits: int, declared: int | None, data: st.DataObject
) -> None:
    require_right_or_refused(function, bits, declared, data)


def require_right_or_refused(
    function: RandomFunction, bits: int, declared: int | None, data: st.DataObject
) -> None:
    inputs = data.draw(st.lists(st.integers(-(2**12), 2**12), min_size=8, max_size=8))
    inputs = [number >> data.draw(st.integers(0, 12)) for number in inputs][: function.length]
    made = cw.circuit(x=cw.vector(function.length, bits=declared))(function)
    try:
        program = made.compile(bits=bits, effort=0.01, log_n=10, insecure=True)
        program.pack({"x": inputs}, "encrypt")
    except (ResultOverflowError, ValueOutOfRangeError, InvalidParametersError):
        return
    assert program.run_clear(x=inputs) == function(inputs)
    if data.draw(st.integers(0, 9)) == 0:
        assert on_ciphertexts(program, x=inputs) == function(inputs)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: [x, 10**6],
        lambda x: {"x": (x, [-(2**15) - 1])},
        lambda x: x - x + 2**70,
        lambda x: [x, x * 0 + 10**300],
    ],
)
def test_a_clear_result_overflows_when_it_is_compiled(function: Any) -> None:
    with pytest.raises(ResultOverflowError, match=r"cannot compile.*16 bits.*which is clear"):
        small(function, cw.scalar())


def test_a_clear_result_may_be_as_large_as_the_bits_allow() -> None:
    program = small(lambda x: [x, 32767, x * 0 - 32768], cw.scalar())
    assert program.run_clear(x=1)[1:] == [32767, -32768]


def test_advice_on_overflow_can_be_followed() -> None:
    program = small(lambda x: x**4, cw.scalar(), bits=64)
    with pytest.raises(ResultOverflowError, match="takes 249 bits, and a result has up to 64"):
        program.run_clear(x=2**62 - 1)


def test_a_wrapped_result_is_refused_without_a_number_of_bits() -> None:
    # Of 65537, the program's prime, 2^15 alone is not a signed number of 16 bits.
    root = next(x for x in range(2**15, 2**16) if pow(x, 256, 65537) == 2**15)
    for function, x in ((lambda x: x, 2**15), (lambda x: x**256, root)):
        program = small(function, cw.scalar(bits=17), bits=16, wrapping=True)
        client, evaluator = program.keygen()
        outputs = evaluator.run(client.encrypt(x=x))
        with pytest.raises(ResultOverflowError, match=r"more bits .* wrapped around.* run_clear"):
            client.decrypt(outputs)


@pytest.mark.parametrize(
    ("inputs", "error"),
    [
        ({"a": [1, 2, 3], "b": [1, 2, 3], "c": 1}, InputNameError),
        ({"a": [1, 2], "b": [1, 2, 3]}, ShapeMismatchError),
        ({"a": 1, "b": [1, 2, 3]}, ShapeMismatchError),
        ({"a": [[1], [2], [3]], "b": [1, 2, 3]}, ShapeMismatchError),
        ({"a": [1, 2, 2.5], "b": [1, 2, 3]}, NotIntegerError),
        ({"a": [1, 2, "3"], "b": [1, 2, 3]}, NotIntegerError),
        ({"a": [1, 2, 2**15], "b": [1, 2, 3]}, ValueOutOfRangeError),
    ],
)
def test_wrong_inputs_are_refused(inputs: dict[str, Any], error: type[Exception]) -> None:
    program = distance_of_16_bits()
    for act in (program.run_clear, program.keygen()[0].encrypt):
        with pytest.raises(error, match=r"cannot (run|encrypt for) distance"):
            act(**inputs)


def test_an_input_that_is_missing_is_named() -> None:
    program = distance_of_16_bits()
    client, evaluator = program.keygen()
    with pytest.raises(InputNameError, match=r"(inputs|got none for) .*b"):
        evaluator.run(client.encrypt(a=[1, 2, 3]))
    with pytest.raises(InputNameError):
        program.run_clear(a=[1, 2, 3])


def test_evaluations_beyond_a_batch_are_more_runs() -> None:
    program = distance.compile(bits=16, batch=2, effort=0.1, log_n=10, insecure=True)
    count = 2 * program.batch + 3
    a = [[number % 30, 0, 1] for number in range(count)]
    client, evaluator = program.keygen()
    encrypted = client.encrypt(a=a, b=[1, 2, 3])
    assert (encrypted.count, encrypted.runs) == (count, 3)
    expected = [distance(each, [1, 2, 3]) for each in a]
    assert client.decrypt(evaluator.run(encrypted)) == expected
    assert program.run_clear(a=a, b=[1, 2, 3]) == expected


def test_wrong_evaluations_are_refused() -> None:
    program = distance.compile(bits=16, batch=2, effort=0.1, log_n=10, insecure=True)
    with pytest.raises(ShapeMismatchError, match=r"expected 'b' of shape .*got 2"):
        program.run_clear(a=[[1, 2, 3]] * 2, b=2)
    with pytest.raises(ShapeMismatchError, match="as many evaluations"):
        program.run_clear(a=[[1, 2, 3]] * 2, b=[[1, 2, 3]])
    with pytest.raises(ShapeMismatchError, match="got 2 of a, 3 of b"):
        program.run_clear(a=[[1, 2, 3]] * 2, b=[[1, 2, 3]] * 3)


def test_a_circuit_too_deep_for_every_ring_is_refused() -> None:
    # By its range no result overflows.
    declared = cw.scalar(bounds=(-1, 1))
    with pytest.raises(CircuitTooDeepError, match="multiplies more often in a row"):
        small(lambda x: (((x**4096) ** 4096) ** 4096) ** 4096, declared, bits=64)


def test_a_batch_too_large_for_every_ring_is_refused() -> None:
    with pytest.raises(SlotMismatchError, match=r"a batch of up to 1074.*got 60000"):
        small(lambda x: x[0] * x[1], cw.vector(2, layout=[0, 60]), batch=60000)
    with pytest.raises(SlotMismatchError, match="a batch of up to 66,"):
        small(lambda x: x[0] * x[1], cw.vector(2, layout=[0, 60]), batch=67, log_n=12)


def test_an_evaluation_may_take_a_whole_row() -> None:
    far = small(lambda x: x[0] + x[1], cw.vector(2, layout=[0, 32767]))
    assert far.run_clear(x=[3, 4]) == 7
    assert far.scheme.parameter_sets[0].log_n == 16
    near = small(lambda x: x[0] + x[1], cw.vector(2, layout=[0, 1]))
    assert near.scheme.parameter_sets[0].log_n == 12
    with pytest.raises(SlotMismatchError, match="more slots than the 32768 that a row"):
        small(lambda x: x[0] + x[1], cw.vector(2, layout=[0, 32768]))


def test_a_ring_that_is_not_secure_is_refused_unless_wanted() -> None:
    with pytest.raises(InsecureParametersError):
        small(lambda x: x * x, cw.scalar(bits=4), log_n=11)
    program = small(lambda x: x * x, cw.scalar(bits=4), log_n=11, insecure=True)
    assert "INSECURE" in cw.explain(program)
    assert on_ciphertexts(program, x=-7) == 49


@pytest.mark.parametrize(
    "function",
    [
        lambda x: [y for y in (1, 2) if x],
        lambda x: [1, 2][x],
        lambda x: x / 2,
        lambda x: {x: 1},
        lambda x: int(x) + 1,
        lambda x: float(x) + 1,
        lambda x: list(range(x)),
        lambda x: [1, 2].index(x) + 1,
        lambda x: bool(x) + 1,
    ],
)
def test_what_needs_a_clear_value_names_the_line(function: Any) -> None:
    with pytest.raises(EncryptedConditionError, match=r"test_compile_function\.py:\d+"):
        small(function, cw.scalar())


def test_a_condition_suggests_select() -> None:
    with pytest.raises(EncryptedConditionError, match=r"write cw\.select\(bit, x, y\)"):
        small(lambda x: [y for y in (1, 2) if x], cw.scalar())


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: None, "encrypted or clear integers, got None"),
        (lambda x: 5, "returns no encrypted integer"),
        (lambda x: [x, 0.5], "got 0.5"),
        (lambda x: {1: x}, "dicts whose keys are text"),
        (lambda x: x**-1, "clear exponent from 0"),
    ],
)
def test_what_cannot_be_a_result_is_refused(function: Any, reason: str) -> None:
    with pytest.raises(InvalidArgumentError, match=reason):
        small(function, cw.scalar())


@pytest.mark.parametrize(
    ("declare", "reason"),
    [
        (lambda: cw.matrix(65536, 2), "up to 65536 elements, got 65536 x 2"),
        (lambda: cw.scalar(bounds=(1, 0)), r"in this order, got \(1, 0\)"),
        (lambda: cw.vector(2, layout=[0, 65536]), "up to 65535, got 65536"),
    ],
)
def test_declarations_that_cannot_be_are_refused(declare: Any, reason: str) -> None:
    with pytest.raises(InvalidArgumentError, match=reason):
        declare()


def test_too_many_results_are_refused() -> None:
    for function in (lambda x: [x] * 65537, lambda x: [[x] * 40000, [x] * 40000]):
        with pytest.raises(InvalidArgumentError, match="up to 65536"):
            small(function, cw.scalar())


def test_insecure_is_true_or_false() -> None:
    with pytest.raises(InvalidArgumentError, match="insecure to be True or False, got 'yes'"):
        small(lambda x: x, cw.scalar(), insecure="yes")


@pytest.mark.parametrize("failure_bits", [64, *slow(40, 128)])
def test_bounds_fail_no_more_often_than_asked(failure_bits: int) -> None:
    program = distance.compile(bits=16, effort=0.1, failure_bits=failure_bits)
    sets = program.scheme.parameter_sets
    assert [each.failure_bits for each in sets] == [failure_bits] * len(sets)
    # A few dozen bounds, three for each operation that adds noise.
    assert -failure_bits < program.log2_failure < -failure_bits + 8
    client, evaluator = program.keygen()
    assert client.decrypt(evaluator.run(client.encrypt(a=[1, 2, 3], b=[4, 6, 8]))) == 50


def test_fewer_failures_take_a_larger_modulus() -> None:
    usual, rarer = (
        distance.compile(bits=16, effort=0.1, log_n=14, failure_bits=bits) for bits in (40, 128)
    )
    (less,), (more,) = usual.scheme.parameter_sets, rarer.scheme.parameter_sets
    assert less.log_q(0) <= more.log_q(0)
    assert rarer.log2_failure < -120 < -40 < usual.log2_failure
    default = distance.compile(bits=16, effort=0.1, log_n=14)
    assert default.fingerprint == rarer.fingerprint


@pytest.mark.parametrize("failure_bits", [39, 129, 0, 64.5, "64", True, None])
def test_other_failure_bits_are_refused(failure_bits: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="failure_bits to be an integer from 40 up to 1"):
        distance.compile(bits=16, effort=0.1, failure_bits=failure_bits)


def test_inputs_whose_text_cannot_be_made_are_refused() -> None:
    program = small(lambda x: x, cw.scalar())
    with pytest.raises(NotIntegerError, match="got a set"):
        program.run_clear(x={10**5000})


def test_inputs_are_declared_by_the_names_of_parameters() -> None:
    with pytest.raises(InputNameError, match="expected its parameters a, b"):
        cw.circuit(a=cw.scalar())(lambda a, b: a + b)
    with pytest.raises(InputNameError):
        cw.circuit(a=cw.scalar(), c=cw.scalar())(lambda a: a)
    with pytest.raises(InvalidArgumentError, match="declared by"):
        cw.circuit(a=3)  # type: ignore[arg-type]


def test_compiling_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    distance.compile(bits=16, effort=0.1)
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_fewer_failures_let_more_results_be_shown() -> None:
    seldom = distance.compile(bits=16, effort=0.1)
    assert seldom.log2_failure < -120
    client, evaluator = seldom.keygen()
    outputs = evaluator.run(client.encrypt(a=[1, 2, 3], b=[4, 6, 8]))
    assert client.decrypt_for_others(outputs, statistical_bits=40, decryptions=10**6) == 50
    for wrong in (39, 129, 64.5):
        with pytest.raises(InvalidArgumentError, match="failure_bits"):
            distance.compile(bits=16, effort=0.1, failure_bits=wrong)  # type: ignore[arg-type]
