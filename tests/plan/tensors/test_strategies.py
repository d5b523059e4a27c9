"""What the planner chooses, and that every way it knows is right."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork.errors import LevelExhaustedError
from cloakwork.frontends.tensors.einsum_syntax import parse
from cloakwork.plan.tensors.contraction import ContractionWay, UnpackedInput, contract
from cloakwork.plan.tensors.placed import Placed, level_of
from cloakwork.plan.tensors.strategies import ClearOperand, EncryptedOperand, Free, contracted, ways
from cloakwork.programs.layout import Axis, Layout, default_layout
from cloakwork.programs.slots import Builder, Linear, Mul, Operation, Rotate
from tests.frontends.tensors.random_einsums import RandomEinsum, random_einsums
from tests.plan.tensors.placing import LEVEL, SLOTS, Bench, layouts, numbers
from tests.thoroughness import part

EVERY = 10_000


class Unpacked:
    """An input of a bench that takes whatever layout is asked of it."""

    def __init__(self, bench: Bench, array: np.ndarray) -> None:
        self.bench = bench
        self.array = array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def packed(self, builder: Builder, layout: Layout) -> Placed:
        assert builder is self.bench.builder
        return self.bench.place(self.array, layout)


def check(case: RandomEinsum, data: st.DataObject, choice: int) -> None:
    text, arrays, encrypted = case
    expression = parse(text, tuple(array.ndim for array in arrays))
    bench = Bench()
    operands: list[Placed | UnpackedInput | np.ndarray] = []
    for array, hidden in zip(arrays, encrypted, strict=True):
        if not hidden:
            operands.append(array)
        elif data.draw(st.integers(0, 3)):
            level = data.draw(st.integers(LEVEL - 1, LEVEL))
            operands.append(bench.place(array, data.draw(layouts(array.shape)), level))
        else:
            operands.append(Unpacked(bench, array))
    result = contracted(bench.builder, operands, expression.inputs, expression.output, choice)
    bench.check(result, np.asarray(np.einsum(text, *arrays)))


@settings(deadline=None, max_examples=part(300))
@given(random_einsums(max_operands=2, max_labels=4, max_elements=150), st.data())
def test_operands_may_lie_anywhere(case: RandomEinsum, data: st.DataObject) -> None:
    check(case, data, 0)


@settings(deadline=None, max_examples=part(100))
@given(
    random_einsums(max_operands=2, max_labels=4, max_elements=100),
    st.data(),
    st.integers(1, 7),
)
def test_ways_that_are_not_the_cheapest_are_right(
    case: RandomEinsum, data: st.DataObject, choice: int
) -> None:
    check(case, data, choice)


@pytest.mark.parametrize(
    ("terms", "output", "shapes"),
    [
        (("ij", "jk"), "ik", ((5, 6), (6, 4))),
        (("ij", "jk"), "ki", ((9, 3), (3, 9))),
        (("i", "j"), "ij", ((7,), (8,))),
        (("ij", "ij"), "i", ((12, 5), (12, 5))),
    ],
)
@pytest.mark.parametrize("kind", ["both", "clear", "free"])
def test_every_way_is_right(
    terms: tuple[str, str], output: str, shapes: tuple[tuple[int, ...], ...], kind: str
) -> None:
    arrays = [numbers(shape, seed) for seed, shape in enumerate(shapes)]
    expected = np.einsum(f"{terms[0]},{terms[1]}->{output}", *arrays)
    layout = default_layout(shapes[0], SLOTS)
    second = {
        "both": EncryptedOperand(terms[1], default_layout(shapes[1], SLOTS), LEVEL),
        "clear": ClearOperand(terms[1], shapes[1]),
        "free": Free(terms[1], shapes[1]),
    }[kind]
    known = ways((EncryptedOperand(terms[0], layout, LEVEL), second), output, SLOTS, EVERY)
    assert len(set(known)) == len(known) > 1
    for way in known[:40]:
        bench = Bench()
        x = bench.place(arrays[0], layout)
        other: dict[str, Placed | UnpackedInput | np.ndarray] = {
            "both": bench.place(arrays[1], default_layout(shapes[1], SLOTS)),
            "clear": arrays[1],
            "free": Unpacked(bench, arrays[1]),
        }
        bench.check(contract(bench.builder, [x, other[kind]], terms, output, way), expected)


def encrypted(labels: str, *shape: int, level: int = 3) -> EncryptedOperand:
    return EncryptedOperand(labels, default_layout(shape, 8192), level)


def work(
    operands: tuple[EncryptedOperand | ClearOperand, ...], output: str, slots: int = 8192
) -> tuple[Counter[type[Operation]], Placed, int]:
    """What the cheapest way does, where its result lies and at which level."""
    builder = Bench(slots)
    parts: list[Placed | UnpackedInput | np.ndarray] = [
        builder.place(np.ones(each.layout.shape), each.layout, each.level)
        if isinstance(each, EncryptedOperand)
        else np.ones(each.shape)
        for each in operands
    ]
    before = len(builder.builder.operations)
    result = contracted(builder.builder, parts, [each.labels for each in operands], output)
    done = Counter(type(each) for each in builder.builder.operations[before:])
    return done, result, level_of(builder.builder, result)


def test_a_transpose_moves_nothing() -> None:
    done, result, level = work((encrypted("ij", 64, 128),), "ji")
    assert not done
    assert result.layout.axes == (Axis(128, 1), Axis(64, 128))
    assert level == 3
    assert not result.layout.garbage


def test_a_diagonal_moves_nothing() -> None:
    done, result, _ = work((encrypted("ii", 64, 64),), "i")
    assert not done
    assert result.layout.axes == (Axis(64, 65),)
    assert result.layout.garbage


def test_a_sum_takes_no_level_and_merges_its_axes() -> None:
    done, result, level = work((encrypted("ij", 64, 128),), "")
    assert done[Rotate] == 13
    assert level == 3
    # The sum goes around all slots, and is in every one.
    assert result.layout.replicas == (Axis(8192, 1),)


def test_a_sum_over_ciphertexts_adds_them_first() -> None:
    done, result, level = work((encrypted("ij", 256, 128),), "")
    assert done[Rotate] == 13
    assert (len(result.values), level) == (1, 3)


def test_a_clear_factor_of_the_same_shape_is_one_product() -> None:
    done, _, level = work((encrypted("ij", 8, 9), ClearOperand("ij", (8, 9))), "ij")
    assert (done[Mul], done[Rotate], done[Linear]) == (1, 0, 0)
    assert level == 2


def test_an_inner_product_with_a_clear_vector_is_a_product_and_a_sum() -> None:
    done, _, _ = work((encrypted("i", 1024), ClearOperand("i", (1024,))), "")
    assert (done[Mul], done[Rotate], done[Linear]) == (1, 10, 0)


def test_operands_alike_are_not_moved() -> None:
    done, _, level = work((encrypted("ij", 8, 9), encrypted("ij", 8, 9)), "ij")
    assert (done[Mul], done[Rotate], done[Linear]) == (1, 0, 0)
    assert level == 2


def test_operands_over_many_ciphertexts_that_are_alike_are_not_moved() -> None:
    done, result, level = work((encrypted("ij", 256, 256), encrypted("ij", 256, 256)), "ij")
    assert (done[Mul], done[Rotate], done[Linear]) == (8, 0, 0)
    assert (len(result.values), level) == (8, 2)


def test_an_operand_below_the_other_sets_the_level() -> None:
    assert work((encrypted("i", 8), encrypted("i", 8, level=1)), "i")[2] == 0


def test_ways_are_kept() -> None:
    operands = (encrypted("ij", 3, 5), encrypted("jk", 5, 2))
    assert ways(operands, "ik", 8192) is ways(operands, "ik", 8192)


def test_the_cheapest_way_is_the_first_of_many() -> None:
    operands = (encrypted("ij", 3, 5), encrypted("jk", 5, 2))
    (first,) = ways(operands, "ik", 8192)
    assert ways(operands, "ik", 8192, 3)[0] == first
    assert len(ways(operands, "ik", 8192, 3)) == 3


def test_too_few_levels_says_how_many() -> None:
    operands = (encrypted("ij", 3, 4, level=0), encrypted("jk", 4, 5, level=0))
    with pytest.raises(LevelExhaustedError, match=r"needs [12] level\(s\), the operands have 0"):
        ways(operands, "ik", 8192)


def test_a_way_that_takes_fewer_levels_is_taken_where_they_are_few() -> None:
    operands = (encrypted("ij", 64, 64, level=1), ClearOperand("jk", (64, 64)))
    done, _, level = work(operands, "ik")
    assert level == 0
    assert done[Linear] == 1


def test_one_operand_has_one_way() -> None:
    assert ways((encrypted("ij", 3, 4),), "j", 8192, 5) == (ContractionWay(()),)


@settings(deadline=None, max_examples=part(100))
@given(st.data(), st.sampled_from(["", "i", "j", "ij", "ji"]))
def test_operands_that_lie_alike_with_garbage_beside_them(data: st.DataObject, output: str) -> None:
    shape = (data.draw(st.integers(2, 6)), data.draw(st.integers(2, 6)))
    layout = data.draw(
        layouts(shape).filter(lambda layout: all(axis.stride >= 0 for axis in layout.axes))
    )
    garbage = replace(layout, garbage=True, offset=0)
    arrays = [numbers(shape, seed) for seed in range(2)]
    bench = Bench()
    parts = [bench.place(array, garbage) for array in arrays]
    result = contracted(bench.builder, parts, ("ij", "ij"), output)
    bench.check(result, np.asarray(np.einsum(f"ij,ij->{output}", *arrays)))
