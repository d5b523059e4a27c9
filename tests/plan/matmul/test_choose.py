import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cloakwork._native import Parameters
from cloakwork.errors import InvalidParametersError, KeyBudgetError, MemoryBudgetError
from cloakwork.plan.matmul.choose import Choice, cheapest_choice
from cloakwork.plan.matmul.planned import PlannedProduct, planned_product
from cloakwork.plan.matmul.product import Product, families
from cloakwork.plan.matmul.reals import RealFactors
from cloakwork.plan.matmul.recognise import matrix_contraction
from cloakwork.plan.matmul.waste import clear_multiplications
from cloakwork.plan.parameters.rings import RINGS
from cloakwork.plan.passes.levels import depth_of
from cloakwork.plan.reals.options import RealOptions
from cloakwork.programs.ir.tensors import Contract, Source
from cloakwork.programs.keys import required_keys
from cloakwork.programs.matrices import Blocks
from cloakwork.programs.slots import (
    Add,
    Input,
    Output,
    Rescale,
    Rotate,
    RotatedProducts,
    SwitchProduct,
)
from cloakwork.schemes.encoded_cache import ciphertext_bytes
from tests.thoroughness import part


def chosen(product: Product, bound: float = 1.0, **asked: Any) -> Choice[Parameters]:
    factors = RealFactors((bound, bound), 8, RealOptions(title="product", **asked))
    return cheapest_choice(product, factors)


def parameters_of(choice: Choice[Parameters]) -> Parameters:
    (parameters,) = choice.parameter_sets
    return parameters


def planned(rows: int, inner: int, columns: int) -> PlannedProduct:
    a, b = Source("a", (rows, inner)), Source("b", (inner, columns))
    product = Contract((a, b), ("ik", "kj"), "ij", (rows, columns))
    contraction = matrix_contraction([product])
    assert contraction is not None
    return planned_product("product", contraction, chosen(contraction.product).blocks)


def terms_of(product: Product, choice: Choice[Parameters]) -> int:
    """Clear multiplications for each limb."""
    assert 2 * choice.blocks.slots == parameters_of(choice).n
    return clear_multiplications(product, choice.blocks)


@pytest.mark.parametrize("size", [256, 512, 1024, 2048, 4096])
def test_multiples_of_blocks_waste_nothing(size: int) -> None:
    product = Product(1, size, size, size)
    assert terms_of(product, chosen(product)) <= 4.4 * product.multiplications


# Squares and others, evenly by their logarithms.
SIZE = st.floats(6.0, 10.1).map(lambda bits: int(2**bits))
SHAPES = st.tuples(SIZE, SIZE, SIZE) | SIZE.map(lambda size: (size, size, size))


@settings(max_examples=part(40))
@example((65, 65, 65))
@example((129, 129, 129))
@example((69, 689, 219))
@given(SHAPES)
def test_every_size_takes_at_most_eight_clear_multiplications(sizes: tuple[int, int, int]) -> None:
    product = Product(1, *sizes)
    assert terms_of(product, chosen(product)) <= 8 * product.multiplications


@settings(max_examples=part(6))
@given(SHAPES)
def test_programs_switch_once_a_result_on_one_level(sizes: tuple[int, int, int]) -> None:
    product = Product(1, *sizes)
    blocks = chosen(product).blocks
    program = planned(*sizes).program
    found = product.counts(blocks)
    kinds = Counter(type(each) for each in program.operations)
    # Two decompositions and one division each; shares are summed by a rotation each time.
    assert kinds[SwitchProduct] == kinds[Rescale] == kinds[Output] == found.products
    assert kinds[Rotate] == kinds[Add] == found.products * len(blocks.lane_sums())
    assert kinds[RotatedProducts] == found.groups
    assert kinds[Input] == found.left + found.right
    assert depth_of(program) == 1
    keys = required_keys(program)
    assert keys.relinearisation_level == 1
    assert len(keys.rotated_products) == blocks.side - 1
    assert len(keys.rotations) <= blocks.side - 1 + len(blocks.lane_sums())


# What einsum of two matrices took in products of slots, in and out.
BY_SLOTS = {14: 3, 16: 3, 17: 7, 20: 7, 24: 13, 28: 15, 30: 17, 32: 17, 33: 35, 48: 97, 64: 129}


@pytest.mark.parametrize("size", BY_SLOTS)
def test_small_products_have_no_more_ciphertexts_than_by_slots(size: int) -> None:
    product = Product(1, size, size, size)
    found = product.counts(chosen(product).blocks)
    assert found.left + found.right + found.products <= BY_SLOTS[size]


# What planning takes grows with them.
WAYS = {512: 1061, 1024: 1697, 2048: 2662, 4096: 3837}


@pytest.mark.parametrize("size", WAYS)
def test_few_ways_are_weighed(size: int) -> None:
    product = Product(1, size, size, size)
    ways = [len(list(families(product, 1 << log_n - 1, 1, 2))) for log_n in RINGS]
    assert max(ways) <= WAYS[size]


def test_512_has_few_operations() -> None:
    assert len(planned(512, 512, 512).program.operations) <= 1217


def test_512_has_few_results_and_keys() -> None:
    product = Product(1, 512, 512, 512)
    choice = chosen(product)
    assert parameters_of(choice).n == 1 << 12
    assert not parameters_of(choice).insecure
    assert parameters_of(choice).prime_count(1) == 3
    assert choice.blocks.shares == 1
    found = product.counts(choice.blocks)
    assert found.products <= 128
    assert found.left + found.right <= 1024


@pytest.mark.parametrize("sizes", [(4096, 16, 4096), (16384, 16, 16384), (65536, 16, 64)])
def test_outer_shapes_put_two_columns_into_a_slot(sizes: tuple[int, int, int]) -> None:
    product = Product(1, *sizes)
    choice = chosen(product)
    assert (choice.blocks.inner_parts, choice.blocks.column_parts) == (1, 2)
    results = product.rows * product.columns
    assert product.counts(choice.blocks).products == results // parameters_of(choice).n
    assert terms_of(product, choice) <= 4.4 * product.multiplications


def test_two_columns_of_a_slot_have_headroom_for_both() -> None:
    blocks = Blocks(2048, side=8, tall=16, wide=16, column_parts=2)
    product = Product(1, 128, 10, 256)
    assert product.slot_bound(blocks, (1.0, 3.0)) == pytest.approx(2**0.5 * 30)
    assert product.bound(blocks, (1.0, 3.0)) == 30


def test_key_budgets_are_kept_or_refused() -> None:
    product = Product(1, 512, 512, 512)
    free = chosen(product)
    each = parameters_of(free).evaluation_key_bytes(1)
    few = chosen(product, key_budget=15 * each)
    assert 2 * few.blocks.side - 1 <= 15
    assert few.blocks.side < free.blocks.side
    with pytest.raises(KeyBudgetError, match="allow key_budget="):
        chosen(product, key_budget=each // 2)


def test_memory_limits_are_kept_or_refused() -> None:
    product = Product(1, 512, 512, 512)
    limit = 90 << 20
    choice = chosen(product, memory_limit=limit)
    found = product.counts(choice.blocks)
    at_top, at_bottom = (ciphertext_bytes(parameters_of(choice), level) for level in (1, 0))
    assert (found.left + found.right) * at_top + found.products * at_bottom <= limit
    with pytest.raises(MemoryBudgetError, match="memory_limit") as refused:
        chosen(product, memory_limit=1 << 20)
    # What is named as the least is enough.
    named = re.search(r"memory_limit=(\d+)$", str(refused.value))
    assert named is not None
    least = int(named[1])
    assert parameters_of(chosen(product, memory_limit=least)).n == 1 << 12


def test_worst_cases_have_headroom() -> None:
    for inner, bound in ((512, 1.0), (4096, 1.0), (64, 100.0)):
        product = Product(1, 64, inner, 64)
        parameters = parameters_of(chosen(product, bound))
        # A quarter of the modulus is for results, as the engine asks it.
        assert inner * bound * bound < 2 ** (parameters.headroom_bits - 2)


def test_results_that_no_modulus_holds_are_refused() -> None:
    with pytest.raises(InvalidParametersError, match="headroom"):
        chosen(Product(1, 64, 64, 64), 1e9)


@given(
    st.builds(Product, st.integers(1, 9), *(st.integers(1, 200) for _ in range(3))),
    st.integers(1, 2),
)
def test_families_fit_their_lanes(product: Product, rows: int) -> None:
    found = list(families(product, 256, rows, 1))
    assert found
    assert len(set(found)) == len(found)
    for blocks in found:
        assert blocks.used_lanes <= blocks.lanes == rows * blocks.step
