"""Bootstraps stand where the whole program costs least, however its values join."""

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from cloakwork._native import BootstrappingParameters
from cloakwork.errors import InvalidParametersError, InvalidProgramError
from cloakwork.plan.passes.bootstraps import with_bootstraps
from cloakwork.plan.passes.levels import Refreshed, lowest_levels, sources_of
from cloakwork.plan.passes.simplify import simplified
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import (
    Add,
    Bootstrap,
    Builder,
    DropLevel,
    Input,
    Linear,
    Mul,
    Output,
    Polynomial,
    Rescale,
    Rotate,
    SlotProgram,
)
from cloakwork.runtime.costs import modelled, total_seconds
from tests.thoroughness import part

# Three levels between bootstraps, one below.
LEAST, LEVEL = 1, 4
REFRESHING = Refreshing(
    BootstrappingParameters(5, levels=LEVEL - LEAST, slots_to_coefficients=LEAST, insecure=True)
)
# Few limbs, and a bootstrap that some operations outweigh and others do not.
LEVELS = modelled([2 + 2 * level for level in range(LEVEL + 1)], 3)
COSTS = replace(LEVELS, bootstrap=900.0, bootstrap_pair=1800.0)
TOP = 50
# Uses of values in a graph: all subsets of them are tried.
MOST_USES = 10


def random_graph(rng: random.Random) -> SlotProgram:
    """A few products, sums, rotations and polynomials of values that join again and again."""
    builder = Builder("graph", 4)
    values = [builder.append(Input(f"x{number}", TOP)) for number in range(rng.randint(1, 2))]

    def at(value: int, level: int) -> int:
        is_there = builder.level(value) == level
        return value if is_there else builder.append(DropLevel(value, level))

    def rescaled(product: int) -> int:
        return builder.append(Rescale(product))

    for _ in range(rng.randint(4, 8)):
        first, second = rng.choice(values[-2:]), rng.choice(values)
        level = min(builder.level(first), builder.level(second))
        left, right = at(first, level), at(second, level)
        match rng.choice(["product", "product", "sum", "rotation", "polynomial", "products"]):
            case "product":
                made = rescaled(builder.append(Mul(left, right)))
            case "sum":
                made = builder.append(Add(left, right))
            case "rotation":
                made = builder.append(Rotate(first, rng.randint(1, 3)))
            case "polynomial":
                made = builder.append(Polynomial(first, (0.1, 0.2, 0.3), "monomial"))
            case _:
                products = builder.append(Mul(left, right)), builder.append(Mul(left, left))
                made = rescaled(builder.append(Add(*products)))
        values.append(made)
    builder.append(Output(values[-1]))
    return simplified(builder.finish())


def uses_of(program: SlotProgram) -> list[tuple[int, int]]:
    """Every use of a value that a bootstrap may serve."""
    sources = sources_of(program)
    return sorted(
        {
            (number, sources[operand])
            for number, operation in enumerate(program.operations)
            if not isinstance(operation, DropLevel | Output)
            for operand in operation.operands
            if program.states[operand].level is not None
            and not program.states[operand].waiting
            and not isinstance(program.operations[sources[operand]], Input)
        }
    )


def all_placements(program: SlotProgram) -> Iterator[SlotProgram]:
    """The program with every choice of refreshed uses that fits the chain."""
    uses = uses_of(program)
    for choice in range(1 << len(uses)):
        chosen = {use for place, use in enumerate(uses) if choice >> place & 1}
        try:
            placed = lowest_levels(program, refreshed=Refreshed(chosen, LEAST, LEVEL))
        except InvalidProgramError:
            continue
        if max(state.level for state in placed.states if state.level is not None) <= LEVEL:
            yield placed


def bootstraps(program: SlotProgram) -> int:
    return sum(isinstance(operation, Bootstrap) for operation in program.operations)


def joins(program: SlotProgram) -> bool:
    """Whether two values that were made of one value meet again."""
    sources = sources_of(program)
    made_of: list[set[int]] = []
    for number, operation in enumerate(program.operations):
        operands = {sources[operand] for operand in operation.operands}
        before = [made_of[operand] for operand in operands]
        if len(before) == 2 and before[0] & before[1]:
            return True
        made_of.append({number}.union(*before))
    return False


@pytest.mark.random
def test_the_modelled_time_is_the_least_on_graphs_with_joins() -> None:
    rng = random.Random(1)
    deeper = joining = graphs = 0
    while graphs < part(200):
        program = random_graph(rng)
        if len(uses_of(program)) > MOST_USES:
            continue
        graphs += 1
        placed = with_bootstraps(program, REFRESHING, COSTS)
        least = min(total_seconds(each, COSTS) for each in all_placements(program))
        assert total_seconds(placed, COSTS) == pytest.approx(least, rel=1e-9)
        is_deeper = bootstraps(placed) > 0
        deeper += is_deeper
        joining += is_deeper and joins(program)
    assert deeper >= part(200) // 4
    assert joining >= part(200) // 5


def squared(times: int) -> SlotProgram:
    builder = Builder("power", 4)
    value = builder.append(Input("x", times))
    for _ in range(times):
        value = builder.append(Rescale(builder.append(Mul(value, value))))
    builder.append(Output(value))
    return builder.finish()


@pytest.mark.parametrize(("times", "count"), [(4, 0), (5, 1), (7, 1), (8, 2), (100, 32)])
def test_a_chain_has_no_bootstrap_too_many(times: int, count: int) -> None:
    """The first values have four levels, refreshed ones three, and the last uses the one below."""
    placed = with_bootstraps(squared(times), REFRESHING, COSTS)
    assert bootstraps(placed) == count


def test_each_of_many_like_layers_is_refreshed_alike() -> None:
    """Layers of three levels, each with a residual join and a result."""
    layers = 60
    builder = Builder("layers", 4)
    value = builder.append(Input("x", TOP * layers))
    kept = []
    for _ in range(layers):
        branch = value
        for _ in range(3):
            branch = builder.append(Rescale(builder.append(Mul(branch, branch))))
        kept.append(branch)
        through = builder.append(DropLevel(value, builder.level(branch)))
        value = builder.append(Add(branch, through))
    for each in (*kept, value):
        builder.append(Output(each))
    placed = with_bootstraps(builder.finish(), REFRESHING, COSTS)
    assert bootstraps(placed) == layers - 1


def test_a_value_is_refreshed_once_for_all_that_use_it() -> None:
    builder = Builder("", 4)
    value = builder.append(Input("x", TOP))
    for _ in range(4):
        value = builder.append(Rescale(builder.append(Mul(value, value))))
    branches = [builder.append(Rotate(value, step)) for step in (1, 2)]
    for branch in branches:
        square = builder.append(Rescale(builder.append(Mul(branch, branch))))
        builder.append(Output(builder.append(Rescale(builder.append(Mul(square, square))))))
    assert bootstraps(with_bootstraps(builder.finish(), REFRESHING, COSTS)) == 1


@pytest.mark.parametrize(("price_of_keys", "refreshed", "level"), [(0.0, 1, 3), (50.0, 3, 2)])
def test_transforms_stand_lower_where_their_keys_have_a_price(
    price_of_keys: float, refreshed: int, level: int
) -> None:
    """Of one value, which is refreshed, or of several results that are refreshed instead."""
    builder = Builder("", 4)
    value = builder.append(Input("x", TOP))
    for _ in range(2):
        value = builder.append(Rescale(builder.append(Mul(value, value))))
    for step in (1, 2, 3):
        turned = builder.append(Linear(value, {step: np.ones(4)}, 1))
        made = builder.append(Rescale(turned))
        for _ in range(2):
            made = builder.append(Rescale(builder.append(Mul(made, made))))
        builder.append(Output(made))
    program = builder.finish()
    placed = with_bootstraps(program, REFRESHING, COSTS, price_of_keys=price_of_keys)
    levels = {
        placed.context(number).level
        for number, each in enumerate(placed.operations)
        if isinstance(each, Linear)
    }
    assert (bootstraps(placed), levels) == (refreshed, {level})


def test_an_operation_deeper_than_a_refreshed_value_is_refused_by_name() -> None:
    builder = Builder("deep", 4)
    power = Polynomial(builder.append(Input("x", TOP)), (0.0,) * 16 + (1.0,), "monomial")
    builder.append(Output(builder.append(power)))
    with pytest.raises(InvalidParametersError, match=r"%1 = polynomial .* takes 5 levels"):
        with_bootstraps(builder.finish(), REFRESHING, COSTS)


def test_many_values_alive_are_placed_in_reasonable_time() -> None:
    """Sixteen values of depth 7 that join at the end."""
    builder = Builder("wide", 4)
    values = [builder.append(Input(f"x{number}", TOP)) for number in range(16)]
    for _ in range(7):
        values = [builder.append(Rescale(builder.append(Mul(each, each)))) for each in values]
    total = values[0]
    for each in values[1:]:
        total = builder.append(Add(total, each))
    builder.append(Output(total))
    placed = with_bootstraps(builder.finish(), REFRESHING, COSTS)
    assert bootstraps(placed) == 16
