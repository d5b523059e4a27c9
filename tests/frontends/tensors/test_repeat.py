"""Steps that are repeated: planned once, run as often as is asked, checked as they are followed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    InvalidArgumentError,
    InvalidParametersError,
    MalformedBytesError,
    PrecisionLostError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.runtime import container
from cloakwork.runtime.repeated import steps
from cloakwork.schemes.base import ReadLimits
from tests.thoroughness import part

SMALL: dict[str, Any] = {"log_n": 8, "insecure": True, "precision": 8}
_RING: dict[str, Any] = {"insecure": True, "precision": 10}


def shrinking(x: Any, c: Any, times: int = 8) -> Any:
    return cw.repeat(lambda x: 0.5 * x * x + 0.25 * c, x, times, bound=1)


X, C = np.array([0.5, -0.5, 0.25, 1.0]), np.array([1.0, 0.5, -1.0, 0.0])


@pytest.mark.parametrize(("bootstrap", "bootstraps"), [(None, 0), (True, 2)])
def test_steps_are_those_of_the_function(bootstrap: bool | None, bootstraps: int) -> None:
    program = cw.compile(shrinking, (4,), (4,), bootstrap=bootstrap, **SMALL)
    expected = shrinking(X, C)
    assert np.array_equal(program.run_clear(X, C), expected)
    assert np.abs(program.run(X, C) - expected).max() < 2**-8
    assert sum("bootstrap" in str(step.body) for step in steps(program)) == bootstraps
    assert [port.name for port in program.inputs] == ["x", "c"]


def test_steps_in_the_clear_are_those_of_the_unrolled_function() -> None:
    def unrolled(x: Any, c: Any) -> Any:
        for _ in range(3):
            x = 0.5 * x * x + 0.25 * c
        return x

    options = {**SMALL, "precision": 12}
    looped = cw.compile(partial(shrinking, times=3), (4,), (4,), **options)
    straight = cw.compile(unrolled, (4,), (4,), **options)
    assert np.array_equal(looped.run_clear(X, C), straight.run_clear(X, C))


def test_the_plan_of_many_steps_is_that_of_few() -> None:
    few, many = (
        cw.compile(partial(shrinking, times=times), (4,), (4,), bootstrap=True, **SMALL)
        for times in (6, 100)
    )
    assert str(few.body) == str(many.body)
    assert few.required_keys == many.required_keys
    assert len([*steps(many)]) == 100
    assert "repeated 100 times" in cw.explain(many)
    assert cw.estimate(many).operations["bootstrap"] == 20


def test_errors_of_many_steps_are_within_what_is_stated() -> None:
    program = cw.compile(partial(shrinking, times=100), (4,), (4,), bootstrap=True, **SMALL)
    assert program.estimated_results is not None
    (found,) = program.estimated_results
    off = np.abs(program.run(X, C) - shrinking(X, C, 100)).max()
    assert off < 2.0**-found.precision < 2**-8


def test_several_states_take_one_another() -> None:
    def turned(a: Any, b: Any) -> Any:
        return cw.repeat(lambda a, b: (b, (a + b) / 2), (b, a), 5)

    program = cw.compile(turned, (3,), (3,), **SMALL)
    a, b = np.array([0.1, 0.2, 0.3]), np.array([0.5, -0.5, 1.0])
    for found in (program.run_clear(a, b), program.run(a, b)):
        for one, expected in zip(found, turned(a, b), strict=True):
            assert np.abs(one - expected).max() < 2**-8


def test_numbers_before_and_after_the_steps() -> None:
    def fitted(x: Any, w: Any) -> Any:
        gram = x.T @ x / 8
        w = cw.repeat(lambda w: w - 0.5 * (gram @ w), w, 3, bound=2)
        return (x @ w).sum()

    program = cw.compile(fitted, (8, 4), (4,), log_n=9, insecure=True, precision=8)
    x, w = np.random.default_rng(0).uniform(-1, 1, (8, 4)), np.array([0.1, 0.2, 0.3, 0.4])
    assert [part.name for part in program.parts] == ["fitted, step 1", "fitted, loop 2", "fitted"]
    assert abs(program.run_clear(x, w) - fitted(x, w)) < 2**-30
    assert abs(program.run(x, w) - fitted(x, w)) < 2**-8


def test_a_program_that_follows_the_steps() -> None:
    halves = cw.compile(partial(shrinking, times=3), (4,), (4,), log_n=9, **_RING)
    after = cw.compile(lambda x: (x + 1) * x, cw.result(halves), **_RING)
    row = cw.in_a_row(halves, after)
    last = shrinking(X, C, 3)
    assert np.abs(row.run(X, C) - (last + 1) * last).max() < 2**-10


def test_a_decision_on_the_last_state() -> None:
    top = cw.exactly(lambda v: cw.boolean.above(v, 0.05), bits=6)

    def decided(x: Any) -> Any:
        return top(cw.repeat(lambda x: 0.5 * x * x, x, 2))

    program = cw.compile(decided, (4,), precision=12)
    assert [len(part.parts) for part in program.parts] == [1, 1, 1]
    assert program.run_clear(X).tolist() == [0.0, 0.0, 0.0, 1.0]


def test_results_whose_errors_are_simulated_are_for_the_holder_of_the_key() -> None:
    def descend(x: Any, y: Any, w: Any) -> Any:
        return cw.repeat(lambda w: w - 0.5 * (x.T @ (x @ w - y)) / 8, w, 12, bound=2)

    program = cw.compile(descend, (8, 3), (8,), (3,), log_n=9, **{**_RING, "precision": 8})
    assert program.error is not None
    x = np.random.default_rng(0).uniform(-1, 1, (8, 3))
    inputs = x, x @ [0.25, -0.1, 0.2], np.zeros(3)
    client, evaluator = program.keygen()
    made = evaluator.run(client.encrypt(*inputs))
    assert np.abs(client.decrypt(made) - descend(*inputs)).max() < program.error
    with pytest.raises(PrecisionLostError, match="8 right bits or more"):
        client.decrypt_for_others(made, statistical_bits=16, decryptions=4)


def test_a_state_that_is_captured_as_well() -> None:
    def root(a: Any) -> Any:
        return cw.repeat(lambda x: x + (a - x * x) / 2, a, 4, low=0, high=1)

    program = cw.compile(root, cw.Spec((2,), low=0.25, high=1), **SMALL)
    a = np.array([0.25, 0.81])
    assert np.abs(program.run(a) - root(a)).max() < 2**-8


def test_functions_in_a_step_count_in_the_error() -> None:
    def settled(x: Any, c: Any) -> Any:
        return cw.repeat(lambda x: cw.sigmoid(x) - 0.5 * c, x, 3, bound=2)

    program = cw.compile(settled, (4,), (4,), **SMALL)
    assert program.error is not None
    assert program.error < 2**-8
    for found in (program.run_clear(X, C), program.run(X, C)):
        assert np.abs(found - settled(X, C)).max() < program.error


def test_samples_give_the_range_of_a_state() -> None:
    def inverse(a: Any) -> Any:
        return cw.repeat(lambda x: x * (2 - a * x), 1 - 0 * a, 4)

    data = np.random.default_rng(0).uniform(0.5, 1.5, (5,))
    program = cw.compile(inverse, data, **SMALL)
    assert np.abs(program.run_clear(data) - 1 / data).max() < 2**-8
    with pytest.raises(ValueOutOfRangeError, match="exceeds the bound"):
        program.run_clear(np.full(5, 3.0))


def test_files_and_clients_of_an_interface(tmp_path: Path) -> None:
    program = cw.compile(shrinking, (4,), (4,), **SMALL)
    program.save(tmp_path / "p")
    read = cw.load(tmp_path / "p", cw.Program, insecure=True)
    assert read.fingerprint == program.fingerprint
    assert read.repeated == program.repeated
    cw.Interface.of(read).save(tmp_path / "i")
    client = cw.load(tmp_path / "i", cw.Interface, insecure=True).client()
    read.evaluator(client.evaluation_keys()).save(tmp_path / "e")
    client.encrypt(X, C).save(tmp_path / "x")
    server = cw.load(tmp_path / "e", cw.Evaluator, insecure=True)
    profile = cw.Profile()
    server.run(cw.load(tmp_path / "x", cw.Encrypted), profile=profile).save(tmp_path / "y")
    found = client.decrypt(cw.load(tmp_path / "y", cw.Encrypted))
    assert np.abs(found - shrinking(X, C)).max() < 2**-8
    assert profile.totals()["mul"].operations == 8 * 3


def test_a_file_whose_steps_do_not_follow_one_another_is_refused() -> None:
    program = cw.compile(partial(shrinking, times=3), (4,), (4,), **SMALL)
    record = dict(program.to_record())
    record["repeated"] = {**record["repeated"], "times": 4000}
    data = container.to_bytes("program file", record)
    with pytest.raises(MalformedBytesError, match="its steps do not follow one another"):
        cw.Program.from_fields(
            container.read_bytes(data, "program file"), ReadLimits(insecure=True)
        )


def test_a_file_whose_bootstraps_leave_a_step_too_low_is_refused() -> None:
    def deep(x: Any) -> Any:
        for _ in range(14):
            x = x * x
        return x

    once = cw.compile(deep, (4,), bootstrap=True, **SMALL)
    record = dict(once.to_record())
    record["repeated"] = {"times": 2, "carried": [{"input": "x", "result": "result"}]}
    data = container.to_bytes("program file", record)
    with pytest.raises(MalformedBytesError, match="levels below where the next takes it"):
        cw.Program.from_fields(
            container.read_bytes(data, "program file"), ReadLimits(insecure=True)
        )


def test_samples_of_a_first_state_need_no_margin_within_its_range() -> None:
    def shrinking(c: Any) -> Any:
        return cw.repeat(lambda c: 0.5 * c + 0.25 * c * c, c, 3, low=0, high=1)

    first = np.array([0, 0.5, 1])
    program = cw.compile(shrinking, first, log_n=9, insecure=True, precision=10)
    assert np.abs(program.run_clear(first) - shrinking(first)).max() < 2.0**-10
    with pytest.raises(ValueOutOfRangeError, match=r"a value of 1\.02 exceeds"):
        program.run_clear([0, 0.5, 1.02])
    with pytest.raises(InvalidArgumentError, match="expected a first state from 0 to 1"):
        cw.compile(shrinking, 1.2 * first, **SMALL)


def test_a_state_that_leaves_its_range_is_refused_by_the_client() -> None:
    grows = partial(cw.repeat, lambda x: 1.5 * x, times=4, bound=4)
    program = cw.compile(grows, (2,), **SMALL)
    assert np.allclose(program.run_clear([0.5, -0.5]), [0.5 * 1.5**4, -0.5 * 1.5**4])
    for run in (program.run_clear, program.run):
        with pytest.raises(ValueOutOfRangeError, match="expects numbers from -4 to 4"):
            run([1.0, 1.0])


def _refused(function: Callable[..., Any], *specs: Any, **options: Any) -> Any:
    return partial(cw.compile, function, *(specs or ((2,),)), **{**SMALL, **options})


def test_refusals_say_what_would_do() -> None:
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda x: cw.repeat(lambda x: x[:1], x, 3), ShapeMismatchError, "return the next state"),
        (lambda x: cw.repeat(lambda x: (x, x), x, 3), ShapeMismatchError, "return the next state"),
        (lambda x: cw.repeat(lambda x: x, x, 0), InvalidArgumentError, "from 1 up to 4096"),
        (lambda x: cw.repeat(lambda x: x, x, 5000), InvalidArgumentError, "from 1 up to 4096"),
        (lambda x: cw.repeat(lambda: x, (), 3), InvalidArgumentError, "an empty one"),
        (
            lambda x: cw.repeat(lambda y: x + 1, x, 3),
            InvalidArgumentError,
            "number 0 unused",
        ),
        (lambda x: cw.repeat(lambda x: 9 * x, x, 30), ValueOutOfRangeError, "say by bound="),
        (lambda x: cw.repeat(lambda x: x, x, 3, bound=0.5), InvalidArgumentError, "larger bound"),
        (lambda x: cw.repeat(lambda x: x, x, 3, low=0.5), InvalidArgumentError, "low=0.5 alone"),
        (lambda x: cw.repeat(lambda x: x, x, 3, high=1), InvalidArgumentError, "high=1 alone"),
        (lambda x: cw.repeat(lambda x: x, x, 3, bound=(1, 2)), InvalidArgumentError, "one bound"),
        (
            lambda x: cw.repeat(lambda x: cw.repeat(lambda x: x / 2, x, 2), x, 3),
            InvalidArgumentError,
            "a loop of Python's",
        ),
        (
            lambda x: cw.repeat(cw.exactly(lambda v: cw.boolean.above(v, 0.5), bits=6), x, 3),
            InvalidArgumentError,
            "decide exactly after the last step",
        ),
        (
            lambda x: cw.repeat(lambda x, y: (x, y + x), (x, np.ones(2)), 3),
            InvalidArgumentError,
            "make what is clear an argument",
        ),
    ]
    for function, kind, words in cases:
        with pytest.raises(kind, match=words):
            _refused(function)()


def test_errors_that_grow_without_bound_are_refused() -> None:
    grows = lambda x: cw.repeat(lambda x: 8 * x * (1 - x), x, 40, low=0, high=2)  # noqa: E731
    with pytest.raises(InvalidParametersError, match="errors grow from step to step"):
        _refused(grows, cw.Spec((2,), low=0, high=1))()


def test_no_chain_without_bootstraps_is_long_enough() -> None:
    with pytest.raises(InvalidParametersError, match="leave bootstrap out"):
        _refused(partial(shrinking, times=400), (4,), (4,), bootstrap=False)()


def test_arrays_are_computed_step_by_step() -> None:
    assert cw.repeat(lambda x: x / 2, np.ones(2), 3).tolist() == [0.125, 0.125]
    with pytest.raises(ValueOutOfRangeError, match="give a larger bound"):
        cw.repeat(lambda x: 2 * x, np.ones(2), 3, bound=4)
    with pytest.raises(ShapeMismatchError, match="return the next state"):
        cw.repeat(lambda x: x[0], np.ones(2), 3)


def test_it_runs_in_this_process_alone(tmp_path: Path) -> None:
    program = cw.compile(partial(shrinking, times=2), (4,), (4,), **SMALL)
    client, evaluator = program.keygen()
    with pytest.raises(InvalidArgumentError, match="leave on out"):
        evaluator.run(client.encrypt(X, C), on=cw.cluster.Files(str(tmp_path)))


def _random_case(seed: int) -> tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...], int]:
    """A random step of one or two states with a matrix from outside, and inputs."""
    draw = np.random.default_rng(seed)
    size, times = int(draw.integers(1, 5)), int(draw.integers(1, 7))
    m, v = draw.uniform(-1, 1, (size, size)) / size, draw.uniform(-1, 1, size)
    clear = draw.uniform(-0.25, 0.25, size)
    kinds: list[Callable[..., Any]] = [
        lambda m, x: 0.5 * (m @ x) + clear,
        lambda m, x: 0.5 * x * x - clear,
        lambda m, x: 0.25 * (x @ m) + 0.5 * cw.sigmoid(x),
        lambda m, x: 0.5 * x[::-1] + 0.5 * clear * x,
        lambda m, x: (m * 0.5 * x).sum(axis=1) - clear,
    ]
    one, other = (kinds[int(draw.integers(len(kinds)))] for _ in range(2))
    if draw.integers(2):

        def paired(m: Any, v: Any) -> Any:
            return cw.repeat(lambda x, y: (one(m, y), other(m, x)), (v, 0.5 * v), times, bound=2)

        return paired, ((size, size), (size,)), (m, v), times
    return (
        lambda m, v: cw.repeat(partial(one, m), v, times, bound=2),
        ((size, size), (size,)),
        (m, v),
        times,
    )


@pytest.mark.parametrize("seed", range(part(60)))
def test_random_steps_in_the_clear(seed: int) -> None:
    function, specs, inputs, _ = _random_case(seed)
    program = cw.compile(function, *specs, **SMALL)
    expected, found = function(*inputs), program.run_clear(*inputs)
    several = expected if isinstance(expected, tuple) else (expected,)
    for one, other in zip(several, found if isinstance(found, tuple) else (found,), strict=True):
        assert np.abs(one - other).max() < (program.error or 2**-30)


@pytest.mark.parametrize("seed", range(100, 100 + part(12)))
@pytest.mark.parametrize("bootstrap", [None, True])
def test_random_steps_on_ciphertexts(seed: int, bootstrap: bool | None) -> None:
    function, specs, inputs, _ = _random_case(seed)
    program = cw.compile(function, *specs, bootstrap=bootstrap, **SMALL)
    expected, found = function(*inputs), program.run(*inputs)
    several = expected if isinstance(expected, tuple) else (expected,)
    for one, other in zip(several, found if isinstance(found, tuple) else (found,), strict=True):
        assert np.abs(one - other).max() < 2**-8


def test_steps_that_take_no_such_state_are_refused() -> None:
    given: list[tuple[Any, Any, str]] = [
        (lambda x: x / 2, [0.0, 0, 0], r"takes the state, 3 tensor.* numpy.asarray\(numbers\)"),
        (lambda x, y: (x, y), np.ones(3), "1 tensor.*parameters .x, y.: missing a required arg"),
        (np.ones(3), np.ones(3), "expected a function of the state as the step, got an array"),
    ]
    for step, state, message in given:
        with pytest.raises(InvalidArgumentError, match=message):
            cw.repeat(step, state, 5)
    for step, message in ((given[1][0], given[1][2]), (given[2][0], given[2][2])):
        with pytest.raises(InvalidArgumentError, match=message):
            cw.compile(lambda x, step=step: cw.repeat(step, x, 2), (3,))
    assert cw.repeat(lambda x, y, z: (y, z, x + 1), [0.0, 0, 0], 2) == (0.0, 1.0, 1.0)


def test_a_bound_beside_both_ends_is_taken_as_by_specs() -> None:
    spec = cw.Spec((3,), bound=1, low=-1, high=1)
    program = cw.compile(lambda x: cw.repeat(lambda x: x / 2, x, 2, bound=1, low=-1, high=1), spec)
    np.testing.assert_allclose(program.run_clear([1.0, 0.5, -1]), [0.25, 0.125, -0.25], atol=1e-4)


def test_functions_of_several_operations_see_samples_in_steps() -> None:
    def shares(logits: Any) -> Any:
        return cw.repeat(lambda x: 0.5 * x + cw.softmax(x), logits, 2)

    data = np.array([[3.0, -2.0, 0.5], [1.0, 2.5, -1.0]])
    program = cw.compile(shares, data, precision=8, log_n=10, insecure=True)

    def softmax(x: Any) -> Any:
        powers = np.exp(x)
        return powers / powers.sum(axis=1, keepdims=True)

    exact = data
    for _ in range(2):
        exact = 0.5 * exact + softmax(exact)
    assert np.abs(program.run_clear(data) - exact).max() < (program.error or 0) < 2**-7
