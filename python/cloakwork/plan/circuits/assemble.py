"""Schedules as lane programs: every vector asked for is made by rotations, sums and masks.

A vector is made from what lies in others by rotating them so that their slots come to the lanes
where they are wanted, and adding. What comes along is harmless where nothing is wanted, or
where it is zero; otherwise it is masked, before the rotations, after them, or after the sum.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from cloakwork.plan.circuits.cost import LaneCosts, lane_cost
from cloakwork.plan.circuits.forms import Forms, InputNode, IntegerForm, ProductNode
from cloakwork.plan.circuits.inputs import Homes, Spread, place_inputs
from cloakwork.plan.circuits.rotation_sums import cheapest_sum, emit, rotations
from cloakwork.plan.circuits.targets import LaneSchedule, Target, targets_of
from cloakwork.programs.ir.vectors import (
    Clear,
    LaneProgram,
    MaskedLanes,
    Multiple,
    Offset,
    PackedLanes,
    Place,
    PlacedScalar,
    support,
)
from cloakwork.programs.operations import Add, Mul, Neg, Operation, Rotate, Sub
from cloakwork.programs.vectors import VectorTable

# By coefficient: lanes where slots of a vector are wanted, and how far from there they lie.
_Classes: TypeAlias = tuple[tuple[int, tuple[tuple[int, int], ...]], ...]


@dataclass(frozen=True, slots=True)
class Assembled:
    """The operations of a schedule, all of them needed, and where the results lie."""

    operations: tuple[Operation, ...]
    places: tuple[Place | Clear, ...]

    def cost(self, costs: LaneCosts) -> float:
        """What the operations cost."""
        return lane_cost(self.operations, costs)

    def program(self, forms: Forms) -> LaneProgram:
        """The operations as a program; slots count from 0 unless the caller fixes some."""
        circuit = forms.circuit
        is_fixed = any(each.slots is not None for each in circuit.inputs)
        first = 0 if is_fixed else min(self._slots(), default=0)
        places = iter(self.places)
        return LaneProgram(
            circuit.title,
            circuit.inputs,
            tuple(_moved(operation, -first) for operation in self.operations),
            circuit.outputs,
            tuple(
                tuple(_moved_place(next(places), -first) for _ in output.values)
                for output in circuit.outputs
            ),
        )

    def _slots(self) -> Iterator[int]:
        for place in self.places:
            if isinstance(place, Place):
                yield place.slot
        for operation in self.operations:
            match operation:
                case PackedLanes(scalars=scalars):
                    yield from (scalar.slot for scalar in scalars)
                case MaskedLanes(integers=pairs) | Offset(integers=pairs):
                    yield from (slot for slot, _ in pairs)
                case _:
                    pass


def _moved_place(place: Place | Clear, by: int) -> Place | Clear:
    return Place(place.vector, place.slot + by) if isinstance(place, Place) else place


def _moved(operation: Operation, by: int) -> Operation:
    match operation:
        case PackedLanes(scalars=scalars):
            return PackedLanes(tuple(replace(scalar, slot=scalar.slot + by) for scalar in scalars))
        case MaskedLanes(integers=pairs) | Offset(integers=pairs):
            return replace(operation, integers=tuple((slot + by, each) for slot, each in pairs))
        case _:
            return operation


def assemble(forms: Forms, schedule: LaneSchedule, spread: Spread, costs: LaneCosts) -> Assembled:
    """Make every vector of a schedule."""
    asked = targets_of(forms, schedule)
    targets = [target for each in asked for target in each]
    homes = place_inputs(forms, targets, spread, schedule.first)
    return _Assembler(forms, schedule, homes, costs).assemble(asked)


class _Assembler:
    def __init__(
        self, forms: Forms, schedule: LaneSchedule, homes: Homes, costs: LaneCosts
    ) -> None:
        # In rotations; a mask takes a level too.
        self._hoisted = costs.hoisted / costs.rotation
        self._mask = costs.mask / costs.rotation + costs.level
        self._forms = forms
        self._schedule = schedule
        self._homes = homes
        self._operations: list[Operation] = []
        self._numbers: dict[tuple[Hashable, ...], int] = {}
        self._vectors = VectorTable()
        self._supports: list[frozenset[int]] = []
        self._made: dict[int, tuple[int, int]] = {}
        self._ciphertexts = [self._packed(held) for held in homes.ciphertexts]

    def assemble(self, asked: Sequence[tuple[Target, ...]]) -> Assembled:
        number = 0
        for pack, targets in zip(self._schedule.packs, asked, strict=True):
            vectors = []
            for target in targets:
                vectors.append(self._vector(number, target))
                number += 1
            made = vectors[0]
            if isinstance(self._forms.nodes[pack[0]], ProductNode):
                made = self._append(Mul(vectors[0], vectors[-1]))
            for member in pack:
                self._made[member] = (made, self._schedule.lanes[member])
        places = [self._place(form) for form in self._forms.outputs]
        return _needed(self._operations, places)

    def _place(self, form: IntegerForm) -> Place | Clear:
        if not form.terms:
            return Clear(form.constant)
        node = form.terms[0][0]
        if node in self._made:
            return Place(*self._made[node])
        for ciphertext, held in enumerate(self._homes.ciphertexts):
            for slot, other in held.items():
                if other == node:
                    return Place(self._ciphertexts[ciphertext], slot)
        raise AssertionError("every output is placed")

    def _packed(self, held: Mapping[int, int]) -> int:
        scalars: list[PlacedScalar] = []
        for slot in sorted(held):
            node = self._forms.nodes[held[slot]]
            assert isinstance(node, InputNode)
            scalars.append(PlacedScalar(slot, node.input, node.index))
        return self._append(PackedLanes(tuple(scalars)))

    def _vector(self, number: int, target: Target) -> int:
        """The vector of a target."""
        sources: dict[int, dict[int, list[tuple[int, int]]]] = {}
        for lane, form in target.forms.items():
            for node, coefficient in form.terms:
                if node in self._made:
                    vector, slot = self._made[node]
                else:
                    home, slot = self._homes.of((number, coefficient, lane, node))
                    vector = self._ciphertexts[home]
                entries = sources.setdefault(vector, {}).setdefault(coefficient, [])
                entries.append((lane, slot - lane))
        # What moves alike is added up before it moves.
        alike: dict[_Classes, list[int]] = {}
        for vector, classes in sources.items():
            moves = tuple((each, tuple(entries)) for each, entries in classes.items())
            alike.setdefault(moves, []).append(vector)
        positive: list[int] = []
        negative: list[int] = []
        for moves, vectors in alike.items():
            vector = self._total(sorted(vectors), ())
            for sign, part in self._parts(vector, moves, target.forms):
                (positive if sign > 0 else negative).append(part)
        total = self._total(positive, negative)
        addends = tuple(
            (lane, form.constant) for lane, form in sorted(target.forms.items()) if form.constant
        )
        return self._append(Offset(total, addends)) if addends else total

    def _total(self, positive: Sequence[int], negative: Sequence[int]) -> int:
        if not positive:
            return self._append(Neg(self._total(negative, ())))
        total = positive[0]
        for part in positive[1:]:
            total = self._append(Add(total, part))
        for part in negative:
            total = self._append(Sub(total, part))
        return total

    def _parts(
        self,
        vector: int,
        classes: _Classes,
        lanes: Iterable[int],
    ) -> list[tuple[int, int]]:
        """What one vector adds to a target, as signs and vectors."""
        parts: list[tuple[int, int]] = []
        for coefficient, entries in classes:
            sign = 1 if coefficient > 0 else -1
            part = self._gathered(vector, entries, lanes, abs(coefficient))
            parts.append((sign, part))
        return parts

    def _gathered(
        self,
        vector: int,
        entries: Sequence[tuple[int, int]],
        lanes: Iterable[int],
        factor: int,
    ) -> int:
        """The slots of a vector brought to lanes, times a factor; zero in the other lanes."""
        support = self._supports[vector]
        by_offset: dict[int, set[int]] = {}
        for lane, offset in entries:
            by_offset.setdefault(offset, set()).add(lane)
        in_the_way = {
            offset: [lane for lane in lanes if lane + offset in support and lane not in wanted]
            for offset, wanted in by_offset.items()
        }
        garbage = sorted(offset for offset, found in in_the_way.items() if found)
        clean = tuple(sorted(offset for offset in by_offset if not in_the_way[offset]))
        if not garbage:
            return self._multiple(self._summed(vector, clean), factor)
        everything = tuple(sorted(by_offset))
        ways: list[tuple[float, int]] = [
            (
                self._rotations(clean)
                + self._rotations(tuple(garbage))
                + self._mask * len(garbage),
                0,
            )
        ]
        wanted_lanes = {lane for lane, _ in entries}
        if all(wanted_lanes.isdisjoint(found) for found in in_the_way.values()):
            ways.append((self._rotations(everything) + self._mask, 1))
        used = {lane + offset for lane, offset in entries}
        if not any(
            lane + offset in used and lane not in wanted
            for offset, wanted in by_offset.items()
            for lane in lanes
        ):
            ways.append((self._rotations(everything) + self._mask, 2))
        way = min(ways)[1]
        if way == 1:
            pairs = tuple((lane, factor) for lane in sorted(wanted_lanes))
            return self._append(MaskedLanes(self._summed(vector, everything), pairs))
        if way == 2:
            pairs = tuple((slot, factor) for slot in sorted(used))
            return self._summed(self._append(MaskedLanes(vector, pairs)), everything)
        parts = [self._multiple(self._summed(vector, clean), factor)] if clean else []
        for offset in garbage:
            pairs = tuple((lane, factor) for lane in sorted(by_offset[offset]))
            parts.append(self._append(MaskedLanes(self._rotated(vector, offset), pairs)))
        return self._total(parts, ())

    def _rotations(self, offsets: tuple[int, ...]) -> float:
        return rotations(offsets, self._hoisted) if offsets else 0.0

    def _summed(self, vector: int, offsets: tuple[int, ...]) -> int:
        return emit(
            cheapest_sum(offsets, self._hoisted),
            vector,
            self._rotated,
            lambda left, right: self._append(Add(left, right)),
        )

    def _rotated(self, vector: int, offset: int) -> int:
        return self._append(Rotate(vector, offset)) if offset else vector

    def _multiple(self, vector: int, factor: int) -> int:
        return vector if factor == 1 else self._append(Multiple(vector, factor))

    def _append(self, operation: Operation) -> int:
        same = (operation.kind, operation.operands, operation.identity(self._vectors))
        number = self._numbers.get(same)
        if number is None:
            number = self._numbers[same] = len(self._operations)
            self._operations.append(operation)
            self._supports.append(support(operation, self._supports))
        return number


def _needed(operations: Sequence[Operation], places: Sequence[Place | Clear]) -> Assembled:
    """The operations that the places are computed from."""
    needed = {place.vector for place in places if isinstance(place, Place)}
    for number in range(len(operations) - 1, -1, -1):
        if number in needed:
            needed.update(operations[number].operands)
    renumbered: dict[int, int] = {}
    kept: list[Operation] = []
    for number in sorted(needed):
        renumbered[number] = len(kept)
        operation = operations[number]
        kept.append(operation.with_operands([renumbered[each] for each in operation.operands]))
    moved = tuple(
        Place(renumbered[place.vector], place.slot) if isinstance(place, Place) else place
        for place in places
    )
    return Assembled(tuple(kept), moved)
