"""Products of matrices in circuits: planned as such, and right in the clear and on BGV."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import cloakwork as cw
from cloakwork.errors import InvalidArgumentError, KeyBudgetError, ResultOverflowError
from cloakwork.frontends.circuit.inputs import Declared
from cloakwork.programs.ir.circuits import ScalarProduct
from cloakwork.programs.packing.matrix import ListedMatrixPacking
from cloakwork.programs.slots import SlotProgram

Function = Callable[..., Any]


def random_inputs(declared: Mapping[str, Declared], seed: int) -> dict[str, NDArray[np.int64]]:
    random = np.random.default_rng(seed)
    ranges = {name: each.bounds or (-9, 9) for name, each in declared.items()}
    return {
        name: random.integers(low, high + 1, declared[name].shape)
        for name, (low, high) in ranges.items()
    }


def same(found: Any, expected: Any) -> bool:
    """Whether results in lists, tuples and dicts are those of numpy, and Python's integers."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(
            same(found[key], each) for key, each in expected.items()
        )
    if isinstance(expected, tuple | list):
        return type(found) is type(expected) and all(map(same, found, expected))
    return bool(found == expected.tolist())


def on_ciphertexts(program: cw.Program, inputs: Mapping[str, Any]) -> Any:
    client, evaluator = program.keygen()
    return client.decrypt(evaluator.run(client.encrypt(**inputs)))


def are_matrices(program: cw.Program) -> bool:
    return isinstance(program.packing, ListedMatrixPacking)


def square(n: int, bits: int = 6) -> Declared:
    return cw.matrix(n, n, bits=bits)


FUNCTIONS: dict[str, tuple[Function, dict[str, Declared]]] = {
    "chain": (
        lambda a, b, c: a @ b @ c,
        {"a": cw.matrix(11, 17, bits=5), "b": cw.matrix(17, 9, bits=5), "c": cw.matrix(9, 13)},
    ),
    "product and sum": (
        lambda a, b, c: a @ b - c,
        {"a": square(13), "b": square(13), "c": square(13)},
    ),
    "column": (lambda a, v: a @ v, {"a": cw.matrix(40, 33, bits=6), "v": cw.vector(33, bits=6)}),
    "row": (lambda a, v: v @ a, {"a": cw.matrix(33, 40, bits=6), "v": cw.vector(33, bits=6)}),
    "row between": (
        lambda a, b, v: v @ a @ b,
        {
            "a": cw.matrix(20, 30, bits=5),
            "b": cw.matrix(30, 17, bits=5),
            "v": cw.vector(20, bits=5),
        },
    ),
    "bias": (
        lambda a, b, v: a @ b + v,
        {"a": cw.matrix(12, 13, bits=6), "b": cw.matrix(13, 11, bits=6), "v": cw.vector(11)},
    ),
    "transposes": (
        lambda a, b: {"inner": a.T @ b, "outer": (a @ np.transpose(b), -(b @ a.T))},
        {"a": cw.matrix(10, 14, bits=6), "b": cw.matrix(10, 14, bits=6)},
    ),
    "multiples": (lambda a, b: [3 * (a @ b) - b * 2], {"a": square(12), "b": square(12)}),
    "two uses": (lambda a, b: (a + b) @ (a - b) @ a, {"a": square(12, 4), "b": square(12, 4)}),
    "numpy's": (lambda a, b: np.matmul(a, np.dot(b, a)), {"a": square(12, 4), "b": square(12, 4)}),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_products_are_numpys(name: str) -> None:
    function, declared = FUNCTIONS[name]
    program = cw.circuit(**declared)(function).compile(bits=45)
    assert are_matrices(program)
    for seed in range(2):
        inputs = random_inputs(declared, seed)
        assert same(program.run_clear(**inputs), function(**inputs))


@pytest.mark.parametrize("name", ["chain", "column", "bias", "transposes", "multiples"])
def test_products_on_ciphertexts(name: str) -> None:
    function, declared = FUNCTIONS[name]
    program = cw.circuit(**declared)(function).compile(bits=45, log_n=10, insecure=True)
    inputs = random_inputs(declared, 3)
    assert same(on_ciphertexts(program, inputs), function(**inputs))


def test_three_matrices_of_64_rows() -> None:
    declared = {name: cw.matrix(64, 64, bits=8) for name in "abc"}
    program = cw.circuit(**declared)(lambda a, b, c: a @ b @ c).compile()
    assert isinstance(program.body, SlotProgram)
    assert len(program.body.operations) <= 300
    assert program.scheme.modulus >= 1 << 34
    inputs = random_inputs(declared, 1)
    expected = inputs["a"] @ inputs["b"] @ inputs["c"]
    assert on_ciphertexts(program, inputs) == expected.tolist()


def test_a_sum_of_a_product_takes_few_products() -> None:
    declared = {"a": square(8), "b": square(8), "c": square(8)}

    def total(a: Any, b: Any, c: Any) -> Any:
        return (a @ b + c).sum()

    circuit = cw.circuit(**declared)(total)
    operations = circuit.staged().circuit.operations
    assert sum(isinstance(each, ScalarProduct) for each in operations) <= 2 * 8
    inputs = random_inputs(declared, 2)
    assert circuit(**inputs) == total(**inputs)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_sums_of_products_along_axes(axis: int | None) -> None:
    declared = {"a": cw.matrix(3, 4), "b": cw.matrix(4, 2), "v": cw.vector(4)}
    inputs = random_inputs(declared, 4)

    def sums(a: Any, b: Any, v: Any) -> Any:
        return (
            (2 * (a @ b)).sum(axis=axis),
            np.sum(a @ b - a @ b @ b.T @ b, axis=axis),
            (a @ v).sum(),
        )

    found = cw.circuit(**declared)(sums)(**inputs)
    assert same(found, tuple(map(np.asarray, sums(**inputs))))


def test_what_asks_for_elements_is_computed_by_them() -> None:
    declared = {"a": square(11, 4), "b": square(11, 4)}

    def first_row(a: Any, b: Any) -> Any:
        return (a @ b)[0]

    program = cw.circuit(**declared)(first_row).compile(effort=0.1)
    assert not are_matrices(program)
    inputs = random_inputs(declared, 5)
    assert same(program.run_clear(**inputs), first_row(**inputs))


def test_elements_of_a_large_product_are_refused() -> None:
    circuit = cw.circuit(a=square(64), b=square(64))(lambda a, b: (a @ b)[0])
    with pytest.raises(InvalidArgumentError, match="planned as matrices"):
        circuit.compile()


def test_small_products_batches_and_layouts_are_planned_by_single_numbers() -> None:
    small = cw.circuit(a=square(4), b=square(4))(lambda a, b: a @ b)
    assert not are_matrices(small.compile(effort=0.1))
    placed = {"a": cw.matrix(11, 11, bits=4, grouped=True), "b": square(11, 4)}
    circuit = cw.circuit(**placed)(lambda a, b: a @ b)
    assert not are_matrices(circuit.compile(effort=0.1))


def test_circuits_call_circuits_with_whole_matrices() -> None:
    inner = cw.circuit(x=square(12, 40), y=square(12, 40))(lambda x, y: x @ y)

    def outer(a: Any, b: Any) -> Any:
        return inner(inner(a, b), a)

    declared = {"a": square(12, 4), "b": square(12, 4)}
    program = cw.circuit(**declared)(outer).compile()
    assert are_matrices(program)
    inputs = random_inputs(declared, 6)
    expected = inputs["a"] @ inputs["b"] @ inputs["a"]
    assert program.run_clear(**inputs) == expected.tolist()


def test_results_with_more_bits_are_refused() -> None:
    declared = {"a": square(12), "b": square(12)}
    circuit = cw.circuit(**declared)(lambda a, b: a @ b)
    with pytest.raises(ResultOverflowError, match="bits=15"):
        circuit.compile(bits=8)
    unknown = cw.circuit(a=cw.matrix(12, 12), b=cw.matrix(12, 12))(lambda a, b: a @ b)
    client, evaluator = unknown.compile(bits=14, log_n=9, insecure=True).keygen()
    a = np.full((12, 12), 20)
    assert client.decrypt(evaluator.run(client.encrypt(a=a, b=a))) == (a @ a).tolist()
    with pytest.raises(ResultOverflowError, match="bits=16"):
        client.encrypt(a=a, b=5 * a)


def test_keys_are_within_their_budget() -> None:
    declared = {name: square(64, 4) for name in "abc"}
    circuit = cw.circuit(**declared)(lambda a, b, c: a @ b @ c)
    free = circuit.compile()
    tight = circuit.compile(key_budget=free.key_bytes // 2)
    assert tight.key_bytes <= free.key_bytes // 2
    with pytest.raises(KeyBudgetError):
        circuit.compile(key_budget=1000)


def test_several_evaluations_are_several_runs() -> None:
    program = cw.circuit(a=square(11), b=square(11))(lambda a, b: {"c": a @ b}).compile()
    a, b = np.random.default_rng(0).integers(-9, 9, (2, 3, 11, 11))
    found = program.run_clear(a=a, b=b)
    assert found == [{"c": (x @ y).tolist()} for x, y in zip(a, b, strict=True)]


def test_a_program_of_products_is_saved_and_followed(tmp_path: Path) -> None:
    declared = {"a": square(11, 5), "b": square(11, 5)}
    first = cw.circuit(**declared)(lambda a, b: a @ b).compile(log_n=10, insecure=True)
    first.save(tmp_path / "products")
    read = cw.load(tmp_path / "products", cw.Program, insecure=True)
    inputs = random_inputs(declared, 7)
    expected = inputs["a"] @ inputs["b"]
    assert read.run_clear(**inputs) == expected.tolist()
    trace = cw.circuit(c=cw.matrix(11, 11))(lambda c: sum(c[n, n] for n in range(11)))
    second = trace.compile(bits=20, after={"c": cw.result(first)}, log_n=10, insecure=True)
    first, second = cw.together(first, second)
    client, evaluator = first.keygen()
    last = client.serving(second)
    server = evaluator.serving(second, last.evaluation_keys(first))
    found = last.decrypt(server.run([evaluator.run(client.encrypt(**inputs))]))
    assert found == np.trace(expected)
