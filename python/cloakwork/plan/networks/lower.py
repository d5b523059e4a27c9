"""From the stages of a network and their packings to a slot program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cloakwork.plan.networks.diagonals import append_product, folded
from cloakwork.plan.networks.staged import StagedNetwork, depth_of
from cloakwork.plan.networks.stages import (
    Activation,
    CiphertextProduct,
    EncryptedInput,
    MatrixProduct,
    Stage,
)
from cloakwork.programs.activation_range import ActivationRange
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import element_bounds
from cloakwork.programs.places import Places
from cloakwork.programs.slots import (
    Add,
    Bootstrap,
    Builder,
    Constant,
    DropLevel,
    Input,
    Mul,
    Neg,
    Output,
    Polynomial,
    Rescale,
    SlotProgram,
    Sub,
)
from cloakwork.runtime.costs import Costs
from cloakwork.runtime.program import bounds_of_values


@dataclass(frozen=True, slots=True)
class LoweredNetwork:
    """A network as a program.

    Args:
        program: The slot program; its stages name layers and packings.
        inputs: How each input is packed.
        outputs: How each result is packed.
        ranges: What every polynomial, and some products, expect of their operands.
    """

    program: SlotProgram
    inputs: tuple[Places, ...]
    outputs: tuple[Places, ...]
    ranges: tuple[ActivationRange, ...]

    def pack(self, rows: g.Array) -> list[g.Array]:
        """The vectors of a batch of inputs, an entry of the batch in each row."""
        sizes = [len(places.places) for places in self.inputs]
        columns = np.split(rows, np.cumsum(sizes)[:-1], axis=1)
        return [
            vector
            for places, column in zip(self.inputs, columns, strict=True)
            for vector in places.pack(column)
        ]

    def value_bounds(self, graph: g.Graph, width: int) -> tuple[float | None, ...]:
        """For each operation the largest absolute value of its result, None for constants.

        Args:
            graph: The layers, whose inputs have bounds.
            width: Inputs that a ciphertext has slots for.
        """
        rows = np.tile(element_bounds(graph), (width, 1))
        return bounds_of_values(self.program, self.pack(rows), self.ranges)

    def unpack(self, vectors: Sequence[g.Array], width: int) -> g.Array:
        """The elements of all results, those of an entry of a batch in a row.

        Args:
            vectors: The vectors of the results.
            width: Entries of the batch.
        """
        remaining = iter(vectors)
        found = [
            places.unpack([next(remaining) for _ in range(places.ciphertexts)], width)
            for places in self.outputs
        ]
        return np.concatenate(found, axis=1)


def lowered(
    title: str, network: StagedNetwork, packings: Sequence[Places], slots: int, costs: Costs
) -> LoweredNetwork:
    """The slot program of a network, every level at its lowest.

    Args:
        title: Of the program.
        network: The network.
        packings: How the result of each stage is packed.
        slots: Slots of the program, those of all inputs of a batch together.
        costs: What operations cost at each level.
    """
    return lowered_stages(title, network, packings, slots, costs)[0]


def lowered_stages(
    title: str, network: StagedNetwork, packings: Sequence[Places], slots: int, costs: Costs
) -> tuple[LoweredNetwork, Sequence[Sequence[int]]]:
    """The slot program of a network, and the values that are the result of each stage.

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
        builder.stage = stage_title(stage, packings[number])
        writer.append(number, stage)
    for number in network.outputs:
        builder.stage = stage_title(network.stages[number], packings[number])
        for value in writer.at_level(number, 0):
            builder.append(Output(value))
    program = builder.finish()
    inputs = [n for n, each in enumerate(network.stages) if isinstance(each, EncryptedInput)]
    made = LoweredNetwork(
        program,
        tuple(packings[number] for number in inputs),
        tuple(packings[number] for number in network.outputs),
        activation_ranges(program, network, packings),
    )
    return made, writer.values


def stage_title(stage: Stage, places: Places) -> str:
    """A stage as summaries name it: its layers and its packing."""
    layers = stage.layers if isinstance(stage, MatrixProduct) else (stage.name,)
    return f"{', '.join(layers)} | {places.name}"


def append_activation(builder: Builder, stage: Activation, value: int) -> int:
    """Append an activation of a ciphertext, which stands at the level that it takes."""
    if stage.squares:
        return append_product_of_values(builder, value, value)
    return builder.append(Polynomial(value, stage.coefficients, stage.basis))


def append_product_of_values(builder: Builder, left: int, right: int) -> int:
    """Append the product of two ciphertexts of one level, rescaled."""
    return builder.append(Rescale(builder.append(Mul(left, right))))


def append_signed_sum(builder: Builder, values: Sequence[int], signs: Sequence[float]) -> int:
    """Append the sum of ciphertexts of one level, of which some are subtracted."""
    (first, *others), (sign, *other_signs) = values, signs
    total = first if sign > 0 else builder.append(Neg(first))
    for value, other_sign in zip(others, other_signs, strict=True):
        total = builder.append((Add if other_sign > 0 else Sub)(total, value))
    return total


def activation_ranges(
    program: SlotProgram, network: StagedNetwork, packings: Sequence[Places]
) -> tuple[ActivationRange, ...]:
    """What every polynomial of a network's program, and some products, expect of their operands.

    Args:
        program: The program that `lowered` made, or one of the same polynomials and products.
        network: The network.
        packings: How the result of each stage is packed.
    """
    operands = _operands_of_nonlinear(program)
    ranges: list[ActivationRange] = []
    for stage in network.stages:
        match stage:
            case Activation(operand=operand):
                places = packings[operand]
                values = tuple(next(operands)[0] for _ in range(places.ciphertexts))
                ends = (stage.low, stage.high, stage.scale, stage.shift)
                ranges.append(ActivationRange(stage.name, values, places, *ends))
            case CiphertextProduct():
                pairs = [next(operands) for _ in range(packings[stage.left].ciphertexts)]
                factors = zip(zip(*pairs, strict=True), (stage.left, stage.right), strict=True)
                for (values, factor), each in zip(factors, stage.ranges or (), strict=False):
                    ends = (each.low, each.high, each.scale, 0.0)
                    ranges.append(ActivationRange(stage.name, values, packings[factor], *ends))
            case _:
                pass
    return tuple(ranges)


def _operands_of_nonlinear(program: SlotProgram) -> Iterator[tuple[int, ...]]:
    """The operands of polynomials and products, where they were computed."""

    def computed(value: int) -> int:
        """A value as it was before its levels were dropped, and before it was refreshed."""
        operation = program.operations[value]
        if isinstance(operation, DropLevel | Bootstrap):
            return computed(operation.operand)
        return value

    for operation in program.operations:
        match operation:
            case Polynomial(operand=operand):
                yield (computed(operand),)
            case Mul(left=left, right=right):
                # A pass to fewer keys multiplies by constants.
                if not isinstance(program.operations[right], Constant):
                    yield computed(left), computed(right)
            case _:
                pass


class _Writer:
    """Appends the operations of one stage after another."""

    def __init__(
        self, network: StagedNetwork, packings: Sequence[Places], builder: Builder, costs: Costs
    ) -> None:
        self._network = network
        self._packings = packings
        self._builder = builder
        self._costs = costs
        self.values: list[list[int]] = []

    def append(self, number: int, stage: Stage) -> None:
        """Append a stage, whose operands were appended before."""
        match stage:
            case EncryptedInput():
                packing, level = self._packings[number], self._network.levels[number]
                made = [
                    self._builder.append(Input(f"{stage.name}{place}", level))
                    for place in range(packing.ciphertexts)
                ]
            case MatrixProduct():
                made = self._product(number, stage)
            case Activation():
                values = self._operand(number, stage.operand)
                made = [append_activation(self._builder, stage, value) for value in values]
            case CiphertextProduct(left=left, right=right):
                pairs = zip(self._operand(number, left), self._operand(number, right), strict=True)
                made = [append_product_of_values(self._builder, *pair) for pair in pairs]
        self.values.append(made)

    def at_level(self, number: int, level: int) -> list[int]:
        """The ciphertexts of a stage's result at a level."""
        return [
            value
            if self._builder.level(value) == level
            else self._builder.append(DropLevel(value, level))
            for value in self.values[number]
        ]

    def _operand(self, number: int, operand: int) -> list[int]:
        """The ciphertexts of an operand at the level where a stage takes its operands."""
        level = self._network.levels[number] + depth_of(self._network.stages[number])
        return self.at_level(operand, level)

    def _product(self, number: int, stage: MatrixProduct) -> list[int]:
        totals = self._sum(number, stage) if stage.signs else self._transformed(number, stage)
        if not stage.bias.any():
            return totals
        batch = self._builder.slots // self._packings[number].slots
        biases = self._packings[number].pack(np.tile(stage.bias, (batch, 1)))
        return [
            self._builder.append(Add(value, self._builder.constant(bias))) if bias.any() else value
            for value, bias in zip(totals, biases, strict=True)
        ]

    def _sum(self, number: int, stage: MatrixProduct) -> list[int]:
        assert stage.signs is not None
        operands = [self._operand(number, operand) for operand in stage.terms]
        return [
            append_signed_sum(self._builder, values, stage.signs)
            for values in zip(*operands, strict=True)
        ]

    def _transformed(self, number: int, stage: MatrixProduct) -> list[int]:
        builder, result = self._builder, self._packings[number]
        level = self._network.levels[number] + 1
        hoisted = self._costs.hoisted_share(level)
        # Terms whose operands have one period are summed before their copies are.
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
        """The value, or a zero where a ciphertext of the result has no terms."""
        if value is not None:
            return value
        other = next(each for each in others if each is not None)
        return self._builder.append(Sub(other, other))
