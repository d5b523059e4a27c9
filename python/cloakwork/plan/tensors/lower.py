"""Lowering: from a graph of tensor operations to a slot program."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import ProgramTooLargeError
from cloakwork.plan.cost import price
from cloakwork.plan.passes.followed import followed_ranges
from cloakwork.plan.tensors.addition import added
from cloakwork.plan.tensors.evaluation import evaluated
from cloakwork.plan.tensors.placed import Placed, copied, masked, moved_freely
from cloakwork.plan.tensors.strategies import contracted
from cloakwork.programs.activation_range import ActivationRange, ceilings_of
from cloakwork.programs.bounds import polynomial_ceilings, value_bounds
from cloakwork.programs.ir.layers import Array
from cloakwork.programs.ir.tensors import (
    Apply,
    Contract,
    Evaluate,
    Node,
    Rearrange,
    Source,
    Sum,
    Within,
    operand_nodes,
)
from cloakwork.programs.layout import Axis, Layout, default_layout, in_strides
from cloakwork.programs.matrices import MatrixPlace
from cloakwork.programs.phases import PhasePlace
from cloakwork.programs.places import BatchPlaces, TensorPlace
from cloakwork.programs.slots import (
    AnyLayout,
    Builder,
    Input,
    Output,
    SlotProgram,
    TimesI,
    TwiceReal,
)

# Of one tensor: planning them takes minutes, and all of them together tens of gigabytes.
MAX_CIPHERTEXTS = 1 << 15


@dataclass(frozen=True, slots=True)
class Lowered:
    """A program, and where the tensors that go in and come out lie.

    Args:
        program: The program. Its inputs are the ciphertexts of `inputs`, in order.
        inputs: Every tensor that goes in, and where it lies.
        outputs: Layouts of the results, whose ciphertexts are the program's outputs in order.
        ranges: What the user says of numbers on the way.
    """

    program: SlotProgram
    inputs: tuple[tuple[Source, TensorPlace], ...]
    outputs: tuple[Layout, ...]
    ranges: tuple[ActivationRange, ...] = ()

    def changed(self, change: Callable[[SlotProgram], SlotProgram]) -> Lowered:
        """The same with another program; ranges are of the values that stand for theirs."""
        program, ranges = followed_ranges(self.program, self.ranges, change)
        return replace(self, program=program, ranges=ranges)

    def pack(self, arguments: Mapping[Source, Array]) -> list[Array]:
        """The vectors of arguments, one for each of the program's inputs."""
        return [vector for source, place in self.inputs for vector in place.pack(arguments[source])]

    def unpack(self, vectors: Sequence[Array], width: int) -> Array:
        """The elements of all results in a row; there is one entry in a batch."""
        assert width == 1
        remaining = iter(vectors)
        found = [
            layout.unpack([next(remaining) for _ in range(layout.ciphertexts)])
            for layout in self.outputs
        ]
        return np.concatenate([each.ravel() for each in found])[np.newaxis]

    def value_bounds(self, bounds: Mapping[Source, float]) -> list[float | None]:
        """The largest absolute value of each of the program's values; see `programs.bounds`."""
        inputs = [
            bounds[source] * occupied
            for source, place in self.inputs
            for occupied in place.filled()
        ]
        ceilings = ceilings_of(self.ranges, polynomial_ceilings(self.program))
        return value_bounds(self.program, inputs, ceilings)


def lower(
    title: str,
    results: Sequence[Node],
    slots: int,
    *,
    top: int = 0,
    choices: Mapping[int, int] | None = None,
    level_price: float = price.LEVEL,
    lift: int = 0,
    places: Sequence[Layout] = (),
) -> Lowered:
    """Plan tensor operations as one program.

    Args:
        title: What is computed.
        results: The nodes wanted.
        slots: Slots of a ciphertext.
        top: The level of inputs that have none.
        choices: Which way each contraction takes.
        level_price: What a level is worth.
        lift: How much higher inputs stand that have a level.
        places: Where the first results are to lie; the planner chooses for others.

    Example:
        >>> x = Source("x", (2, 3), default_layout((2, 3), 8), 1)
        >>> print(lower("transpose", [Contract((x,), ("ij",), "ji", (3, 2))], 8).program)
        transpose, 8 slots
          %0 = input x        level 1  0:2@3 1:3@1
          %1 = output %0      level 1  j:3@1 i:2@3
    """
    work = _TensorWork(Builder(title, slots), top, choices or {}, level_price, lift)
    nodes = in_order(results)
    _require_size(title, nodes, slots)
    for node in nodes:
        work.place(node)
    placed = [work.result(node) for node in results]
    for number, place in enumerate(places):
        placed[number] = brought_to(work.builder, placed[number], place)
    work.builder.stage = "output"
    layouts: list[Layout] = []
    for each in placed:
        layouts.append(each.layout)
        for value in each.values:
            work.builder.append(Output(value), each.layout)
    ranges = work.ranges([node for node in nodes if isinstance(node, Within) and node.claimed])
    return Lowered(work.builder.finish(), tuple(work.inputs), tuple(layouts), ranges)


def _require_size(title: str, nodes: Sequence[Node], slots: int) -> None:
    """Refuse, before it is planned, a tensor of more ciphertexts than a program can have."""
    for node in nodes:
        count = -(-math.prod(node.shape) // slots)
        if count > MAX_CIPHERTEXTS:
            raise ProgramTooLargeError(
                f"cannot plan {title}: a tensor of shape {node.shape} takes {count} ciphertexts of "
                f"{slots} slots, up to {MAX_CIPHERTEXTS} can be planned; compute it in parts"
            )


def in_order(
    results: Sequence[Node], operands: Callable[[Node], tuple[Node, ...]] = operand_nodes
) -> list[Node]:
    """The nodes that results need, each after those that it works on, its operands.

    Example:
        >>> x = Source("x", (2,))
        >>> in_order([Sum((x, x), (1, 1), None, (2,))])[0] is x
        True
    """
    found: dict[Node, None] = {}
    waiting = [(node, False) for node in reversed(results)]
    while waiting:
        node, ready = waiting.pop()
        if node in found:
            continue
        if ready:
            found[node] = None
        else:
            waiting.append((node, True))
            waiting += [(operand, False) for operand in reversed(operands(node))]
    return list(found)


@dataclass(slots=True)
class _TensorWork:
    builder: Builder
    top: int
    choices: Mapping[int, int]
    level_price: float
    lift: int
    inputs: list[tuple[Source, TensorPlace]] = field(default_factory=list)
    contractions: int = 0
    done: dict[Node, Placed | _Unpacked] = field(default_factory=dict)

    def place(self, node: Node) -> None:
        """Append what one node needs, its operands being there."""
        match node:
            case Source(place=Layout() as layout):
                self.done[node] = self.enter(self.builder, node, layout)
            case Source(place=PhasePlace() as place):
                values = self._entered(self.builder, node, place, place.layout)
                self.done[node] = Placed(values, place.layout)
            case Source(place=MatrixPlace() | BatchPlaces() as place):
                self.done[node] = self.brought(node, place)
            case Source():
                self.done[node] = _Unpacked(node, self)
            case Contract():
                self.builder.origin = node.origin
                operands = [
                    each if isinstance(each, np.ndarray) else self.done[each]
                    for each in node.operands
                ]
                choice = self.choices.get(self.contractions, 0)
                self.contractions += 1
                self.done[node] = contracted(
                    self.builder,
                    operands,
                    node.labels,
                    node.output,
                    choice,
                    self.level_price,
                )
            case Sum():
                self.builder.origin = node.origin
                terms = [self.result(term) for term in node.terms]
                self.done[node] = added(self.builder, terms, node.signs, node.constant, node.shape)
            case Rearrange():
                self.builder.origin = node.origin
                self.done[node] = moved_elements(
                    self.builder, self.result(node.operand), node.elements
                )
            case Evaluate(low=low, high=high):
                self.builder.origin = node.origin
                operand = self.result(node.operand)
                self.done[node] = evaluated(
                    self.builder, operand, node.coefficients, (low, high), node.title
                )
            case Within(operand=operand, cleared=cleared):
                held = self.done[operand]
                if cleared and isinstance(held, Placed) and held.layout.garbage:
                    self.builder.stage = "clear"
                    held = masked(self.builder, held)
                self.done[node] = held
            case Apply(function=function):
                raise AssertionError(f"{function} is to be approximated before it is placed")

    def result(self, node: Node) -> Placed:
        """Where a node's tensor lies; an input without a layout gets the default one."""
        found = self.done[node]
        if isinstance(found, Placed):
            return found
        return found.packed(self.builder, default_layout(node.shape, self.builder.slots))

    def ranges(self, nodes: Sequence[Within]) -> tuple[ActivationRange, ...]:
        """What the user says of numbers, by where they are; an input may have gone in twice."""
        found: list[ActivationRange] = []
        for number, node in enumerate(nodes, start=1):
            held = self.done[node]
            places = [held] if isinstance(held, Placed) else held.entered.values()
            ends = math.ldexp(node.low, node.exponent), math.ldexp(node.high, node.exponent)
            scale = math.ldexp(1.0, -node.exponent)
            found += [
                ActivationRange(f"within {number}", each.values, each.layout, *ends, scale)
                for each in places
            ]
        return tuple(found)

    def enter(self, builder: Builder, source: Source, layout: Layout) -> Placed:
        """An input in the given layout."""
        return Placed(self._entered(builder, source, layout, layout), layout)

    def _entered(
        self, builder: Builder, source: Source, place: TensorPlace, layout: AnyLayout | None
    ) -> tuple[int, ...]:
        name, count = source.name or f"operand{len(self.inputs)}", place.ciphertexts
        self.inputs.append((source, place))
        at = self.top if source.level is None else source.level + self.lift
        self.builder.stage = "input"
        names = [name] if count == 1 else [f"{name}.{number}" for number in range(count)]
        return tuple(builder.append(Input(each, at), layout) for each in names)

    def brought(self, source: Source, place: MatrixPlace | BatchPlaces) -> Placed:
        """An input that lies elsewhere, brought into a layout; it takes a level."""
        builder = self.builder
        layout = place.layout if isinstance(place, MatrixPlace) else None
        values = self._entered(builder, source, place, layout)
        parts, tiles, slots = place.part_places()
        factors = None
        if not place.is_real:
            builder.stage = "take parts of slots"
            halves = [builder.append(TwiceReal(value)) for value in values]
            if place.parts > 1:
                turned = [builder.append(TimesI(value)) for value in values]
                halves += [builder.append(TwiceReal(value)) for value in turned]
            values = tuple(halves)
            # The real part of i (a + i b) is -b.
            factors = np.where(parts > 0, -0.5, 0.5)
            tiles = tiles + len(values) * parts // place.parts
        flat = Layout(builder.slots, (Axis(len(values) * builder.slots, 1, tile=builder.slots),))
        held = Placed(values, replace(flat, garbage=True))
        found = in_strides(builder.slots, tiles, slots, garbage=False)
        # In strides nothing moves but garbage.
        target = default_layout(source.shape, builder.slots) if found is None else found[0]
        return moved_freely(builder, held, tiles, slots, target, factors)


@dataclass(slots=True)
class _Unpacked:
    """An input that has no layout until its first use; later uses share it.

    A contraction of an input with itself may want it in two layouts; then it goes in twice.
    """

    source: Source
    work: _TensorWork
    entered: dict[Layout, Placed] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.source.shape

    def packed(self, builder: Builder, layout: Layout) -> Placed:
        axes = tuple(replace(axis, name="") for axis in layout.axes)
        bare = replace(layout, axes=axes)
        if bare not in self.entered:
            self.entered[bare] = self.work.enter(builder, self.source, bare)
        self.work.done[self.source] = self.entered[bare]
        return replace(self.entered[bare], layout=layout)


def moved_elements(builder: Builder, placed: Placed, elements: NDArray[np.int64]) -> Placed:
    """The tensor whose every element is the one that `elements` names, counted in C order.

    Example:
        >>> from cloakwork.programs.layout import default_layout
        >>> from cloakwork.programs.slots import Input
        >>> builder = Builder("", 8)
        >>> x = Placed((builder.append(Input("x", 1)),), default_layout((2, 3), 8))
        >>> print(moved_elements(builder, x, np.array([[4, 5]])).layout)
        0:1@0 1:2@1 from 4
    """
    tiles, slots = (each.ravel()[elements] for each in placed.layout.tile_places())
    view = _view(placed, tiles, slots)
    if view is not None:
        return view
    return moved_freely(
        builder, placed, tiles, slots, default_layout(elements.shape, builder.slots)
    )


def brought_to(builder: Builder, placed: Placed, place: Layout) -> Placed:
    """The same tensor in a place, by a level where it does not lie there."""
    axes, replicas = (
        tuple(replace(axis, name="") for axis in each)
        for each in (placed.layout.axes, placed.layout.replicas)
    )
    bare = replace(placed.layout, axes=axes, replicas=replicas)
    if bare == place or replace(bare, garbage=True) == place:
        return Placed(placed.values, place)
    alone = replace(place, replicas=(), garbage=False)
    tiles, slots = placed.layout.tile_places()
    moved = moved_freely(builder, placed, tiles, slots, alone)
    if not place.replicas:
        return Placed(moved.values, place)
    return Placed(copied(builder, moved, place.replicas).values, place)


def _view(placed: Placed, tiles: NDArray[np.int64], slots: NDArray[np.int64]) -> Placed | None:
    """The tensor where it lies, if a layout can say so."""
    untouched = tiles.size == np.prod(placed.layout.shape, dtype=np.int64)
    garbage = placed.has_garbage or not untouched
    found = in_strides(placed.layout.slots, tiles, slots, garbage=garbage)
    if found is None:
        return None
    layout, chosen = found
    return Placed(tuple(placed.values[tile] for tile in chosen), layout)
