"""From the stages of a network and their packings to a slot program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cloakwork._native import Parameters
from cloakwork.plan.networks.staged import StagedNetwork
from cloakwork.plan.networks.stages import (
    ActivationStage,
    CiphertextProduct,
    DistanceProduct,
    EncryptedInput,
    MatrixProduct,
    Stage,
)
from cloakwork.plan.networks.writer import PairWriter, Writer
from cloakwork.plan.passes.followed import followed_ranges
from cloakwork.programs.activation_range import ActivationRange
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import element_bounds
from cloakwork.programs.places import Places
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import (
    Bootstrap,
    Builder,
    Constant,
    DropLevel,
    Mul,
    Output,
    Polynomial,
    SlotProgram,
)
from cloakwork.runtime.costs import Costs
from cloakwork.runtime.program import bounds_of_values
from cloakwork.schemes.ckks import Ckks


@dataclass(frozen=True, slots=True)
class LoweredNetwork:
    """A network as a program.

    Args:
        program: The slot program; its stages name layers and packings.
        inputs: How each input is packed.
        outputs: How each result is packed.
        ranges: What every polynomial, and some products, expect of their operands.
        pairs: Whether every two inputs of a batch share their slots.
    """

    program: SlotProgram
    inputs: tuple[Places, ...]
    outputs: tuple[Places, ...]
    ranges: tuple[ActivationRange, ...]
    pairs: bool = False

    def changed(self, change: Callable[[SlotProgram], SlotProgram]) -> LoweredNetwork:
        """The same with another program; ranges are of the values that stand for theirs."""
        program, ranges = followed_ranges(self.program, self.ranges, change)
        return replace(self, program=program, ranges=ranges)

    def pack(self, rows: g.Array) -> list[g.Array]:
        """The vectors of a batch of inputs, an entry of the batch in each row."""
        sizes = [len(places.places) for places in self.inputs]
        columns = np.split(rows, np.cumsum(sizes)[:-1], axis=1)
        return [
            vector
            for places, column in zip(self.inputs, columns, strict=True)
            for vector in (places.pack_pairs(column) if self.pairs else places.pack(column))
        ]

    def value_bounds(self, graph: g.Graph, width: int) -> tuple[float | None, ...]:
        """For each operation the largest absolute value of its result, None for constants."""
        rows = np.tile(element_bounds(graph), (width, 1))
        packed = [np.abs(vector) for vector in self.pack(rows)]
        return bounds_of_values(self.program, packed, self.ranges)

    def unpack(self, vectors: Sequence[g.Array], width: int) -> g.Array:
        """The elements of all results, those of an entry of a batch in a row."""
        remaining = iter(vectors)
        found: list[g.Array] = []
        for places in self.outputs:
            taken = [next(remaining) for _ in range(places.ciphertexts)]
            unpack = places.unpack_pairs if self.pairs else places.unpack
            found.append(unpack(taken, width))
        return np.concatenate(found, axis=1)


@dataclass(frozen=True, slots=True)
class NetworkPlan:
    """A network's program and its parameters.

    Args:
        lowered: The program.
        parameters: The parameters.
        bounds: For each operation the largest absolute value of its result, None for constants.
        error: The largest error to expect of an accepted input, simulated in the clear with
            modelled noise.
        price: What a run costs, in the unit of the costs.
        batch: Inputs of a run.
        width: Inputs that a ciphertext has slots for.
        refreshing: What bootstraps do; None where there are none.
    """

    lowered: LoweredNetwork
    parameters: Parameters
    bounds: tuple[float | None, ...]
    error: float
    price: float
    batch: int
    width: int
    refreshing: Refreshing | None = None

    @property
    def key_bytes(self) -> int:
        """Bytes of all evaluation keys, those of bootstraps among them."""
        return Ckks(self.parameters, self.refreshing).key_bytes(self.lowered.program)


def lowered(
    title: str, network: StagedNetwork, packings: Sequence[Places], slots: int, costs: Costs
) -> tuple[LoweredNetwork, Sequence[int]]:
    """The slot program of a network, every level at its lowest, and what may be refreshed."""
    builder = Builder(title, slots)
    writer_of = PairWriter if network.pairs else Writer
    writer = writer_of(network, packings, builder, costs)
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
        (
            *activation_ranges(program, network, packings),
            *_ranges_by_distance(network, packings, writer.values),
        ),
        network.pairs,
    )
    return made, writer.refreshable()


def stage_title(stage: Stage, places: Places) -> str:
    """A stage as summaries name it: its layers and its packing."""
    layers = stage.layers if isinstance(stage, MatrixProduct) else (stage.name,)
    return f"{', '.join(layers)} | {places.name}"


def activation_ranges(
    program: SlotProgram, network: StagedNetwork, packings: Sequence[Places]
) -> tuple[ActivationRange, ...]:
    """What every polynomial of a network's program, and some products, expect of their operands."""
    operands = _operands_of_nonlinear(program)
    parts = 2 if network.pairs else 1
    ranges: list[ActivationRange] = []
    for stage in network.stages:
        match stage:
            case ActivationStage(operand=operand):
                places = packings[operand]
                taken = [next(operands) for _ in range(parts * places.ciphertexts)]
                ends = [(stage.low, stage.high, stage.scale, stage.shift)]
            case CiphertextProduct(left=left):
                places = packings[left]
                taken = [next(operands) for _ in range(parts * places.ciphertexts)]
                ends = [(each.low, each.high, each.scale, 0.0) for each in stage.ranges or ()]
            case DistanceProduct(operation=operation):
                # Their operands are turned before they are multiplied.
                for _ in range(operation.distances.tokens * operation.distances.blocks):
                    next(operands)
                continue
            case _:
                continue
        for operand_ends, values in zip(ends, zip(*taken, strict=True), strict=False):
            for part in range(parts):
                expected = values[part::parts]
                ranges.append(ActivationRange(stage.name, expected, places, *operand_ends))
    return tuple(ranges)


def _ranges_by_distance(
    network: StagedNetwork, packings: Sequence[Places], values: Sequence[Sequence[int]]
) -> Iterator[ActivationRange]:
    """What products of tokens by distance expect of operands and results, given all values."""
    for number, stage in enumerate(network.stages):
        if isinstance(stage, DistanceProduct) and stage.ranges:
            places = stage.left, stage.right, number
            for place, ends in zip(places, stage.ranges, strict=True):
                taken, packing = tuple(values[place]), packings[place]
                yield ActivationRange(stage.name, taken, packing, ends.low, ends.high, ends.scale)


def _operands_of_nonlinear(program: SlotProgram) -> Iterator[tuple[int, ...]]:
    """The operands of polynomials and products, where they were computed."""
    for operation in program.operations:
        match operation:
            case Polynomial(operand=operand):
                yield (_computed(program, operand),)
            case Mul(left=left, right=right):
                # A pass to fewer keys multiplies by constants.
                if not isinstance(program.operations[right], Constant):
                    yield _computed(program, left), _computed(program, right)
            case _:
                pass


def _computed(program: SlotProgram, value: int) -> int:
    """A value as it was before its levels were dropped, and before it was refreshed."""
    while isinstance(operation := program.operations[value], DropLevel | Bootstrap):
        value = operation.operand
    return value
