"""Where products wait for their relinearisation."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given

from cloakwork.programs.slots import (
    Add,
    Constant,
    Input,
    Linear,
    Mul,
    Neg,
    Operation,
    Rescale,
    Rotate,
    SlotProgram,
    Sub,
)
from cloakwork.runtime.schedule import degrees
from tests.runtime.slot_programs import programs

X, C = Input("x", 1), Constant(np.ones(8))


def of(*operations: Operation) -> tuple[int, ...]:
    return degrees(SlotProgram("", 8, operations, (None,) * len(operations)))


def test_a_sum_of_products_is_relinearised_once() -> None:
    assert of(X, Mul(0, 0), Mul(0, 0), Sub(1, 2), Neg(3), Rescale(4)) == (1, 2, 2, 2, 2, 1)


def test_a_product_alone_is_relinearised_with_its_rescale() -> None:
    assert of(X, Mul(0, 0), Rescale(1)) == (1, 2, 1)


def test_products_with_what_is_clear_have_degree_1() -> None:
    clear = (X, C, Mul(0, 1), Linear(0, {0: np.ones(8)}, 1), Add(2, 3))
    assert of(*clear) == (1, 1, 1, 1, 1)
    assert of(*clear, Mul(0, 0), Add(4, 5), Rescale(6)) == (1, 1, 1, 1, 1, 2, 2, 1)


def test_a_product_that_would_be_relinearised_twice_is_relinearised_at_once() -> None:
    assert of(X, Mul(0, 0), Rotate(1, 1), Add(1, 2), Rescale(3)) == (1, 1, 1, 1, 1)
    assert of(X, Mul(0, 0), Rescale(1), Rescale(1)) == (1, 1, 1, 1)


def test_rotations_of_one_sum_share_a_relinearisation() -> None:
    sums = (X, Mul(0, 0), Mul(0, 0), Add(1, 2), Rotate(3, 1), Rotate(3, 2))
    assert of(*sums) == (1, 2, 2, 2, 1, 1)


def relinearisations(program: SlotProgram, found: Sequence[int]) -> int:
    """How many there are, those of one value's rotations counted once."""
    rotated, count = set(), 0
    for operation, degree in zip(program.operations, found, strict=True):
        match operation:
            case Mul(left=left, right=right):
                clear = any(isinstance(program.operations[n], Constant) for n in (left, right))
                count += degree == 1 and not clear
            case Rescale(operand=operand):
                count += found[operand] == 2
            case Rotate(operand=operand) if found[operand] == 2:
                rotated.add(operand)
            case _:
                pass
    return count + len(rotated)


@given(programs(slots=8, level=2, longest=120))
def test_waiting_never_costs_relinearisations(program: SlotProgram) -> None:
    found = degrees(program)
    at_once = [1] * len(found)
    assert relinearisations(program, found) <= relinearisations(program, at_once)
    for operation, degree in zip(program.operations, found, strict=True):
        match operation:
            case Add(left=left, right=right) | Sub(left=left, right=right):
                assert degree == max(found[left], found[right])
            case Neg(operand=operand):
                assert degree == found[operand]
            case Mul():
                assert degree in {1, 2}
            case _:
                assert degree == 1
