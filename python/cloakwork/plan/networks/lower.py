"""From the stages of a network to a slot program, every packing chosen over the whole of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from cloakwork.plan.cost.table import Costs
from cloakwork.plan.networks.choose import Prices, cheapest
from cloakwork.plan.networks.diagonals import (
    ClearMatrix,
    append_product,
    folded,
    product_cost,
)
from cloakwork.plan.networks.matrices import Matrix
from cloakwork.plan.networks.packings import Canvas, Image, canvases, plain, strides_of
from cloakwork.plan.networks.stages import Joint, Power, Product, Source, Stage
from cloakwork.programs.activation_range import ActivationRange
from cloakwork.programs.ir import layers as g
from cloakwork.programs.places import Places
from cloakwork.programs.slots import (
    Add,
    Builder,
    DropLevel,
    Input,
    Mul,
    Neg,
    Output,
    Polynomial,
    Rescale,
    SlotProgram,
    Sub,
    polynomial_depth,
)


@dataclass(frozen=True, slots=True)
class Lowered:
    """A network as a program.

    Args:
        program: The slot program; its stages name layers and packings.
        input: How the input is packed.
        output: How the result is packed.
        ranges: What every polynomial expects of its operand.
    """

    program: SlotProgram
    input: Places
    output: Places
    ranges: tuple[ActivationRange, ...]


@dataclass(frozen=True, eq=False)
class Staged:
    """The stages of a network and what follows from them alone.

    Args:
        graph: The layers.
        stages: Its stages.
    """

    graph: g.Graph
    stages: tuple[Stage, ...]

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """The level that each stage's result is needed at, the last at 0."""
        wanted = [0] * len(self.stages)
        for number in reversed(range(len(self.stages))):
            stage = self.stages[number]
            for operand in operands_of(stage):
                wanted[operand] = max(wanted[operand], wanted[number] + depth_of(stage))
        return tuple(wanted)

    @cached_property
    def groups(self) -> tuple[int, ...]:
        """For each stage the first of those that are packed alike."""
        groups = list(range(len(self.stages)))

        def first(number: int) -> int:
            while groups[number] != number:
                number = groups[number]
            return number

        for number, stage in enumerate(self.stages):
            if not isinstance(stage, Product) or stage.signs is not None:
                for operand in operands_of(stage):
                    one, other = sorted((first(number), first(operand)))
                    groups[other] = one
        return tuple(map(first, range(len(self.stages))))

    @cached_property
    def matrices(self) -> Mapping[tuple[int, int], ClearMatrix]:
        """The elements of every matrix, by its stage and the stage of its operand."""
        return {
            (number, operand): _elements(matrix)
            for number, stage in enumerate(self.stages)
            if isinstance(stage, Product) and stage.signs is None
            for operand, matrix in stage.terms.items()
        }

    @cached_property
    def images(self) -> tuple[Image, ...]:
        """The tensor of each stage."""
        strides = strides_of(self.graph)
        return tuple(
            Image(stage.shape, strides[0 if isinstance(stage, Source) else stage.node])
            for stage in self.stages
        )


def operands_of(stage: Stage) -> tuple[int, ...]:
    """The stages that a stage works on."""
    match stage:
        case Source():
            return ()
        case Product(terms=terms):
            return tuple(terms)
        case Power(operand=operand):
            return (operand,)
        case Joint(left=left, right=right):
            return (left, right)


def depth_of(stage: Stage) -> int:
    """Levels that a stage takes."""
    match stage:
        case Source():
            return 0
        case Product():
            return 0 if stage.signs is not None else 1
        case Power(coefficients=coefficients):
            return 1 if stage.squares else polynomial_depth(coefficients)
        case Joint():
            return 1


def _elements(matrix: Matrix) -> ClearMatrix:
    found = matrix.tocoo()
    used = found.data != 0
    rows, columns, weights = found.row[used], found.col[used], found.data[used]
    if not len(weights):
        # A result of nothing is still a result: it takes one element, which is 0.
        rows, columns, weights = np.zeros((3, 1))
    return ClearMatrix(
        np.asarray(rows, dtype=np.int64),
        np.asarray(columns, dtype=np.int64),
        np.asarray(weights, dtype=np.float64),
    )


def chosen_packings(network: Staged, slots: int, costs: Costs) -> tuple[tuple[Places, ...], float]:
    """The packing of every stage, those of all together being the cheapest, and their price.

    Args:
        network: The network.
        slots: Slots of one ciphertext for each input of a batch.
        costs: What operations cost at each level of the network.
    """
    options = _options(network, slots)
    prices: list[Prices] = []
    for group, found in options.items():
        tally = np.asarray([each.ciphertexts for _, each in found], dtype=np.float64)
        prices.append(Prices((group,), tally * _own_price(network, group, costs)))
    for (number, operand), matrix in network.matrices.items():
        level = network.levels[number] + 1
        into, out = network.groups[operand], network.groups[number]
        table = np.full((len(options[into]), len(options[out])), np.inf)
        for i, (canvas, before) in enumerate(options[into]):
            for j, (other, after) in enumerate(options[out]):
                # From one canvas to another hardly two elements share a diagonal.
                if canvas is None or other is None or canvas == other:
                    table[i, j] = product_cost(matrix, before, after, costs, level).price
        if into == out:
            prices.append(Prices((into,), table.diagonal()))
        else:
            order = (into, out) if into < out else (out, into)
            prices.append(Prices(order, table if into < out else table.T))
    chosen = cheapest(prices)
    price = sum(float(each.table[tuple(chosen[n] for n in each.choices)]) for each in prices)
    return tuple(options[group][chosen[group]][1] for group in network.groups), price


def _options(network: Staged, slots: int) -> dict[int, list[tuple[Canvas | None, Places]]]:
    """For each group the packings that it may have, and the canvas of each."""
    drawn = canvases(network.images)
    options: dict[int, list[tuple[Canvas | None, Places]]] = {}
    for group in sorted(set(network.groups)):
        members = [n for n, each in enumerate(network.groups) if each == group]
        image = next(
            (
                network.images[each]
                for each in members
                if len(network.images[each].shape) == 3 and network.images[each].strides
            ),
            network.images[group],
        )
        found: list[tuple[Canvas | None, Places]] = []
        for canvas in drawn:
            packing = canvas.packing(image, slots)
            if packing is not None:
                found.append((canvas, packing))
        found.append((None, plain(prod(image.shape), slots)))
        options[group] = found
    return options


def _own_price(network: Staged, group: int, costs: Costs) -> float:
    """What the stages of a group cost for each ciphertext, products with matrices aside."""
    price = 0.0
    for number, stage in enumerate(network.stages):
        if network.groups[number] == group:
            level = costs.at(network.levels[number] + depth_of(stage))
            if isinstance(stage, Power | Joint):
                price += depth_of(stage) * (level.product + level.relinearisation + level.rescale)
            else:
                # Each ciphertext is encrypted, sent and kept.
                price += level.addition
    return price


def lowered(
    title: str, network: Staged, packings: Sequence[Places], slots: int, costs: Costs
) -> Lowered:
    """The slot program of a network, every level at its lowest.

    Args:
        title: Of the program.
        network: The network.
        packings: How the result of each stage is packed.
        slots: Slots of the program, those of all inputs of a batch together.
        costs: What operations cost at each level.
    """
    builder = Builder(title, slots)
    writer = _Writer(network, packings, builder, costs)
    for number, stage in enumerate(network.stages):
        layers = stage.layers if isinstance(stage, Product) else (stage.name,)
        builder.stage = f"{', '.join(layers)} | {packings[number].name}"
        writer.append(number, stage)
    for value in writer.values[-1]:
        builder.append(Output(value))
    ranges = tuple(
        ActivationRange(
            stage.name,
            tuple(writer.values[stage.operand]),
            packings[stage.operand],
            stage.low,
            stage.high,
            stage.scale,
            stage.shift,
        )
        for stage in network.stages
        if isinstance(stage, Power)
    )
    return Lowered(builder.finish(), packings[0], packings[-1], ranges)


class _Writer:
    """Appends the operations of one stage after another."""

    def __init__(
        self, network: Staged, packings: Sequence[Places], builder: Builder, costs: Costs
    ) -> None:
        self._network = network
        self._packings = packings
        self._builder = builder
        self._costs = costs
        self.values: list[list[int]] = []

    def append(self, number: int, stage: Stage) -> None:
        """Append a stage, whose operands are there."""
        match stage:
            case Source():
                packing, level = self._packings[number], self._network.levels[number]
                made = [
                    self._builder.append(Input(f"{stage.name}{place}", level))
                    for place in range(packing.ciphertexts)
                ]
            case Product():
                made = self._product(number, stage)
            case Power():
                made = [self._power(stage, value) for value in self._operand(number, stage.operand)]
            case Joint(left=left, right=right):
                pairs = zip(self._operand(number, left), self._operand(number, right), strict=True)
                made = [
                    self._builder.append(Rescale(self._builder.append(Mul(*pair))))
                    for pair in pairs
                ]
        self.values.append(made)

    def _operand(self, number: int, operand: int) -> list[int]:
        """The ciphertexts of an operand at the level that a stage wants it at."""
        level = self._network.levels[number] + depth_of(self._network.stages[number])
        return [
            value
            if self._builder.level(value) == level
            else self._builder.append(DropLevel(value, level))
            for value in self.values[operand]
        ]

    def _power(self, stage: Power, value: int) -> int:
        if stage.squares:
            return self._builder.append(Rescale(self._builder.append(Mul(value, value))))
        return self._builder.append(Polynomial(value, stage.coefficients, stage.basis))

    def _product(self, number: int, stage: Product) -> list[int]:
        totals = self._sum(number, stage) if stage.signs else self._transformed(number, stage)
        if not stage.bias.any():
            return totals
        batch = self._builder.slots // self._packings[number].slots
        biases = self._packings[number].pack(np.tile(stage.bias, (batch, 1)))
        return [
            self._builder.append(Add(value, self._builder.constant(bias))) if bias.any() else value
            for value, bias in zip(totals, biases, strict=True)
        ]

    def _sum(self, number: int, stage: Product) -> list[int]:
        assert stage.signs is not None
        builder = self._builder
        totals: list[int] = []
        for operand, sign in zip(stage.terms, stage.signs, strict=True):
            values = self._operand(number, operand)
            if not totals:
                totals = values if sign > 0 else [builder.append(Neg(value)) for value in values]
                continue
            joined = Add if sign > 0 else Sub
            totals = [builder.append(joined(*pair)) for pair in zip(totals, values, strict=True)]
        return totals

    def _transformed(self, number: int, stage: Product) -> list[int]:
        builder, result = self._builder, self._packings[number]
        level = self._network.levels[number] + 1
        hoisted = self._costs.hoisted(level) / self._costs.rotation(level)
        # Terms whose operands repeat after as many slots are summed before their copies are.
        sums: dict[int, tuple[Places, list[int | None]]] = {}
        for operand in stage.terms:
            packing = self._packings[operand]
            made = append_product(
                builder,
                self._operand(number, operand),
                self._network.matrices[number, operand],
                packing,
                result,
                hoisted,
            )
            period = max(packing.period, result.period)
            before = sums[period][1] if period in sums else [None] * result.ciphertexts
            sums[period] = (
                packing,
                [self._added(*pair) for pair in zip(before, made, strict=True)],
            )
        totals: list[int | None] = [None] * result.ciphertexts
        for packing, products in sums.values():
            for place, product in enumerate(products):
                if product is not None:
                    done = folded(builder, product, packing, result)
                    totals[place] = self._added(totals[place], done)
        return [self._or_zero(total, totals) for total in totals]

    def _added(self, left: int | None, right: int | None) -> int | None:
        if left is None or right is None:
            return left if right is None else right
        return self._builder.append(Add(left, right))

    def _or_zero(self, value: int | None, others: Sequence[int | None]) -> int:
        """The value, or a zero where nothing comes to a ciphertext of the result."""
        if value is not None:
            return value
        there = next(other for other in others if other is not None)
        return self._builder.append(Sub(there, there))
