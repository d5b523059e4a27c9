"""What the planner chooses."""

import pytest

from cloakwork.errors import LevelExhaustedError, TooManySlotsError
from cloakwork.plan.contraction import Clear, Encrypted, plan
from cloakwork.plan.layout import Axis, row_major

SLOTS = 8192


def encrypted(labels: str, *shape: int, level: int = 3) -> Encrypted:
    return Encrypted(labels, row_major(shape, SLOTS), level)


def test_a_transpose_moves_nothing() -> None:
    recipe = plan((encrypted("ij", 64, 128),), "ji", (("i", 64), ("j", 128)))
    assert recipe.gathers[0].move is None
    assert recipe.output.axes == (Axis(128, 1), Axis(64, 128))
    assert recipe.level == 3
    assert not recipe.output.dirty


def test_a_sum_takes_no_level_and_merges_its_axes() -> None:
    recipe = plan((encrypted("ij", 64, 128),), "", (("i", 64), ("j", 128)))
    assert recipe.gathers[0].sums == (Axis(8192, 1),)
    assert recipe.level == 3
    assert recipe.output.dirty


def test_a_clear_factor_of_the_same_shape_is_one_diagonal() -> None:
    recipe = plan((encrypted("ij", 8, 9), Clear("ij", (8, 9))), "ij", (("i", 8), ("j", 9)))
    assert recipe.weigh is not None
    assert recipe.weigh.strided.sources == recipe.weigh.strided.destinations
    assert recipe.level == 2


def test_an_inner_product_with_a_clear_vector_is_a_product_and_a_sum() -> None:
    recipe = plan((encrypted("i", 1000), Clear("i", (1000,))), "", (("i", 1000),))
    assert recipe.weigh is not None
    assert recipe.weigh.strided.sources == recipe.weigh.strided.destinations
    assert recipe.reduce == (Axis(1000, 1),)


def test_operands_alike_are_not_moved() -> None:
    recipe = plan((encrypted("ij", 8, 9), encrypted("ij", 8, 9)), "i", (("i", 8), ("j", 9)))
    assert all(gather.move is None for gather in recipe.gathers)
    assert recipe.level == 2


def test_an_operand_below_the_other_sets_the_level() -> None:
    recipe = plan((encrypted("i", 8), encrypted("i", 8, level=1)), "i", (("i", 8),))
    assert recipe.level == 0


def test_plans_are_kept() -> None:
    arguments = (
        (encrypted("ij", 3, 5), encrypted("jk", 5, 2)),
        "ik",
        (("i", 3), ("j", 5), ("k", 2)),
    )
    assert plan(*arguments) is plan(*arguments)


def test_too_many_slots_says_how_many() -> None:
    with pytest.raises(TooManySlotsError, match=r"i=32 \* j=32 \* k=32 needs 32768 slots"):
        plan(
            (encrypted("ij", 32, 32), encrypted("jk", 32, 32)),
            "ik",
            (("i", 32), ("j", 32), ("k", 32)),
        )


def test_too_few_levels_says_how_many() -> None:
    with pytest.raises(LevelExhaustedError, match=r"needs 2 level\(s\), the operands have 1"):
        plan(
            (encrypted("ij", 3, 4, level=1), encrypted("jk", 4, 5, level=1)),
            "ik",
            (("i", 3), ("j", 4), ("k", 5)),
        )
