"""Lane programs: what a scalar circuit becomes, operations on vectors with a scalar per slot.

A program says which scalar the client puts in which slot, how vectors are computed from them,
and in which slot every scalar of a result ends up. It knows neither levels nor the length of a
row; slots count from 0. After `Rotation` by k, slot i holds what slot i + k held, cyclically over
the whole row, so a program is right on any row of `width` slots or more, and b evaluations at
once, each `width` slots after the one before, on a row of b * `width` slots or more.

What a slot of an input does not hold is zero there, and stays so through sums and products;
slots that no result is read from may hold anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn, TypeAlias

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.ir.circuits import CircuitInput, CircuitOutput


@dataclass(frozen=True, slots=True)
class PlacedScalar:
    """A scalar of an input, by its number in order, in a slot of a ciphertext."""

    slot: int
    input: str
    index: int


@dataclass(frozen=True, slots=True)
class Packed:
    """A ciphertext from the client with these scalars, zero in all other slots."""

    scalars: tuple[PlacedScalar, ...]


@dataclass(frozen=True, slots=True)
class VectorSum:
    """left + right, slot by slot."""

    left: int
    right: int


@dataclass(frozen=True, slots=True)
class VectorDifference:
    """left - right, slot by slot."""

    left: int
    right: int


@dataclass(frozen=True, slots=True)
class VectorProduct:
    """left * right, slot by slot."""

    left: int
    right: int


@dataclass(frozen=True, slots=True)
class VectorNegative:
    """-operand."""

    operand: int


@dataclass(frozen=True, slots=True)
class Rotation:
    """Slot i receives slot i + steps; steps may be negative, never 0."""

    operand: int
    steps: int


@dataclass(frozen=True, slots=True)
class Multiple:
    """The operand times one clear integer in every slot."""

    operand: int
    factor: int


@dataclass(frozen=True, slots=True)
class Masked:
    """The operand times a clear vector: (slot, factor) in order of slots, 0 in the others."""

    operand: int
    factors: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Offset:
    """The operand plus a clear vector: (slot, addend) in order of slots, 0 in the others."""

    operand: int
    addends: tuple[tuple[int, int], ...]


VectorOperation: TypeAlias = (
    Packed
    | VectorSum
    | VectorDifference
    | VectorProduct
    | VectorNegative
    | Rotation
    | Multiple
    | Masked
    | Offset
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a scalar of a result lies: a vector, and a slot of it."""

    vector: int
    slot: int


@dataclass(frozen=True, slots=True)
class Clear:
    """A scalar of a result that depends on no input."""

    value: int


@dataclass(frozen=True, slots=True)
class LaneCounts:
    """Operations by kind.

    Args:
        additions: Sums, differences and negations of ciphertexts, and sums with clear vectors.
        products: Products of two ciphertexts.
        rotations: Rotations.
        masks: Products with clear vectors, and with single clear integers.
    """

    additions: int
    products: int
    rotations: int
    masks: int

    def __str__(self) -> str:
        return f"{self.additions}/{self.products}/{self.rotations}/{self.masks}"


def vectors_of(operation: VectorOperation) -> tuple[int, ...]:
    """The numbers of the vectors that an operation works on.

    Example:
        >>> vectors_of(VectorSum(2, 5))
        (2, 5)
    """
    match operation:
        case Packed():
            return ()
        case VectorSum() | VectorDifference() | VectorProduct():
            return (operation.left, operation.right)
        case _:
            return (operation.operand,)


@dataclass(frozen=True, eq=False)
class LaneProgram:
    """A legal list of operations on vectors.

    Args:
        title: What the program computes, in the words of who wrote it.
        inputs: The inputs of the circuit.
        operations: The operations in order; vector k is what operation k makes.
        outputs: The outputs of the circuit.
        places: Where the scalars of each output lie, in order.

    Raises:
        InvalidProgramError: An operation uses a vector that is not before it, rotates by 0, or
            places two scalars in one slot or a scalar against its input's wishes, or the places
            do not fit the outputs.

    Example:
        >>> inputs = (CircuitInput("x", (2,)),)
        >>> packed = Packed((PlacedScalar(0, "x", 0), PlacedScalar(1, "x", 1)))
        >>> program = LaneProgram(
        ...     "total",
        ...     inputs,
        ...     (packed, Rotation(0, 1), VectorSum(0, 1)),
        ...     (CircuitOutput("y", (), (2,)),),
        ...     ((Place(2, 0),),),
        ... )
        >>> print(program)
        total, 2 slots wide
          %0 = pack 0:x[0] 1:x[1]
          %1 = rotate %0 by 1
          %2 = add %0 %1
          output y = %2@0
        >>> print(program.counts)
        1/0/1/0
    """

    title: str
    inputs: tuple[CircuitInput, ...]
    operations: tuple[VectorOperation, ...]
    outputs: tuple[CircuitOutput, ...]
    places: tuple[tuple[Place | Clear, ...], ...]
    _supports: tuple[frozenset[int], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        supports: list[frozenset[int]] = []
        for number, operation in enumerate(self.operations):
            if any(not 0 <= vector < number for vector in vectors_of(operation)):
                _refuse(f"{self._line(number)} uses a vector that is not before it")
            if isinstance(operation, Rotation) and operation.steps == 0:
                _refuse(f"{self._line(number)} does not move")
            supports.append(_support(operation, supports))
        object.__setattr__(self, "_supports", tuple(supports))
        self._require_placement()
        self._require_outputs()

    @property
    def counts(self) -> LaneCounts:
        """Its operations by kind."""
        kinds = [type(operation) for operation in self.operations]
        return LaneCounts(
            sum(map(kinds.count, (VectorSum, VectorDifference, VectorNegative, Offset))),
            kinds.count(VectorProduct),
            kinds.count(Rotation),
            kinds.count(Masked) + kinds.count(Multiple),
        )

    def supports(self) -> tuple[frozenset[int], ...]:
        """The slots of every vector that are not known to be zero."""
        return self._supports

    @cached_property
    def width(self) -> int:
        """The slots that one evaluation takes, from which another may start.

        A slot that a result depends on may receive from no slot as far as this.
        """
        reach = 0
        for vector, slots in enumerate(self._needed()):
            support = self._supports[vector]
            if slots and support:
                reach = max(reach, max(support) - min(slots), max(slots) - min(support))
        return reach + 1

    def _needed(self) -> list[set[int]]:
        """The slots of every vector that results depend on, known zeros included."""
        needed: list[set[int]] = [set() for _ in self.operations]
        for place in (place for places in self.places for place in places):
            if isinstance(place, Place):
                needed[place.vector].add(place.slot)
        for number in range(len(self.operations) - 1, -1, -1):
            operation, slots = self.operations[number], needed[number]
            match operation:
                case Rotation(operand=operand, steps=steps):
                    needed[operand] |= {slot + steps for slot in slots}
                case Masked(operand=operand, factors=factors):
                    needed[operand] |= slots & {slot for slot, factor in factors if factor}
                case VectorProduct(left=left, right=right):
                    # A factor that is zero settles the slot.
                    by_left = slots - self._supports[left]
                    by_right = slots - by_left - self._supports[right]
                    needed[left] |= slots - by_right
                    needed[right] |= slots - by_left
                case _:
                    for vector in vectors_of(operation):
                        needed[vector] |= slots
        return needed

    def _require_placement(self) -> None:
        declared = {each.name: each for each in self.inputs}
        homes: dict[str, set[int]] = {name: set() for name in declared}
        placed: dict[tuple[str, int], int] = {}
        for number, operation in enumerate(self.operations):
            if not isinstance(operation, Packed):
                continue
            slots = [scalar.slot for scalar in operation.scalars]
            if len(set(slots)) != len(slots):
                _refuse(f"{self._line(number)} places two scalars in one slot")
            for scalar in operation.scalars:
                options = declared.get(scalar.input)
                if options is None or not 0 <= scalar.index < options.count:
                    _refuse(f"{self._line(number)} places a scalar that no input has")
                copies = placed[scalar.input, scalar.index] = (
                    placed.get((scalar.input, scalar.index), 0) + 1
                )
                if copies > 1 and not options.replicated:
                    _refuse(f"{scalar.input!r} is not replicated, but a scalar lies in two slots")
                if options.slots is not None and options.slots[scalar.index] != scalar.slot:
                    _refuse(f"{scalar.input!r} does not lie in the slots asked for")
                homes[scalar.input].add(number)
            names = {scalar.input for scalar in operation.scalars}
            if len(names) > 1 and any(declared[name].grouped for name in names):
                _refuse(f"{self._line(number)} packs a grouped input with another")
        for name, options in declared.items():
            if options.grouped and len(homes[name]) > 1:
                _refuse(f"{name!r} is grouped, but lies in {len(homes[name])} ciphertexts")

    def _require_outputs(self) -> None:
        if len(self.places) != len(self.outputs):
            _refuse(f"expected places of {len(self.outputs)} outputs, got {len(self.places)}")
        for output, places in zip(self.outputs, self.places, strict=True):
            if len(places) != output.count:
                _refuse(f"output {output.name!r} has {output.count} scalars, not {len(places)}")
            for place in places:
                if isinstance(place, Place) and not 0 <= place.vector < len(self.operations):
                    _refuse(
                        f"output {output.name!r} is read from %{place.vector}, which is missing"
                    )

    def __str__(self) -> str:
        lines = [f"{self.title}, {self.width} slots wide"]
        lines += [f"  {self._line(number)}" for number in range(len(self.operations))]
        for output, places in zip(self.outputs, self.places, strict=True):
            texts = [
                str(place.value) if isinstance(place, Clear) else f"%{place.vector}@{place.slot}"
                for place in places
            ]
            lines.append(f"  output {output.name} = {' '.join(texts)}")
        return "\n".join(lines)

    def _line(self, number: int) -> str:
        operation = self.operations[number]
        words = [_NAMES[type(operation)], *(f"%{vector}" for vector in vectors_of(operation))]
        match operation:
            case Packed(scalars=scalars):
                words += [f"{each.slot}:{each.input}[{each.index}]" for each in scalars]
            case Rotation(steps=steps):
                words.append(f"by {steps}")
            case Multiple(factor=factor):
                words.append(f"by {factor}")
            case Masked(factors=pairs) | Offset(addends=pairs):
                words += [f"{slot}:{integer}" for slot, integer in pairs]
            case _:
                pass
        return f"%{number} = {' '.join(words)}"


def run_in_clear(
    program: LaneProgram, rows: Mapping[int, Sequence[int]], slots: int, offsets: Sequence[int]
) -> Iterator[list[int]]:
    """The vectors of a program on integers, in order, with rotations over whole rows.

    Args:
        program: The program.
        rows: For the number of every `Packed`, the row that the client sends.
        slots: Slots of a row.
        offsets: The slot at which each evaluation starts.

    Example:
        >>> packed = Packed((PlacedScalar(0, "x", 0),))
        >>> places = ((Place(1, -1),),)
        >>> outputs = (CircuitOutput("y", (), (0,)),)
        >>> program = LaneProgram(
        ...     "moved", (CircuitInput("x"),), (packed, Rotation(0, 1)), outputs, places
        ... )
        >>> list(run_in_clear(program, {0: [5, 0, 7]}, 3, [0]))
        [[5, 0, 7], [0, 7, 5]]
    """
    values: list[list[int]] = []
    for number, operation in enumerate(program.operations):
        match operation:
            case Packed():
                row = list(rows[number])
            case VectorSum(left=left, right=right):
                row = [x + y for x, y in zip(values[left], values[right], strict=True)]
            case VectorDifference(left=left, right=right):
                row = [x - y for x, y in zip(values[left], values[right], strict=True)]
            case VectorProduct(left=left, right=right):
                row = [x * y for x, y in zip(values[left], values[right], strict=True)]
            case VectorNegative(operand=operand):
                row = [-x for x in values[operand]]
            case Rotation(operand=operand, steps=steps):
                moved = values[operand]
                row = [moved[(slot + steps) % slots] for slot in range(slots)]
            case Multiple(operand=operand, factor=factor):
                row = [factor * x for x in values[operand]]
            case Masked(operand=operand, factors=factors):
                row = [0] * slots
                for slot, factor in _repeated(factors, slots, offsets):
                    row[slot] = factor * values[operand][slot]
            case Offset(operand=operand, addends=addends):
                row = list(values[operand])
                for slot, addend in _repeated(addends, slots, offsets):
                    row[slot] += addend
        values.append(row)
        yield row


def _repeated(
    pairs: Sequence[tuple[int, int]], slots: int, offsets: Sequence[int]
) -> Iterator[tuple[int, int]]:
    for offset in offsets:
        for slot, integer in pairs:
            yield (slot + offset) % slots, integer


def _support(operation: VectorOperation, supports: Sequence[frozenset[int]]) -> frozenset[int]:
    """The slots that an operation does not leave zero."""
    match operation:
        case Packed(scalars=scalars):
            return frozenset(scalar.slot for scalar in scalars)
        case VectorSum(left=left, right=right) | VectorDifference(left=left, right=right):
            return supports[left] | supports[right]
        case VectorProduct(left=left, right=right):
            return supports[left] & supports[right]
        case Rotation(operand=operand, steps=steps):
            return frozenset(slot - steps for slot in supports[operand])
        case Masked(operand=operand, factors=factors):
            return supports[operand] & {slot for slot, factor in factors if factor}
        case Offset(operand=operand, addends=addends):
            return supports[operand] | {slot for slot, addend in addends if addend}
        case VectorNegative(operand=operand) | Multiple(operand=operand):
            return supports[operand]


_NAMES: Mapping[type[VectorOperation], str] = {
    Packed: "pack",
    VectorSum: "add",
    VectorDifference: "sub",
    VectorProduct: "mul",
    VectorNegative: "neg",
    Rotation: "rotate",
    Multiple: "scale",
    Masked: "mask",
    Offset: "offset",
}


def _refuse(reason: str) -> NoReturn:
    raise InvalidProgramError(f"cannot make the vectorised program: {reason}")
