"""The order of contraction."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cloakwork.frontends.tensors.einsum_syntax import parse, sizes
from cloakwork.plan.tensors.path import Step, contraction_path
from tests.frontends.tensors.random_einsums import RandomEinsum, random_einsums

SLOTS = 8192


def path_of(text: str, encrypted: str, slots: int = SLOTS, **size_of: int) -> tuple[Step, ...]:
    """`encrypted` has an e for each operand that is, another letter for each that is not."""
    left, _, output = text.partition("->")
    flags = tuple(letter == "e" for letter in encrypted)
    return contraction_path(tuple(left.split(",")), output, size_of, flags, slots)


def depth_of(path: Sequence[Step], encrypted: str) -> int:
    depths: list[int | None] = [0 if letter == "e" else None for letter in encrypted]
    for step in path:
        parts = [depths[step.left], None if step.right is None else depths[step.right]]
        hidden = [depth for depth in parts if depth is not None]
        depths.append(max(hidden) + int(step.right is not None) if hidden else None)
    assert depths[-1] is not None
    return depths[-1]


def follow(path: Sequence[Step], operands: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    values = list(operands)
    for step in path:
        numbers = [step.left] if step.right is None else [step.left, step.right]
        assert len(numbers) == len(step.labels)
        text = ",".join(step.labels) + "->" + step.output
        values.append(np.asarray(np.einsum(text, *[values[number] for number in numbers])))
    return values[-1]


def check_follows(case: RandomEinsum, slots: int) -> None:
    text, operands, encrypted = case
    shapes = [operand.shape for operand in operands]
    expression = parse(text, tuple(len(shape) for shape in shapes))
    size_of = dict(sizes(expression, shapes))
    path = contraction_path(expression.inputs, expression.output, size_of, encrypted, slots)
    assert len(path) == max(1, len(operands) - 1)
    used = [number for step in path for number in (step.left, step.right) if number is not None]
    last = len(operands) + len(path) - 1
    assert sorted([*used, last]) == list(range(last + 1))
    np.testing.assert_allclose(follow(path, operands), np.einsum(text, *operands), atol=1e-9)


@settings(deadline=None)
@given(random_einsums(max_operands=6, max_elements=512), st.sampled_from([16, 8192]))
def test_a_searched_path_gives_the_einsum(case: RandomEinsum, slots: int) -> None:
    check_follows(case, slots)


@settings(deadline=None)
@given(
    random_einsums(max_operands=10, max_elements=256, max_size=4).filter(lambda c: len(c[1]) > 6)
)
def test_a_greedy_path_gives_the_einsum(case: RandomEinsum) -> None:
    check_follows(case, SLOTS)


def test_one_operand_is_one_step() -> None:
    assert path_of("ijj->i", "e", i=2, j=3) == (Step(0, None, ("ijj",), "i"),)


def test_a_step_sums_what_nobody_needs_later() -> None:
    path = path_of("ija,jk,kb->i", "eee", i=4, j=4, a=4, k=4, b=4)
    assert all("a" not in step.output and "b" not in step.output for step in path)
    assert path[-1].output == "i"


@pytest.mark.parametrize(
    ("narrow", "expected"),
    [
        ("i", (Step(0, 1, ("ij", "jk"), "ik"), Step(3, 2, ("ik", "kl"), "il"))),
        ("l", (Step(1, 2, ("jk", "kl"), "jl"), Step(0, 3, ("ij", "jl"), "il"))),
    ],
)
def test_a_chain_starts_at_its_narrow_end(narrow: str, expected: tuple[Step, ...]) -> None:
    size_of = {label: 2 if label == narrow else 64 for label in "ijkl"}
    assert path_of("ij,jk,kl->il", "eee", **size_of) == expected


def test_a_clear_chain_is_multiplied_in_the_clear() -> None:
    path = path_of("ij,jk,kl,l->i", "ccce", i=32, j=32, k=32, l=32)
    assert path[-1] == Step(5, 3, ("il", "l"), "i")
    assert depth_of(path, "ccce") == 1


def test_a_thin_clear_chain_is_not_made_thick() -> None:
    path = path_of("ij,jk,k->i", "cce", i=4096, j=1, k=4096)
    assert path[0] == Step(1, 2, ("jk", "k"), "j")


def test_clear_factors_meet_before_an_encrypted_one() -> None:
    path = path_of("ij,ij,ij->ij", "cec", i=8, j=8)
    assert path == (Step(0, 2, ("ij", "ij"), "ij"), Step(3, 1, ("ij", "ij"), "ij"))


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 8])
@pytest.mark.parametrize("text", ["ij", "i"])
def test_an_elementwise_product_is_balanced(text: str, count: int) -> None:
    path = path_of(",".join([text] * count) + f"->{text}", "e" * count, i=8, j=8)
    assert depth_of(path, "e" * count) == (count - 1).bit_length()


def test_a_long_chain_is_balanced_where_its_sizes_are_alike() -> None:
    path = path_of("ab,bc,cd,de,ef,fg,gh,hi->ai", "e" * 8, **dict.fromkeys("abcdefghi", 4))
    assert depth_of(path, "e" * 8) == 3


def test_a_long_chain_from_a_vector_is_balanced_while_its_matrices_are_small() -> None:
    # A vector by a matrix costs a little less than two matrices, but six of them six levels.
    path = path_of("a,ab,bc,cd,de,ef,fg->g", "e" * 7, **dict.fromkeys("abcdefg", 4))
    assert depth_of(path, "e" * 7) == 3


def test_a_level_is_spent_where_balance_costs_more() -> None:
    # A balanced tree would multiply the last two matrices in full.
    path = path_of("b,bc,cd,de->e", "eeee", slots=128, **dict.fromkeys("bcde", 128))
    assert [step.output for step in path] == ["c", "d", "e"]


def test_a_bilinear_form_enters_where_its_matrix_is_small() -> None:
    outer = path_of("ik,jkl,il->ij", "ece", i=16, j=1, k=16, l=16)
    assert outer[0].labels == ("ik", "il")
    wide = path_of("ik,jkl,il->ij", "ece", i=4, j=8, k=2, l=1024)
    assert "jkl" in wide[0].labels
    assert depth_of(outer, "ece") == depth_of(wide, "ece") == 2


@pytest.mark.parametrize("encrypted", ["cccecccc", "ecececec"])
def test_clear_factors_meet_first_among_many(encrypted: str) -> None:
    path = path_of(",".join(["i"] * 8) + "->i", encrypted, i=8)
    hidden = [letter == "e" for letter in encrypted]
    mixed = 0
    for step in path:
        assert step.right is not None
        mixed += hidden[step.left] != hidden[step.right]
        hidden.append(hidden[step.left] or hidden[step.right])
    assert mixed == 1


def test_many_clear_operands_of_a_long_einsum_take_one_level() -> None:
    path = path_of("ab,bc,cd,de,ef,fg,g->a", "cccccce", **dict.fromkeys("abcdefg", 16))
    assert depth_of(path, "cccccce") == 1
