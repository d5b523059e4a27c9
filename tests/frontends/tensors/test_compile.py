"""Compiled functions compute what numpy computes, within the precision asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import cloakwork as cw
from cloakwork.errors import (
    ActivationFitError,
    CloakworkError,
    InsecureParametersError,
    InvalidArgumentError,
    InvalidParametersError,
    KeyBudgetError,
    NotFiniteError,
    ParametersMismatchError,
    ShapeMismatchError,
    UnsupportedOperationError,
    ValueOutOfRangeError,
)
from cloakwork.frontends.tensors.tracing import TracedTensor
from cloakwork.plan.analysis.precision import predicted_precision
from cloakwork.plan.passes.levels import depth_of
from cloakwork.programs.bounds import value_bounds
from cloakwork.programs.keys import required_keys
from cloakwork.programs.packing.tensor import TensorPacking
from cloakwork.programs.slots import Input, Linear, Rotate, SlotProgram
from cloakwork.schemes.ckks_noise import noise_of
from tests.thoroughness import part, slow

Function = Callable[..., Any]


def compiled(function: Function, *specs: Any, **options: Any) -> cw.Program:
    return cw.compile(function, *specs, **{"log_n": 10, "insecure": True, **options})


def arrays(program: cw.Program, seed: int = 0) -> list[NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(-port.bound, port.bound, port.shape) for port in program.inputs]


def as_tuple(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, tuple | list) else (result,)


def body_of(program: cw.Program) -> SlotProgram:
    assert isinstance(program.body, SlotProgram)
    return program.body


def precisions(program: cw.Program, results: cw.Encrypted) -> list[float]:
    """Bits after the point that are right, as the ciphertexts of each result say."""
    assert isinstance(program.packing, TensorPacking)
    (run,) = results.values(program.scheme, program.body)
    values = iter([run[number] for number in sorted(run)])
    return [
        min(next(values).precision for _ in range(layout.ciphertexts))
        for layout in program.packing.results
    ]


def require_encrypted_right(program: cw.Program, function: Function, precision: int) -> None:
    """Run on ciphertexts: as exact as these say, and they as exact as was asked."""
    data = arrays(program)
    client, evaluator = program.keygen()
    results = evaluator.run(client.encrypt(*data))
    found = as_tuple(client.decrypt(results))
    expected = as_tuple(function(*data))
    told = precisions(program, results)
    assert len(found) == len(expected) == len(told) == len(program.outputs)
    for port, bits, got, want in zip(program.outputs, told, found, expected, strict=True):
        assert got.shape == port.shape == np.shape(want)
        assert bits >= precision
        assert np.abs(got - want).max() <= 2.0**-bits


# What takes a matrix of 6 by 6, and perhaps a second one, to such a matrix.
STEPS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "matmul": lambda x, y, w: x @ y / 6,
    "clear matmul": lambda x, y, w: w @ x / 6,
    "transpose": lambda x, y, w: x.T,
    "add": lambda x, y, w: x + y,
    "sub clear": lambda x, y, w: w - x,
    "product": lambda x, y, w: x * y,
    "scaled": lambda x, y, w: 0.3 * x,
    "reverse": lambda x, y, w: x[::-1],
    "sums": lambda x, y, w: x.sum(axis=0) / 6 + y,
    "means": lambda x, y, w: x - x.mean(axis=1, keepdims=True),
    "reshape": lambda x, y, w: x.reshape(36).reshape(6, 6),
    "einsum": lambda x, y, w: einsum("ij,kj->ik", x, y) / 6,
    "einsum clear": lambda x, y, w: einsum("ij,j->ji", x, w[0]),
}


def einsum(expression: str, x: Any, y: Any) -> Any:
    on_tensors = any(isinstance(each, TracedTensor) for each in (x, y))
    return cw.einsum(expression, x, y) if on_tensors else np.einsum(expression, x, y)


def chain(names: list[str]) -> Function:
    weights = np.random.default_rng(1).uniform(-1, 1, (6, 6))

    def function(x: Any, y: Any) -> Any:
        for name in names:
            x, y = STEPS[name](x, y, weights), x
        return x, y[1:3]

    return function


@settings(max_examples=part(25), deadline=None)
@given(st.lists(st.sampled_from(sorted(STEPS)), max_size=4), st.sampled_from([6, 7, 10]))
def test_chains_are_those_of_numpy_in_the_clear(names: list[str], log_n: int) -> None:
    function = chain(names)
    program = compiled(function, (6, 6), (6, 6), log_n=log_n)
    data = arrays(program)
    for got, want in zip(as_tuple(program.run_clear(*data)), function(*data), strict=True):
        assert got.shape == want.shape
        assert np.abs(got - want).max() < 1e-9


@settings(max_examples=part(8), deadline=None)
@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=3))
def test_chains_are_those_of_numpy_on_ciphertexts(names: list[str]) -> None:
    function = chain(names)
    program = compiled(function, (6, 6), (6, 6))
    require_encrypted_right(program, function, 20)


FUNCTIONS: dict[str, tuple[Function, list[Any]]] = {
    "returned unchanged": (lambda x: x, [(5,)]),
    "returned twice": (lambda x: (x, x), [(5,)]),
    "used twice": (lambda x: x @ x, [(8, 8)]),
    "against itself": (lambda x: x @ x.T, [(8, 5)]),
    "not used": (lambda x, y: x + 1, [(5,), (3,)]),
    "a list": (lambda x: [x, 2 * x], [(5,)]),
    "nothing left": (lambda x: x - x, [(5,)]),
    "a scalar": (lambda x: x * 0.3, [()]),
    "any number of arguments": (lambda *xs: xs[0] - 2 * xs[1], [(4,), (4,)]),
    "large and small bounds": (lambda x, y: x @ y, [cw.Spec((9, 9), 0.5), cw.Spec((9,), 30.0)]),
    "several ciphertexts": (lambda x: x @ x[0], [(40, 40)]),
    # One ciphertext of the argument is squared twice, one only added.
    "ciphertexts at several levels": (lambda x: x[:10] ** 4 + x[250:260], [(300, 4)]),
    "ciphertexts that are not used": (lambda x: x[250:260], [(300, 4)]),
    "numpy's functions": (lambda x: np.sum(x, 0) + np.einsum("ij->j", x), [(4, 5)]),
    "two steps, several results": (lambda x, w: (x, x @ w, x.T), [(6, 7), (7, 3)]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_on_ciphertexts(name: str) -> None:
    function, specs = FUNCTIONS[name]
    require_encrypted_right(compiled(function, *specs), function, 20)


@pytest.mark.parametrize("precision", [20, *slow(4, 30)])
def test_three_steps_reach_the_precision_at_128_bits(precision: int) -> None:
    def function(a: Any, b: Any, c: Any) -> Any:
        return (a @ b) @ c

    program = cw.compile(function, (8, 8), (8, 8), (8, 8), precision=precision)
    parameters = program.scheme.parameters
    assert not parameters.insecure
    assert parameters.levels == depth_of(body_of(program))
    require_encrypted_right(program, function, precision)


def test_errors_that_grow_on_the_way_are_met_by_a_larger_scale() -> None:
    def function(x: Any) -> Any:
        return x**32

    program = compiled(function, (16, 16), precision=25)
    require_encrypted_right(program, function, 25)


def predicted_of(program: cw.Program) -> float:
    bounds = program.packing.input_bounds()
    assert bounds is not None
    body = body_of(program)
    scheme = program.scheme
    noise = noise_of(scheme.parameters, public_inputs=scheme.public_inputs)
    return predicted_precision(body, value_bounds(body, bounds), noise)


@pytest.mark.parametrize("public_inputs", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_predicted_precision_is_the_engines(name: str, public_inputs: bool) -> None:
    function, specs = FUNCTIONS[name]
    program = compiled(function, *specs, public_inputs=public_inputs)
    predicted = predicted_of(program)
    client, evaluator = program.keygen()
    encrypting = client.public_key() if public_inputs else client
    found = min(precisions(program, evaluator.run(encrypting.encrypt(*arrays(program)))))
    assert predicted <= found <= predicted + 2.5


def test_inputs_of_a_public_key_take_a_larger_scale() -> None:
    scales = [
        cw.compile(lambda x: x**16, (8,), public_inputs=each).scheme.parameters.scale_bits
        for each in (False, True)
    ]
    assert scales == [39, 40]


def rotations(*programs: SlotProgram) -> int:
    return sum(
        isinstance(operation, Rotate | Linear)
        for program in programs
        for operation in program.operations
    )


def attention(q: Any, k: Any, v: Any) -> Any:
    return einsum("qk,kd->qd", einsum("qd,kd->qk", q, k) ** 2, v)


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda a, b: a @ b, [(16, 16), (16, 16)]),
        (lambda a, b, c: (a @ b) @ c, [(8, 8)] * 3),
        (attention, [(8, 16)] * 3),
    ],
)
def test_packing_for_the_plan_saves_rotations(
    function: Function, shapes: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = cw.Session(depth=8, backend="clear", insecure=True, log_n=12)
    eager: list[SlotProgram] = []
    run = cw.Session.run

    def watched(self: cw.Session, program: SlotProgram, *args: Any, **options: Any) -> Any:
        eager.append(program)
        return run(self, program, *args, **options)

    monkeypatch.setattr(cw.Session, "run", watched)
    # A tensor is what the einsum of this file takes for one only while it is traced.
    monkeypatch.setitem(globals(), "einsum", cw.einsum)
    function(*[session.encrypt(np.ones(shape)) for shape in shapes])
    program = compiled(function, *shapes, log_n=12)
    assert rotations(body_of(program)) < rotations(*eager)


def test_inputs_are_encrypted_no_higher_than_needed() -> None:
    program = compiled(lambda a, b, c: (a * b) * c, (8,), (8,), (8,))
    assert isinstance(program.packing, TensorPacking)
    levels = [each.level for each in body_of(program).operations if isinstance(each, Input)]
    arguments = [each.argument for each in program.packing.placed]
    assert dict(zip(arguments, levels, strict=True)) == {0: 2, 1: 2, 2: 1}
    assert program.scheme.parameters.levels == 2
    client, _ = program.keygen()
    (run,) = client.encrypt(*np.ones((3, 8))).values(program.scheme, program.body)
    assert [run[number].level for number in sorted(run)] == levels


def test_key_budgets_from_all_keys_to_the_fewest() -> None:
    def function(x: Any) -> Any:
        return (x @ x + x.sum(axis=0)) @ x / 144

    free = compiled(function, (12, 12))
    assert compiled(function, (12, 12), key_budget=free.key_bytes).key_bytes == free.key_bytes
    with pytest.raises(KeyBudgetError, match="that of products alone") as one_key:
        compiled(function, (12, 12), key_budget=0)
    with pytest.raises(KeyBudgetError, match=r"allow \d+ bytes or more") as refusal:
        compiled(function, (12, 12), key_budget=one_key.value.least)
    fewest = int(str(refusal.value).rsplit("allow ", 1)[1].split()[0])
    assert fewest < free.key_bytes
    least = compiled(function, (12, 12), key_budget=fewest)
    assert least.key_bytes <= fewest
    assert len(required_keys(body_of(least))) < len(required_keys(body_of(free)))
    require_encrypted_right(least, function, 12)
    with pytest.raises(KeyBudgetError):
        compiled(function, (12, 12), key_budget=fewest - 1)
    with pytest.raises(InvalidArgumentError, match="budget"):
        compiled(function, (12, 12), key_budget=-1)


@pytest.mark.slow
def test_fewer_keys_cost_no_precision() -> None:
    clear = np.random.default_rng(8).uniform(-1, 1, (50, 50))

    def function(x: Any) -> Any:
        return clear @ x.T

    free = cw.compile(function, (50, 50), precision=30)
    program = cw.compile(function, (50, 50), precision=30, key_budget=free.key_bytes // 2)
    assert program.key_bytes <= free.key_bytes // 2
    assert predicted_of(program) >= 30


def branching(x: Any) -> Any:
    return x if x else x + 1


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: None, "expected the function to return tensors"),
        (lambda x: np.ones(3), "expected the function to return tensors"),
        (lambda x: (), "expected the function to return tensors"),
        (lambda x: (x, 1), "expected the function to return tensors"),
        (lambda x: {"x": x}, "expected the function to return tensors"),
        (lambda x, y: x, "does not take 1 argument"),
        (lambda: None, "does not take 1 argument"),
        (lambda x, *, y: x, "does not take 1 argument"),
        (3, "does not take 1 argument"),
        (branching, "cannot branch"),
        (lambda x: max(x, x), "cannot branch"),
        (lambda x: x * (x == 0), "cannot compare"),
        (lambda x: x * (x != 0), "cannot compare"),
        (lambda x: float(x[0]), "cannot make a float"),
        (lambda x: np.array([x, x]), "cannot make a numpy array"),
    ],
)
def test_functions_that_are_refused(function: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        compiled(function, (8,))


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda x: np.sort(x + 1), "sort"),
        (lambda x: np.linalg.svd(x.reshape(2, 4)), r"linalg\.svd"),
        (np.argmax, "argmax"),
    ],
)
def test_numpys_functions_that_no_program_has_are_refused(function: Any, name: str) -> None:
    with pytest.raises(UnsupportedOperationError, match=rf"cannot compute numpy\.{name} of an enc"):
        compiled(function, (8,))


def test_tensors_from_elsewhere_are_no_part_of_a_function() -> None:
    leaked: list[Any] = []
    compiled(lambda x: leaked.append(x) or x, (8,))  # type: ignore[func-returns-value]
    with pytest.raises(InvalidArgumentError, match="made of its arguments"):
        compiled(lambda x: leaked[0], (8,))
    encrypted = cw.Session(depth=1, backend="clear").encrypt(np.ones(8))
    for other in (leaked[0], encrypted):
        with pytest.raises(ParametersMismatchError, match="different sessions"):
            compiled(lambda x, other=other: x + other, (8,))


@pytest.mark.parametrize("spec", [3, (0,), (-1,), (1.5,), (True,), "ab", None, ("a",)])
def test_shapes_that_are_refused(spec: Any) -> None:
    with pytest.raises(
        ShapeMismatchError, match="cannot compile: expected of each argument its shape"
    ):
        compiled(lambda x: x, spec)


def test_what_is_no_sample_yet_is_refused_with_what_makes_one() -> None:
    polars, sparse = pytest.importorskip("polars"), pytest.importorskip("scipy.sparse")
    pairs = [
        (sparse.csr_array(np.eye(2)), "got a csr_array; .* sparse.toarray"),
        (polars.DataFrame({"a": [1.0]}).lazy(), r"got <LazyFrame .* lazy.collect\(\)"),
        ([1.0, 2.0, 3.0], r"got \[1.0, 2.0, 3.0\]; make an array .* numpy.asarray\(numbers\)"),
    ]
    for argument, message in pairs:
        with pytest.raises(ShapeMismatchError, match=message):
            cw.compile(lambda x: 2 * x, argument)


def test_shapes_may_be_lists_and_numpys() -> None:
    program = compiled(lambda x, y: x + y, [3, 4], (np.int64(4),))
    assert [port.shape for port in program.inputs] == [(3, 4), (4,)]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"insecure": False}, InsecureParametersError),
        ({"precision": 60}, InvalidParametersError),
        ({"precision": 61}, InvalidArgumentError),
        ({"precision": -1}, InvalidArgumentError),
        ({"precision": 1.5}, InvalidArgumentError),
        ({"log_n": 4}, InvalidArgumentError),
        ({"log_n": "x"}, InvalidArgumentError),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], error: type[CloakworkError]) -> None:
    with pytest.raises(error, match="cannot compile"):
        compiled(lambda x: x.sum(), (8,), **options)


def test_errors_that_no_scale_meets_are_refused() -> None:
    with pytest.raises(InvalidParametersError, match=r"errors may grow by .* ask for less"):
        compiled(lambda x: x**256, (8, 8), precision=42)


def test_an_argument_that_is_not_used_keeps_its_promises_too() -> None:
    program = compiled(lambda a, b: a + 1, (8,), (8,))
    for unused in (np.full(8, 2.0), np.full(8, np.nan)):
        with pytest.raises((ValueOutOfRangeError, NotFiniteError)):
            program.run_clear(np.ones(8), unused)


def test_arguments_are_named_as_the_functions_are() -> None:
    def scores(images: Any, weights: Any) -> Any:
        return images @ weights

    program = compiled(scores, (2, 8), (8, 3))
    assert [port.name for port in program.inputs] == ["images", "weights"]
    images, weights = arrays(program)
    found = program.run_clear(weights=weights, images=images)
    assert np.abs(found - images @ weights).max() < 1e-9
    anything = compiled(lambda *xs: xs[0] - xs[1], (4,), (4,))
    assert len({port.name for port in anything.inputs}) == 2


def test_results_are_named_where_they_are_several() -> None:
    assert [port.name for port in compiled(lambda x: x, (3,)).outputs] == ["result"]
    several = compiled(lambda x: (x, x.sum(), 2 * x), (3,))
    assert [port.name for port in several.outputs] == ["result 1", "result 2", "result 3"]
    assert [port.bound for port in several.outputs] == [1, 3, 2]


def test_measured_costs_plan_the_same_function(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    compiled = cw.compile(
        lambda a, b: a @ b, (8, 8), (8, 8), log_n=10, insecure=True, costs=cw.measured_costs
    )
    assert list((tmp_path / "cloakwork").iterdir())
    a, b = np.random.default_rng(5).uniform(-1, 1, (2, 8, 8))
    assert np.abs(np.asarray(compiled.run(a, b)) - a @ b).max() < 1e-4


def test_circuits_are_compiled_by_their_own_method() -> None:
    square = cw.circuit(a=cw.scalar())(lambda a: a * a)
    with pytest.raises(InvalidArgumentError, match=r"a function of tensors, .* compile\(bits=\)"):
        cw.compile(square, (4,))


def test_what_a_file_holds_has_no_folder_of_the_source(tmp_path: Path) -> None:
    cw.compile(lambda x: (x * x).sum(), (4,), log_n=10, insecure=True).save(tmp_path / "program")
    loaded = cw.load(tmp_path / "program", cw.Program, insecure=True)
    assert isinstance(loaded.body, SlotProgram)
    places = {origin.rpartition(":")[0] for origin in loaded.body.origins}
    assert places - {""} == {Path(__file__).name}


def test_costs_that_are_no_function_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="expected costs to be a function"):
        cw.compile(lambda x: x, (3,), costs=3)  # type: ignore[arg-type]


SQUARE = 40


def of_four(*matrices: Any) -> Any:
    a, b, c, d = matrices
    return a @ b @ c @ d


def squared(a: Any, b: Any, c: Any, d: Any) -> Any:
    return (a @ b) ** 2 @ (c @ d) ** 2


def in_batches(a: Any, b: Any, c: Any, d: Any) -> Any:
    return cw.einsum("ij,jk,kl,lm->m", a, b, c, d)


@pytest.mark.parametrize("function", [of_four, squared, in_batches])
def test_hopeless_bounds_are_refused_before_ways_are_compared(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def planned(*_: object, **__: object) -> None:
        raise AssertionError("nothing is to be planned")

    monkeypatch.setattr("cloakwork.plan.tensors.search.lower", planned)
    monkeypatch.setattr("cloakwork.plan.matmul.matrix_plan.cheapest_orders", planned)
    specs = [cw.Spec((SQUARE, SQUARE), bound=1e6)] * 4
    with pytest.raises(InvalidParametersError, match=r"as large as .* cloakwork\.within"):
        cw.compile(function, *specs)
    specs = [cw.Spec((SQUARE, SQUARE), bound=0.1)] * 4
    with pytest.raises(KeyBudgetError, match=r"within 1000 bytes .* products alone") as few:
        cw.compile(function, *specs, key_budget=1000)
    assert few.value.least > 1000


NOTHING = np.zeros((4, 4))


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: a @ NOTHING,
        lambda a, b: a @ NOTHING @ b,
        lambda a, b: (a + b) * 0.0,
        lambda a, b: (a @ NOTHING, a * 0.0 - b @ NOTHING),
    ],
)
def test_results_that_are_always_zero_are_decrypted_as_zero(function: Callable[..., Any]) -> None:
    program = cw.compile(function, (4, 4), (4, 4), log_n=10, insecure=True)
    client, evaluator = program.keygen()
    found = client.decrypt(evaluator.run(client.encrypt(np.ones((4, 4)), np.ones((4, 4)))))
    assert not np.any(found)
    assert np.shape(found)[-2:] == (4, 4)


def test_one_result_that_is_always_zero_is_within_the_precision() -> None:
    program = cw.compile(lambda a: (a, a * 0.0), (4,), log_n=10, insecure=True)
    client, evaluator = program.keygen()
    one, zero = client.decrypt(evaluator.run(client.encrypt(np.ones(4))))
    assert np.abs(one - 1).max() < 2**-20
    assert np.abs(zero).max() < 2**-20


@pytest.mark.parametrize(
    "function",
    [lambda a, b: a @ b, lambda a, b: a @ np.full((4, 4), 1e-200), lambda a, b: a * b * 1e-9],
)
def test_results_below_every_double_are_refused(function: Callable[..., Any]) -> None:
    small = cw.Spec((4, 4), bound=1e-200)
    with pytest.raises(InvalidParametersError, match=r"no double holds; scale the arguments up"):
        cw.compile(function, small, small, log_n=10, insecure=True)


@pytest.mark.parametrize("bootstrap", [None, True])
@pytest.mark.parametrize("bound", [1e150, 1e300, 1.7e308])
def test_numbers_above_every_double_are_refused(bound: float, bootstrap: bool | None) -> None:
    with pytest.raises(InvalidParametersError, match=r"give (narrower ranges|inputs tighter)"):
        cw.compile(
            lambda x: x * x,
            cw.Spec((4,), bound=bound),
            insecure=True,
            log_n=11,
            precision=16,
            bootstrap=bootstrap,
        )


@pytest.mark.parametrize("log_n", [8, 15])
def test_errors_that_grow_beyond_every_scale_are_refused_for_what_they_are(log_n: int) -> None:
    def squares(x: Any) -> Any:
        for _ in range(60):
            x = x * x
        return x

    with pytest.raises(InvalidParametersError) as refused:
        cw.compile(squares, (4,), precision=10, log_n=log_n, insecure=True)
    assert "errors grow by 60 bits on the way" in str(refused.value)
    assert "or compute fewer steps" in str(refused.value)
    with pytest.raises(InvalidParametersError) as other:
        cw.compile(squares, (4,), precision=10, log_n=log_n, insecure=True, bootstrap=True)
    assert "leaves no bit of its results right" in str(other.value)
    for each in (refused, other):
        assert "would do" not in str(each.value)
        assert "precision=" not in str(each.value)


def _root_of_less(x: Any) -> Any:
    return np.sqrt(x - 0.5)


def test_a_refusal_names_the_line_and_the_range_that_would_do() -> None:
    line = _root_of_less.__code__.co_firstlineno + 1
    with pytest.raises(ActivationFitError, match=rf"sqrt at test_compile.py:{line} .* -1.5 to 0.5"):
        cw.compile(_root_of_less, (4,))
    program = cw.compile(lambda x: np.sqrt(cw.within(x - 0.5, 0, 0.5)), (4,), precision=8)
    assert np.abs(program.run_clear(np.ones(4)) - np.sqrt(0.5)).max() < 2.0**-8
    with pytest.raises(
        ActivationFitError, match=r"within\(x, 0, 0.5\), x being what the root is of"
    ):
        cw.compile(_root_of_less, (4,))
