from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import cloakwork as cw
from cloakwork.errors import (
    InvalidArgumentError,
    InvalidParametersError,
    KeyBudgetError,
    MemoryBudgetError,
    NoiseBudgetError,
    NotIntegerError,
    ResultOverflowError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from tests.products import counts_of, integer_product
from tests.thoroughness import part

SIDE = st.integers(1, 60)


@settings(max_examples=part(20))
@given(st.sampled_from([(), (3,)]), SIDE, SIDE, SIDE, st.integers(0, 2**32))
def test_products_of_any_shape_are_exact_in_the_clear(
    batch: tuple[int, ...], rows: int, inner: int, columns: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    a = rng.integers(-99, 100, (*batch, rows, inner))
    b = rng.integers(-99, 100, (*batch, inner, columns))
    specs = [cw.Spec(each.shape, bound=99) for each in (a, b)]
    program = integer_product(*specs, log_n=10, insecure=True)
    np.testing.assert_array_equal(program.run_clear(a, b), a @ b)


@pytest.mark.parametrize("shapes", [((5, 20, 30), (30, 20)), ((20, 30), (5, 30, 20))])
def test_one_matrix_for_all_of_a_batch(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 10, shape) for shape in shapes)
    specs = [cw.Spec(shape, bound=9) for shape in shapes]
    program = integer_product(*specs, log_n=10, insecure=True)
    np.testing.assert_array_equal(program.run_clear(a, b), a @ b)


# Primes that are 1 modulo 2^13.
@pytest.mark.parametrize("modulus", [1032193, 268582913])
def test_results_modulo_a_prime_are_the_nearest_to_zero(modulus: int) -> None:
    rng = np.random.default_rng(modulus)
    half = modulus // 2
    a, b = (rng.integers(-half, half + 1, (8, 8)) for _ in range(2))
    spec = cw.Spec((8, 8), bound=half)
    program = integer_product(spec, spec, modulus=modulus, log_n=12, insecure=True)
    found = program.run_clear(a, b)
    expected = a.astype(object) @ b.astype(object)
    assert ((found - expected) % modulus == 0).all()
    assert np.abs(found).max() <= half


def test_results_of_many_bits_take_several_primes() -> None:
    spec = cw.Spec((4, 4), bound=1 << 20)
    program = integer_product(spec, spec, log_n=11, insecure=True)
    assert len(program.scheme.parameter_sets) == 2
    a = np.full((4, 4), 1 << 20)
    np.testing.assert_array_equal(program.run_clear(a, -a), a @ -a)


# What it took where products of integers had an entry of their own: ciphertexts in and out, rotated
# products, their switches, rotations, keys and bytes of these; in a ring of 2^12, without levels.
COUNTS: list[Any] = [
    ((60, 40), (40, 60), 1, {}, (20, 4, 1, 4, 8, 9, 2949120)),
    ((64, 64), (64, 64), 9, {}, (32, 4, 1, 4, 8, 9, 2949120)),
    ((64, 64), (64, 64), 9, {"failure_bits": 40}, (32, 4, 1, 4, 8, 9, 2949120)),
    ((5, 20, 30), (30, 20), 9, {}, (30, 2, 1, 2, 2, 4, 1310720)),
    ((20, 70), (70, 30), 20480, {"modulus": 40961}, (18, 2, 1, 2, 6, 6, 1966080)),
    ((4, 4), (4, 4), 1 << 20, {}, (2, 1, 1, 1, 2, 3, 2359296)),
    ((256, 256), (256, 256), 9, {}, (256, 32, 1, 32, 32, 64, 20971520)),
]


@pytest.mark.parametrize(("left", "right", "bound", "options", "counts"), COUNTS)
def test_products_take_what_they_took(
    left: tuple[int, ...],
    right: tuple[int, ...],
    bound: int,
    options: dict[str, Any],
    counts: tuple[int, ...],
) -> None:
    specs = [cw.Spec(shape, bound=bound, kind="integer") for shape in (left, right)]
    program = cw.compile(lambda a, b: a @ b, *specs, **options)
    assert counts_of(program) == counts
    parameters = program.scheme.parameter_sets[0]
    assert (parameters.levels, parameters.log_n) == (0, 12)


@pytest.mark.parametrize(
    ("expression", "shapes"),
    [
        ("ik,jk->ij", [(5, 4), (6, 4)]),
        ("bki,bkj->bij", [(2, 4, 5), (2, 4, 6)]),
        ("ik,jk->ji", [(5, 4), (6, 4)]),
    ],
)
def test_einsums_of_integers_are_exact(expression: str, shapes: list[tuple[int, ...]]) -> None:
    bound = (1 << 30) - 1
    specs = [cw.Spec(shape, bound=bound, kind="integer") for shape in shapes]
    program = cw.compile(lambda a, b: cw.einsum(expression, a, b), *specs, log_n=10, insecure=True)
    a, b = (np.full(shape, bound) for shape in shapes)
    np.testing.assert_array_equal(program.run(a, -b), np.einsum(expression, a, -b))


def test_a_matrix_times_its_transpose_enters_by_one_name() -> None:
    a = np.random.default_rng(4).integers(-9, 10, (30, 20))
    spec = cw.Spec(a.shape, bound=9, kind="integer")
    program = cw.compile(lambda a: a @ a.T, spec, log_n=10, insecure=True)
    np.testing.assert_array_equal(program.run(a), a @ a.T)


def test_bounds_have_more_bits_than_a_double() -> None:
    bound = (1 << 60) + 1
    spec, one = cw.Spec((1, 1), bound=bound, kind="integer"), cw.Spec((1, 1), kind="integer")
    assert (spec.low, spec.high, spec.bound) == (-bound, bound, bound)
    program = cw.compile(lambda a, b: a @ b, spec, one, log_n=10, insecure=True)
    assert program.run_clear([[bound]], [[-1]]).tolist() == [[-bound]]
    with pytest.raises(ValueOutOfRangeError):
        program.run_clear([[bound + 1]], [[1]])


INTEGERS, REALS = cw.Spec((4, 4), bound=9, kind="integer"), cw.Spec((4, 4), bound=9)


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: a * b,
        lambda a, b: a + b,
        lambda a, b: a @ b + a,
        lambda a, b: a @ b @ a,
        lambda a, b: (a @ b, b @ a),
        lambda a, b: (a @ b).sum(),
        lambda a, b: a @ np.ones((4, 4)),
        lambda a, b: cw.sigmoid(a @ b),
        lambda a, b: 2 * (a @ b),
        lambda a, b: a,
        lambda a, b: cw.einsum("ij,ij->", a, b),
    ],
)
def test_integers_with_what_is_not_a_product_are_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(
        InvalidArgumentError, match=r"one product of two .* cw\.circuit, or declare"
    ):
        cw.compile(function, INTEGERS, INTEGERS)


def test_integers_and_reals_are_not_mixed() -> None:
    with pytest.raises(InvalidArgumentError, match="got both; declare the same kind"):
        cw.compile(lambda a, b: a @ b, INTEGERS, REALS)
    with pytest.raises(InvalidArgumentError, match=r"expected a kind of .* got 'int'"):
        cw.Spec((4, 4), kind="int")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("specs", "option", "words"),
    [
        (INTEGERS, {"precision": 7}, "precision is an option of reals.* leave it out"),
        (INTEGERS, {"costs": cw.measured_costs}, "costs is an option of reals"),
        (INTEGERS, {"bootstrap": True}, "bootstrap is an option of reals"),
        (INTEGERS, {"device": "cuda"}, "device is an option of reals"),
        (REALS, {"modulus": 40961}, "modulus is an option of integers.* or declare them"),
        (REALS, {"failure_bits": 64}, "failure_bits is an option of integers"),
    ],
)
def test_options_of_other_numbers_are_refused(
    specs: cw.Spec, option: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        cw.compile(lambda a, b: a @ b, specs, specs, **option)


@pytest.mark.parametrize("budget", ["memory_limit", "key_budget"])
def test_budgets_are_kept_or_refused(budget: str) -> None:
    spec = cw.Spec((60, 40)), cw.Spec((40, 60))
    free = integer_product(*spec)
    client, evaluator = free.keygen()
    profile = cw.Profile()
    ones = np.ones((60, 40), dtype=int)
    evaluator.run(client.encrypt(ones, ones.T), profile=profile)
    enough = {"memory_limit": 2 * profile.peak_bytes, "key_budget": free.key_bytes}
    kept: dict[str, Any] = {budget: enough[budget]}
    assert integer_product(*spec, **kept).key_bytes <= free.key_bytes
    with pytest.raises((KeyBudgetError, MemoryBudgetError), match=budget):
        integer_product(*spec, **{**kept, budget: 1000})


def test_wrong_use_is_refused() -> None:
    program = integer_product((2, 2), (2, 2), log_n=10, insecure=True)
    ones = np.ones((2, 2), dtype=int)
    with pytest.raises(ValueOutOfRangeError, match="from -1 to 1"):
        program.run_clear(ones, 2 * ones)
    with pytest.raises(NotIntegerError, match="'a'"):
        program.run_clear(0.5 * ones, ones)
    with pytest.raises(InvalidArgumentError, match="bounds and ends of ranges that are integers"):
        integer_product(cw.Spec((2, 2), bound=1.5), (2, 2))
    wide = cw.Spec((32, 32), bound=2.0**32)
    with pytest.raises(ResultOverflowError, match=r"71 bits, .* declare narrower ranges"):
        integer_product(wide, wide)


@pytest.mark.parametrize(
    ("modulus", "other"),
    [(101, 40961), (3 * 8192 + 1, 40961), (65536, 147457), (1 << 30, 536903681)],
)
def test_a_modulus_that_is_no_such_prime_is_refused(modulus: int, other: int) -> None:
    with pytest.raises(InvalidParametersError, match=rf"1 modulo 8192, .* take {other}, or"):
        integer_product((2, 2), (2, 2), modulus=modulus)
    taken = integer_product((2, 2), (2, 2), modulus=other)
    assert [each.plaintext_modulus for each in taken.scheme.parameter_sets] == [other]


def test_rings_that_a_modulus_does_not_fit_are_left_out() -> None:
    # 1 modulo 2^13 and not 2^14.
    program = integer_product((2, 2), (2, 2), modulus=40961)
    assert program.scheme.parameter_sets[0].log_n == 12
    with pytest.raises(InvalidParametersError, match="1 modulo 16384, twice the least ring degree"):
        integer_product((2, 2), (2, 2), modulus=40961, log_n=13)


def test_a_range_is_kept_on_both_sides() -> None:
    program = integer_product(
        cw.Spec((2, 2), low=0, high=9), cw.Spec((2, 2), bound=5, high=-2), log_n=10, insecure=True
    )
    assert [(port.low, port.high) for port in program.inputs] == [(0, 9), (-5, -2)]
    client, evaluator = program.keygen()
    a, b = np.array([[0, 9], [3, 1]]), np.array([[-5, -2], [-3, -4]])
    assert (client.decrypt(evaluator.run(client.encrypt(a, b))) == a @ b).all()
    for left, right, words in ((-a, b, "from 0 to 9, got -9"), (a, b + 1, "from -5 to -2, got -1")):
        with pytest.raises(ValueOutOfRangeError, match=words):
            client.encrypt(left, right)
    with pytest.raises(InvalidArgumentError, match=r"ends of ranges .*, got 0\.5; round them"):
        integer_product(cw.Spec((2, 2), low=0.5, high=9), (2, 2))


class Unreadable:
    def __array__(self) -> NDArray[Any]:
        raise RuntimeError("no numbers here")


ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (np.ma.MaskedArray([[1, 2, 3]] * 2, mask=True), NotIntegerError, "a mask; give"),
        ([[0.5, 1, 2], [3, 4, 5]], NotIntegerError, r"got 0\.5; round .* or compile for reals"),
        (np.array([[1, 1, 1], [1, 2.5, 1]]), NotIntegerError, r"got 2\.5; round"),
        (np.ones((2, 3)), NotIntegerError, r"got 1\.0; give whole numbers .*astype\(int\)$"),
        ([[None, 1, 2]] * 2, NotIntegerError, "got None; give Python's integers"),
        (np.full((2, 3), np.inf), NotIntegerError, "got inf; give Python's integers"),
        (np.full((2, 3), "1"), NotIntegerError, "got '1'; give Python's integers"),
        ([[Decimal(1)] * 3] * 2, NotIntegerError, r"got Decimal\('1'\); give Python's integers"),
        (Unreadable(), NotIntegerError, "not an array: no numbers here"),
        ([[1, 2, 3], [4]], ShapeMismatchError, r"of shape \(2, 3\).* got a list of 1"),
        (ENDLESS, ShapeMismatchError, "nested more deeply"),
        ([[1 << 70, 1, 1]] * 2, ValueOutOfRangeError, "from -9 to 9, got 1180591620717411303424"),
    ],
)
def test_what_is_not_an_array_of_integers_is_refused_by_name(
    value: Any, error: type[Exception], words: str
) -> None:
    specs = [cw.Spec(shape, bound=9) for shape in ((2, 3), (3, 2))]
    program = integer_product(*specs, log_n=10, insecure=True)
    with pytest.raises(error, match=f"'a'.*{words}"):
        program.run_clear(value, np.ones((3, 2), int))


def test_results_for_others_take_more_failure_bits() -> None:
    a = np.arange(4).reshape(2, 2)
    spec = cw.Spec((2, 2), bound=3)

    def shown_to_others(program: cw.Program) -> Any:
        client, evaluator = program.keygen()
        made = evaluator.run(client.encrypt(a, a))
        return client.decrypt_for_others(made, statistical_bits=40, decryptions=1000)

    often = integer_product(spec, spec, log_n=10, insecure=True, failure_bits=40)
    with pytest.raises(NoiseBudgetError, match="compile with more failure_bits, or"):
        shown_to_others(often)
    seldom = integer_product(spec, spec, log_n=10, insecure=True)
    assert seldom.log2_failure < -100
    assert (shown_to_others(seldom) == a @ a).all()
    with pytest.raises(InvalidArgumentError, match="failure_bits to be an integer from 40 up to"):
        integer_product(spec, spec, failure_bits=39)
