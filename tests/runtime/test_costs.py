"""The table of costs, and what programs cost under it."""

import json
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cloakwork as cw
from cloakwork.errors import InvalidArgumentError, MalformedBytesError
from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    DropLevel,
    Input,
    Linear,
    Mul,
    Neg,
    Operation,
    Output,
    Polynomial,
    Rescale,
    Rotate,
    SlotProgram,
    Sub,
)
from cloakwork.runtime.costs import Costs, LevelCosts, modelled, seconds_of, total_seconds, work_of

KINDS = [field.name for field in fields(LevelCosts)]
# A distinct price for each kind and level, so that a mix-up shows.
PRICES = Costs(
    tuple(
        LevelCosts(**{kind: 2.0 ** (1 + n + 10 * level) for n, kind in enumerate(KINDS)})
        for level in range(4)
    )
)
NUMBERS = st.floats(min_value=1e-12, max_value=1e12)


def test_each_operation_has_its_price_at_the_level_of_its_operands() -> None:
    builder = Builder("", slots=16)
    ones = np.ones(16)
    x = builder.append(Input("x", 3))
    one = builder.append(Constant(ones))
    diagonals = dict.fromkeys((0, 1, 2, 5), ones)
    steps: list[tuple[Operation, Callable[[LevelCosts], float]]] = [
        (Add(x, x), lambda p: p.addition),
        (Add(x, one), lambda p: p.addition + p.encoding),
        (Sub(x, x), lambda p: p.addition),
        (Sub(one, x), lambda p: 2 * p.addition + p.encoding),
        (Neg(x), lambda p: p.addition),
        (Mul(x, x), lambda p: p.product),
        (Mul(x, one), lambda p: p.plaintext_product),
        (
            Linear(x, diagonals, 4),
            lambda p: p.linear + 4 * p.diagonal + 2 * p.baby_step + p.giant_step,
        ),
        (DropLevel(x, 1), lambda p: p.drop_level),
        (Output(x), lambda _: 0.0),
    ]
    for operation, _ in steps:
        builder.append(operation)
    builder.append(Rescale(builder.append(Mul(x, one))))
    found = seconds_of(builder.finish(), PRICES)
    top = PRICES.at(3)
    assert found[:2] == [0.0, 0.0]
    assert found[2:-2] == [price(top) for _, price in steps]
    assert found[-1] == top.rescale


def test_a_sum_of_products_is_relinearised_once() -> None:
    builder = Builder("", slots=16)
    x = builder.append(Input("x", 3))
    products = [builder.append(Mul(x, x)) for _ in range(2)]
    builder.append(Rescale(builder.append(Add(*products))))
    price = PRICES.at(3)
    # A sum of degree 2 is of three polynomials, not of two.
    sums = [price.product, price.product, price.addition * 1.5]
    assert seconds_of(builder.finish(), PRICES)[1:] == [
        *sums,
        price.rescale + price.relinearisation,
    ]


def test_a_product_that_cannot_wait_pays_for_its_own_relinearisation() -> None:
    builder = Builder("", slots=16)
    x = builder.append(Input("x", 3))
    product = builder.append(Mul(x, x))
    for _ in range(2):
        builder.append(Rescale(product))
    price = PRICES.at(3)
    expected = [price.product + price.relinearisation, price.rescale, price.rescale]
    assert seconds_of(builder.finish(), PRICES)[1:] == expected


def test_a_rotation_of_products_pays_for_their_relinearisation() -> None:
    builder = Builder("", slots=16)
    product = builder.append(Mul(*[builder.append(Input("x", 3))] * 2))
    for steps in (1, 2):
        builder.append(Rotate(product, steps))
    price = PRICES.at(3)
    assert seconds_of(builder.finish(), PRICES)[1:] == [
        price.product,
        price.rotation + price.relinearisation,
        price.hoisted_rotation,
    ]


def test_a_run_with_work_has_its_own_price() -> None:
    costs = Costs(PRICES.levels, run=1e15)
    builder = Builder("", slots=16)
    x = builder.append(Input("x", 3))
    assert total_seconds(builder.finish(), costs) == 0.0
    builder.append(Neg(x))
    assert total_seconds(builder.finish(), costs) == 1e15 + PRICES.at(3).addition
    assert costs.scaled(2).run == 2e15


def test_rotations_of_one_value_share_the_price_of_the_first() -> None:
    builder = Builder("", slots=16)
    x, y = (builder.append(Input(name, 2)) for name in "xy")
    for value, by in ((x, 1), (y, 1), (x, 2), (x, 3), (y, 5)):
        builder.append(Rotate(value, by))
    first, further = PRICES.at(2).rotation, PRICES.at(2).hoisted_rotation
    program = builder.finish()
    assert seconds_of(program, PRICES) == [0, 0, first, first, further, further, further]
    assert total_seconds(program, PRICES) == 2 * first + 3 * further


@pytest.mark.parametrize("degrees", [(2, 3), (3, 7), (4, 7)])
def test_a_polynomial_of_higher_degree_costs_more(degrees: tuple[int, int]) -> None:
    prices = []
    for degree in degrees:
        builder = Builder("", slots=4)
        x = builder.append(Input("x", 3))
        builder.append(Polynomial(x, (0.0,) * degree + (1.0,), "monomial"))
        prices.append(total_seconds(builder.finish(), modelled([2, 4, 6, 8], 2)))
    assert 0 < prices[0] < prices[1]


def test_a_degree_of_one_takes_no_product() -> None:
    builder = Builder("", slots=4)
    builder.append(Polynomial(builder.append(Input("x", 1)), (0.0, 2.0), "monomial"))
    costs = modelled([2, 4], 2)
    assert total_seconds(builder.finish(), costs) < costs.at(1).relinearisation


def test_a_level_beyond_the_table_is_refused() -> None:
    builder = Builder("", slots=4)
    builder.append(Neg(builder.append(Input("x", 4))))
    with pytest.raises(InvalidArgumentError, match="level 4"):
        seconds_of(builder.finish(), PRICES)
    with pytest.raises(InvalidArgumentError, match="level -1"):
        PRICES.at(-1)


@given(st.lists(st.integers(1, 90), min_size=1, max_size=6), st.integers(1, 30))
def test_modelled_costs_grow_with_the_limbs(counts: list[int], special: int) -> None:
    costs = modelled(counts, special)
    for (first, few), (second, more) in zip(
        enumerate(counts), list(enumerate(counts))[1:], strict=False
    ):
        if few < more:
            for kind in KINDS:
                assert getattr(costs.at(first), kind) < getattr(costs.at(second), kind)


@given(st.lists(st.lists(NUMBERS, min_size=len(KINDS), max_size=len(KINDS)), min_size=1), NUMBERS)
def test_costs_survive_json(rows: list[list[float]], run: float) -> None:
    costs = Costs(tuple(LevelCosts(*row) for row in rows), run)
    again = Costs.from_dict(json.loads(json.dumps(asdict(costs))))
    assert again == costs
    assert hash(again) == hash(costs)


ROW = asdict(PRICES)["levels"][0]


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {"levels": [ROW]},
        {"run": 0.0, "levels": []},
        {"run": 0.0, "levels": [[]]},
        {"run": 0.0, "levels": [ROW | {"more": 1.0}]},
        {"run": 0.0, "levels": [{kind: ROW[kind] for kind in KINDS[1:]}]},
        {"run": 0.0, "levels": [ROW | {"rotation": 0}]},
        {"run": 0.0, "levels": [ROW | {"rotation": float("nan")}]},
        {"run": 0.0, "levels": [ROW | {"rotation": True}]},
        {"run": 0.0, "levels": [ROW | {"rotation": "1"}]},
        {"run": -1.0, "levels": [ROW]},
        {"run": float("inf"), "levels": [ROW]},
        {"run": "1", "levels": [ROW]},
    ],
)
def test_other_data_are_refused(data: object) -> None:
    with pytest.raises(MalformedBytesError, match="cannot read costs"):
        Costs.from_dict(data)


def test_costs_in_another_unit_and_of_kept_diagonals() -> None:
    costs = modelled([2, 4], special_limbs=2)
    assert (costs.at(1).rotation, costs.hoisted_share(1)) == (60.0, 0.5)
    assert costs.scaled(0.5).at(1).rotation == 30.0
    assert (costs.at(0).diagonal, costs.kept().at(0).diagonal) == (16.0, 1.6)


def real() -> cw.Program:
    return cw.compile(lambda x: np.tanh(x) @ np.ones((4, 2)), (4,), precision=8)


def bootstrapped() -> cw.Program:
    return cw.compile(
        lambda x: (x * x) * (x * x), (4,), bootstrap=True, precision=8, log_n=8, insecure=True
    )


def integer() -> cw.Program:
    @cw.circuit(x=cw.scalar(), y=cw.scalar())
    def product(x: Any, y: Any) -> Any:
        return x * y + 1

    return product.compile(bits=4, effort=0.1)


@pytest.mark.parametrize("make", [real, bootstrapped, integer])
def test_shares_of_the_work_add_up(make: Callable[[], cw.Program]) -> None:
    program = make()
    body = program.body
    assert isinstance(body, SlotProgram)
    shares = work_of(body, program.scheme)
    assert len(shares) == len(body.operations)
    assert min(shares) >= 0.0
    assert sum(shares) == pytest.approx(1.0)
    for share, operation in zip(shares, body.operations, strict=True):
        assert (share == 0.0) == (operation.kind in ("input", "constant", "output"))
