import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloakwork as cw
from cloakwork.errors import (
    InvalidArgumentError,
    InvalidParametersError,
    KeyBudgetError,
    MemoryBudgetError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.programs.keys import required_keys
from cloakwork.programs.operations import Output, Rescale, RotatedProducts, SwitchProduct
from cloakwork.programs.slots import SlotProgram
from tests.products import counts_of, real_product
from tests.thoroughness import part, slow

SIDE = st.one_of(st.integers(1, 8), st.integers(9, 150))


def random_matrices(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(sum(map(sum, shapes)))
    return [rng.uniform(-1, 1, shape) for shape in shapes]


@settings(max_examples=part(40))
@given(st.sampled_from([(), (), (3,), (2, 3)]), SIDE, SIDE, SIDE)
def test_products_of_any_shape_are_right_in_the_clear(
    batch: tuple[int, ...], rows: int, inner: int, columns: int
) -> None:
    a, b = random_matrices((*batch, rows, inner), (*batch, inner, columns))
    program = real_product(a.shape, b.shape, precision=8, log_n=10, insecure=True)
    np.testing.assert_allclose(program.run_clear(a, b), a @ b, atol=1e-11)


@settings(max_examples=part(20))
@given(st.sampled_from([(3,), (2, 3)]), SIDE, SIDE, SIDE, st.booleans())
def test_one_matrix_for_all_of_a_batch_is_right_in_the_clear(
    batch: tuple[int, ...], rows: int, inner: int, columns: int, left: bool
) -> None:
    of_left, of_right = ((), batch) if left else (batch, ())
    a, b = random_matrices((*of_left, rows, inner), (*of_right, inner, columns))
    program = real_product(a.shape, b.shape, precision=8, log_n=10, insecure=True)
    np.testing.assert_allclose(program.run_clear(a, b), a @ b, atol=1e-11)


@pytest.mark.parametrize("shapes", [((5, 20, 30), (30, 20)), ((20, 30), (5, 30, 20))])
def test_one_matrix_for_all_of_a_batch_takes_no_more_ciphertexts(
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
) -> None:
    a, b = random_matrices(*shapes)
    program = real_product(a.shape, b.shape, log_n=10, insecure=True)
    whole = real_product((5, *a.shape[-2:]), (5, *b.shape[-2:]), log_n=10, insecure=True)
    assert program.packing.vector_counts[0] <= whole.packing.vector_counts[0]
    client, evaluator = program.keygen()
    found = client.decrypt(evaluator.run(client.encrypt(a, b)))
    assert np.abs(found - a @ b).max() < 2**-7


@pytest.mark.parametrize("size", [256, 512])
def test_a_product_spends_what_is_promised(size: int) -> None:
    program = real_product((size, size), (size, size))
    body = program.body
    assert isinstance(body, SlotProgram)
    outputs = sum(isinstance(each, Output) for each in body.operations)
    switches = [each for each in body.operations if isinstance(each, SwitchProduct)]
    rescales = sum(isinstance(each, Rescale) for each in body.operations)
    products = [each for each in body.operations if isinstance(each, RotatedProducts)]
    # Two decompositions and one division for each result are the engine's, in a switch.
    assert len(switches) == rescales == outputs
    rotations = body.slots // products[0].step
    assert len(required_keys(body)) == 2 * rotations - 1
    assert {state.level for state in body.states} == {0, 1}
    terms = sum(len(each.left) for each in products) * rotations
    assert 4 * 2 * body.slots * terms <= 4.4 * size**3
    if size == 512:
        assert outputs <= 128


# What products of slots took, in and out, before there were blocks.
@pytest.mark.parametrize(("size", "most"), [(8, 3), (20, 7), (32, 17), *slow((48, 97), (64, 129))])
def test_small_products_have_no_more_ciphertexts_than_those_of_slots(size: int, most: int) -> None:
    program = cw.compile(lambda a, b: cw.einsum("ik,kj->ij", a, b), (size, size), (size, size))
    assert sum(program.packing.vector_counts) <= most


# What it took where products of matrices had an entry of their own: ciphertexts in and out, rotated
# products, their switches, rotations, keys and bytes of these; all on one level, in a ring of 2^12.
COUNTS = [
    ((256, 256), (256, 256), (384, 32, 2, 32, 0, 31, 10158080)),
    ((300, 64), (64, 200), (128, 48, 3, 48, 0, 31, 10158080)),
    ((60, 40), (40, 70), (40, 4, 1, 4, 0, 7, 2293760)),
    ((5, 20, 30), (30, 20), (30, 1, 1, 1, 0, 1, 163840)),
    ((64, 64), (64, 64), (64, 2, 1, 2, 0, 3, 983040)),
    ((10, 12), (12, 9), (2, 1, 1, 1, 3, 4, 720896)),
    ((16, 6), (6, 16), (2, 1, 1, 1, 2, 3, 589824)),
    *slow(
        ((512, 512), (512, 512), (768, 128, 2, 128, 0, 127, 41615360)),
        ((2, 90, 40), (2, 40, 90), (80, 12, 3, 12, 0, 7, 2293760)),
    ),
]


@pytest.mark.parametrize(("left", "right", "counts"), COUNTS)
def test_products_take_no_more_than_blocks_did(
    left: tuple[int, ...], right: tuple[int, ...], counts: tuple[int, ...]
) -> None:
    program = real_product(left, right)
    assert counts_of(program) == counts
    assert (program.scheme.parameters.levels, program.scheme.parameters.log_n) == (1, 12)


@pytest.mark.parametrize("expression", ["ik,kj->ij", "ki,kj->ij", "bik,bjk->bij"])
def test_einsums_reach_the_same_plan(expression: str) -> None:
    shapes = [
        tuple({"i": 70, "k": 50, "j": 60, "b": 2}[each] for each in term)
        for term in expression.split("->", maxsplit=1)[0].split(",")
    ]
    by_einsum = cw.compile(lambda a, b: cw.einsum(expression, a, b), *shapes, precision=7)
    batch = (2,) if "b" in expression else ()
    whole = real_product((*batch, 70, 50), (*batch, 50, 60))
    assert counts_of(by_einsum) == counts_of(whole)


def test_functions_of_products_are_not_given_less_memory_than_they_take() -> None:
    def function(a: Any, b: Any) -> Any:
        return (a @ b).sum(axis=0)

    with pytest.raises(MemoryBudgetError, match="allow memory_limit=") as refused:
        cw.compile(function, (8, 8), (8, 8), memory_limit=1000)
    told = re.search(r"memory_limit=(\d+)$", str(refused.value))
    assert told is not None
    cw.compile(function, (8, 8), (8, 8), memory_limit=int(told[1]))


def test_programs_are_saved_and_explained(tmp_path: Path) -> None:
    a, b = random_matrices((100, 60), (60, 70))
    program = real_product(a.shape, b.shape)
    program.save(tmp_path / "program")
    again = cw.load(tmp_path / "program", cw.Program)
    assert again.fingerprint == program.fingerprint
    np.testing.assert_array_equal(again.run_clear(a, b), program.run_clear(a, b))
    told = cw.explain(program)
    assert "left blocks of 100 x 60" in told
    assert "diagonal pair of 100 x 70" in told
    assert "product switches" in told
    assert cw.estimate(program).operations["rotated term"] > 0


def test_modelled_errors_stay_below_what_is_promised() -> None:
    a, b = random_matrices((64, 300), (300, 64))
    program = real_product(a.shape, b.shape)
    worst = np.abs(program.simulate(a, b).outputs - a @ b).max()
    assert 0 < worst < 2**-7
    ones = np.ones_like(a), np.ones_like(b)
    assert np.abs(program.simulate(*ones).outputs - 300).max() < 2**-7


@pytest.mark.parametrize("bound", [1e-3, 0.2, 0.49])
def test_small_results_have_enough_right_bits_to_be_decrypted(bound: float) -> None:
    spec = cw.Spec((8, 8), bound=bound)
    with pytest.raises(InvalidParametersError, match="ask for precision=") as refused:
        real_product(spec, spec, precision=5, insecure=True, log_n=10)
    told = re.search(r"ask for precision=(\d+)", str(refused.value))
    assert told is not None
    program = real_product(spec, spec, precision=int(told[1]), insecure=True, log_n=10)
    a, b = (bound * each for each in random_matrices((8, 8), (8, 8)))
    largest = 8 * bound**2
    # Eight right bits of the largest result that the bounds allow, or of 1.
    assert np.abs(program.run(a, b) - a @ b).max() < 2**-8 * min(1.0, largest)


def test_results_below_every_double_are_refused() -> None:
    spec = cw.Spec((8, 8), bound=1e-200)
    with pytest.raises(InvalidParametersError, match=r"reach 2.2e-308 or more, got smaller ones"):
        real_product(spec, spec)


def test_a_range_is_kept_on_both_sides() -> None:
    spec = cw.Spec((8, 8), low=0.5, high=2.0), cw.Spec((8, 8), low=-0.25)
    program = real_product(*spec, log_n=10, insecure=True)
    assert [(port.low, port.high) for port in program.inputs] == [(0.5, 2.0), (-0.25, 1.0)]
    client, evaluator = program.keygen()
    ones = np.ones((8, 8))
    found = client.decrypt(evaluator.run(client.encrypt(0.5 * ones, -0.25 * ones)))
    assert np.abs(found + 1.0).max() < 2**-7
    for left, right in ((0.25, 0.0), (-1.0, 0.0), (0.5, -0.5)):
        with pytest.raises(ValueOutOfRangeError, match=r"from (0\.5 to 2|-0\.25 to 1), got"):
            client.encrypt(left * ones, right * ones)


def test_inputs_beyond_their_bound_are_refused_before_they_are_encrypted() -> None:
    program = real_product(cw.Spec((8, 8), bound=2.0), (8, 8))
    with pytest.raises(ValueOutOfRangeError, match="'b'"):
        program.run_clear(np.full((8, 8), 2.0), np.full((8, 8), 1.5))


def test_several_evaluations_are_several_runs() -> None:
    a, b = random_matrices((3, 10, 12), (12, 9))
    program = real_product((10, 12), (12, 9), log_n=10, insecure=True)
    np.testing.assert_allclose(program.run_clear(a, b), a @ b, atol=1e-12)


@pytest.mark.parametrize(
    "shapes",
    [((2, 3), (2, 3)), ((2, 2, 3), (3, 3, 2)), ((2, 3), (1, 4, 2))],
)
def test_shapes_that_do_not_fit_are_refused(shapes: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(ShapeMismatchError):
        real_product(*shapes)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="precision"):
        real_product((2, 2), (2, 2), precision=-1)
    with pytest.raises(InvalidArgumentError, match="costs"):
        real_product((2, 2), (2, 2), costs=3)
    with pytest.raises(InvalidArgumentError, match="memory_limit"):
        real_product((2, 2), (2, 2), memory_limit=-1)
    with pytest.raises(KeyBudgetError):
        real_product((64, 64), (64, 64), key_budget=1000)
    with pytest.raises(MemoryBudgetError):
        real_product((64, 64), (64, 64), memory_limit=1000)
