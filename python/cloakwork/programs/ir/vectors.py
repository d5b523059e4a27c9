"""Lane programs: what a scalar circuit becomes, operations on vectors with a scalar per slot.

A program says which scalar the client puts in which slot, how vectors are computed from them,
and in which slot every scalar of a result ends up. It knows neither levels nor the length of a
row; slots count from 0. Its operations are those of slot programs (`Add`, `Sub`, `Mul`, `Neg`, and
`Rotate`, whose steps may be negative here) and four of its own. After `Rotate` by k, slot i holds
what slot i + k held, cyclically over the whole row, so a program is right on any row of `width`
slots or more, and b evaluations at once, each `width` slots after the one before, on a row of
b * `width` slots or more.

What a slot of an input does not hold is zero there, and stays so through sums and products;
slots that no result is read from may hold anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NoReturn

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.ir.circuits import CircuitInput, CircuitOutput
from cloakwork.programs.operations import Add, Mul, Neg, Operation, Rotate, Sub
from cloakwork.programs.operations.base import Numbers, OfOne


@dataclass(frozen=True, slots=True)
class PlacedScalar:
    """A scalar of an input, by its number in order, in a slot of a ciphertext."""

    slot: int
    input: str
    index: int


@dataclass(frozen=True, slots=True, eq=False)
class PackedLanes(Operation):
    """A ciphertext from the client with these scalars, zero in all other slots."""

    kind: ClassVar[str] = "pack"
    over: ClassVar[tuple[Numbers, ...]] = ()

    scalars: tuple[PlacedScalar, ...]

    def summary(self) -> str:
        return " ".join(f"{each.slot}:{each.input}[{each.index}]" for each in self.scalars)


@dataclass(frozen=True, slots=True, eq=False)
class Multiple(OfOne):
    """The operand times one clear integer in every slot."""

    kind: ClassVar[str] = "scale"
    over: ClassVar[tuple[Numbers, ...]] = ()

    wording: ClassVar[str] = "by {factor}"

    factor: int


@dataclass(frozen=True, slots=True, eq=False)
class _WithVector(OfOne):
    """A clear vector beside the operand: (slot, integer) in order of slots, 0 in the others."""

    over: ClassVar[tuple[Numbers, ...]] = ()

    integers: tuple[tuple[int, int], ...]

    @property
    def nonzero(self) -> set[int]:
        """The slots in which the clear vector is not 0."""
        return {slot for slot, integer in self.integers if integer}

    def summary(self) -> str:
        return " ".join(f"{slot}:{integer}" for slot, integer in self.integers)


class MaskedLanes(_WithVector):
    """The operand times a clear vector."""

    __slots__ = ()
    kind: ClassVar[str] = "mask"


class Offset(_WithVector):
    """The operand plus a clear vector."""

    __slots__ = ()
    kind: ClassVar[str] = "offset"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a scalar of a result lies: a vector, and a slot of it."""

    vector: int
    slot: int


@dataclass(frozen=True, slots=True)
class Clear:
    """A scalar of a result that depends on no input."""

    value: int


@dataclass(frozen=True, eq=False)
class LaneProgram:
    """A legal list of operations, of which number k makes vector k, for inputs of a circuit.

    The places say where the scalars of each output lie, in order, and the supports which slots of
    every vector are not known to be zero.

    Raises:
        InvalidProgramError: The operations or the places are not legal; the message says why.
    """

    title: str
    inputs: tuple[CircuitInput, ...]
    operations: tuple[Operation, ...]
    outputs: tuple[CircuitOutput, ...]
    places: tuple[tuple[Place | Clear, ...], ...]
    supports: tuple[frozenset[int], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        supports: list[frozenset[int]] = []
        for number, operation in enumerate(self.operations):
            if any(not 0 <= vector < number for vector in operation.operands):
                _refuse(f"{operation.line(number)} uses a vector that is not before it")
            if isinstance(operation, Rotate) and operation.steps == 0:
                _refuse(f"{operation.line(number)} does not move")
            supports.append(support(operation, supports))
        object.__setattr__(self, "supports", tuple(supports))
        self._require_placement()
        self._require_outputs()

    @property
    def counts(self) -> Counter[str]:
        """How many operations of each kind it has."""
        return Counter(operation.kind for operation in self.operations)

    @cached_property
    def width(self) -> int:
        """The slots that one evaluation takes, from which another may start.

        A slot that a result depends on may receive from no slot as far as this.
        """
        reach = 0
        for slots, support in zip(self._needed(), self.supports, strict=True):
            if slots and support:
                reach = max(reach, max(support) - min(slots), max(slots) - min(support))
        return reach + 1

    def _needed(self) -> list[set[int]]:
        """The slots of every vector that results depend on, known zeros included."""
        needed: list[set[int]] = [set() for _ in self.operations]
        for place in (place for places in self.places for place in places):
            if isinstance(place, Place):
                needed[place.vector].add(place.slot)
        for operation, slots in zip(reversed(self.operations), reversed(needed), strict=True):
            match operation:
                case Rotate(operand=operand, steps=steps):
                    needed[operand] |= {slot + steps for slot in slots}
                case MaskedLanes(operand=operand):
                    needed[operand] |= slots & operation.nonzero
                case Mul(left=left, right=right):
                    # A factor that is zero settles the slot.
                    by_left = slots - self.supports[left]
                    by_right = slots - by_left - self.supports[right]
                    needed[left] |= slots - by_right
                    needed[right] |= slots - by_left
                case _:
                    for vector in operation.operands:
                        needed[vector] |= slots
        return needed

    def _require_placement(self) -> None:
        declared = {each.name: each for each in self.inputs}
        ciphertexts: Counter[str] = Counter()
        placed: set[tuple[str, int]] = set()
        for number, operation in enumerate(self.operations):
            if not isinstance(operation, PackedLanes):
                continue
            slots = [scalar.slot for scalar in operation.scalars]
            if len(set(slots)) != len(slots):
                _refuse(f"{operation.line(number)} places two scalars in one slot")
            for scalar in operation.scalars:
                options = declared.get(scalar.input)
                if options is None or not 0 <= scalar.index < options.count:
                    _refuse(f"{operation.line(number)} places a scalar that no input has")
                if (scalar.input, scalar.index) in placed and not options.replicated:
                    _refuse(f"{scalar.input!r} is not replicated, but a scalar lies in two slots")
                if options.slots is not None and options.slots[scalar.index] != scalar.slot:
                    _refuse(f"{scalar.input!r} does not lie in the slots asked for")
                placed.add((scalar.input, scalar.index))
            names = {scalar.input for scalar in operation.scalars}
            if len(names) > 1 and any(declared[name].grouped for name in names):
                _refuse(f"{operation.line(number)} packs a grouped input with another")
            ciphertexts.update(names)
        for name, count in ciphertexts.items():
            if declared[name].grouped and count > 1:
                _refuse(f"{name!r} is grouped, but lies in {count} ciphertexts")

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
        lines += [f"  {each.line(number)}" for number, each in enumerate(self.operations)]
        for output, places in zip(self.outputs, self.places, strict=True):
            texts = [
                str(place.value) if isinstance(place, Clear) else f"%{place.vector}@{place.slot}"
                for place in places
            ]
            lines.append(f"  output {output.name} = {' '.join(texts)}")
        return "\n".join(lines)


def support(operation: Operation, supports: Sequence[frozenset[int]]) -> frozenset[int]:
    """The slots that an operation does not leave zero."""
    match operation:
        case PackedLanes(scalars=scalars):
            return frozenset(scalar.slot for scalar in scalars)
        case Add(left=left, right=right) | Sub(left=left, right=right):
            return supports[left] | supports[right]
        case Mul(left=left, right=right):
            return supports[left] & supports[right]
        case Rotate(operand=operand, steps=steps):
            return frozenset(slot - steps for slot in supports[operand])
        case MaskedLanes(operand=operand):
            return supports[operand] & operation.nonzero
        case Offset(operand=operand):
            return supports[operand] | operation.nonzero
        case Neg(operand=operand) | Multiple(operand=operand):
            return supports[operand]
        case _:
            raise InvalidProgramError(f"cannot use {operation.kind}: vectorised programs have none")


def _refuse(reason: str) -> NoReturn:
    raise InvalidProgramError(f"cannot make the vectorised program: {reason}")
