"""Where the client puts the scalars of the inputs, so that few rotations bring them to lanes."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from cloakwork.plan.circuits.forms import Forms, InputNode
from cloakwork.plan.circuits.targets import Target
from cloakwork.programs.ir.circuits import CircuitInput

# A place where a scalar of an input is wanted: target, coefficient, lane, node.
Use: TypeAlias = tuple[int, int, int, int]

# How scalars that may lie anywhere are spread: with those that the same target wants, alone, or
# all of an input in one ciphertext.
Spread: TypeAlias = Literal["beside", "alone", "together"]

# Slots that are tried for one scalar.
_CANDIDATES = 96
# Look-ups for all scalars of a ciphertext, after which each takes the first slot.
_WORK = 600_000
# A slot in the way costs a mask, a new offset a rotation.
_CONFLICT = 0.7


@dataclass
class Homes:
    """The ciphertexts of the inputs, and from where each use takes its scalar.

    Args:
        ciphertexts: For each, the node in every slot in use.
        shared: The one place of every scalar that has only one.
        own: The place for one use, where a replicated scalar has several.
    """

    ciphertexts: list[dict[int, int]] = field(default_factory=list)
    shared: dict[int, tuple[int, int]] = field(default_factory=dict)
    own: dict[Use, tuple[int, int]] = field(default_factory=dict)

    def of(self, use: Use) -> tuple[int, int]:
        """Ciphertext and slot from which a use takes its scalar."""
        place = self.shared.get(use[3])
        return self.own[use] if place is None else place

    def new(self) -> int:
        """A further ciphertext."""
        self.ciphertexts.append({})
        return len(self.ciphertexts) - 1

    def put(self, node: int, ciphertext: int, slot: int) -> None:
        """Place a scalar that has one place."""
        self.ciphertexts[ciphertext][slot] = node
        self.shared[node] = (ciphertext, slot)


def place_inputs(
    forms: Forms, targets: Sequence[Target], spread: Spread, first: Sequence[int] = ()
) -> Homes:
    """Place every scalar that a target or an output asks for."""
    return _Placer(forms, targets, spread, first).place()


class _Placer:
    def __init__(
        self, forms: Forms, targets: Sequence[Target], spread: Spread, first: Sequence[int]
    ) -> None:
        self._first = {node: number for number, node in enumerate(first)}
        self._nodes = forms.nodes
        self._targets = targets
        self._spread = spread
        self._declared = {each.name: each for each in forms.circuit.inputs}
        self._homes = Homes()
        self._uses: dict[str, list[Use]] = {}
        for number, target in enumerate(targets):
            for lane, form in target.forms.items():
                for node, coefficient in form.terms:
                    made = self._nodes[node]
                    if isinstance(made, InputNode):
                        use = (number, coefficient, lane, node)
                        self._uses.setdefault(made.input, []).append(use)
        self._read = [
            node
            for form in forms.outputs
            for node, _ in form.terms
            if isinstance(self._nodes[node], InputNode)
        ]

    def place(self) -> Homes:
        apart: list[Use] = []
        for name, uses in self._uses.items():
            declared = self._declared[name]
            if declared.replicated:
                self._copy(uses, declared.grouped or self._spread == "together")
            elif declared.slots is not None:
                home = self._homes.new()
                for node in dict.fromkeys(use[3] for use in uses):
                    self._homes.put(node, home, self._fixed_slot(node, declared.slots))
            elif declared.grouped or self._spread == "together":
                self._align(uses, self._homes.new())
            else:
                apart += uses
        self._scatter(apart)
        self._place_outputs()
        return self._homes

    def _fixed_slot(self, node: int, slots: Sequence[int]) -> int:
        made = self._nodes[node]
        assert isinstance(made, InputNode)
        return slots[made.index]

    def _copy(self, uses: Sequence[Use], grouped: bool) -> None:
        """Copies of replicated scalars for every target, moved aside only where slots are taken."""
        homes = [self._homes.new()] if grouped else []
        # Slots that a target reads as zeros.
        zeros: dict[int, set[int]] = {home: set() for home in homes}
        # By target and coefficient, the first place for the next patch: the patches before it have
        # other scalars in the same lanes.
        next_place: dict[tuple[int, int], int] = {}
        for patch in _patches(uses):
            lanes = self._targets[patch[0][0]].forms
            first = next_place.get(patch[0][:2], 0)
            moved = {lane: node for _, _, lane, node in patch}
            fitting = (
                (place, home, offset)
                for place, home, offset in _places_to_try(homes, grouped, first)
                if zeros[home].isdisjoint(lane + offset for lane in moved)
                and _fits(self._homes.ciphertexts[home], lanes, moved, offset)
            )
            place, home, offset = next(fitting, (len(homes), -1, 0))
            if home < 0:
                home = self._homes.new()
                homes.append(home)
                zeros[home] = set()
            next_place[patch[0][:2]] = place + 1
            zeros[home] |= {lane + offset for lane in lanes} - {use[2] + offset for use in patch}
            for use in patch:
                self._homes.ciphertexts[home][use[2] + offset] = use[3]
                self._homes.own[use] = (home, use[2] + offset)

    def _scatter(self, uses: Sequence[Use]) -> None:
        """Scalars that may lie in any ciphertexts, each where it is wanted first."""
        by_node: dict[int, list[Use]] = {}
        for use in uses:
            by_node.setdefault(use[3], []).append(use)
        homes: dict[tuple[int, int], list[int]] = {}
        for node, asked in by_node.items():
            target, coefficient, lane, _ = asked[0]
            lanes = {use[2] for use in asked}
            if self._spread == "alone" and len(lanes) > 1:
                self._homes.put(node, self._homes.new(), lane)
                continue
            group = homes.setdefault((target, coefficient), [])
            for home in group:
                if lane not in self._homes.ciphertexts[home]:
                    break
            else:
                home = self._homes.new()
                group.append(home)
            self._homes.put(node, home, lane)

    def _align(self, uses: Sequence[Use], home: int) -> None:
        """One slot for each scalar of a ciphertext, so that all uses share few offsets."""
        aligner = _Aligner(self._targets, uses, self._first)
        for node, slot in aligner.align():
            self._homes.put(node, home, slot)

    def _place_outputs(self) -> None:
        """Scalars that are results themselves and that nothing else uses."""
        placed = {node for held in self._homes.ciphertexts for node in held.values()}
        homes: dict[str, int] = {}
        for node in self._read:
            made = self._nodes[node]
            assert isinstance(made, InputNode)
            declared = self._declared[made.input]
            if node in placed:
                continue
            placed.add(node)
            if made.input not in homes:
                homes[made.input] = self._home_of(made.input, declared)
            held = self._homes.ciphertexts[homes[made.input]]
            if declared.slots is not None:
                slot = declared.slots[made.index]
            else:
                # Beyond all that is there, where it is in no one's way.
                slot = 1 + max((*held, *self._lanes_in_use()), default=-1)
            if declared.replicated:
                held[slot] = node
                self._homes.own[-1, 1, 0, node] = (homes[made.input], slot)
            else:
                self._homes.put(node, homes[made.input], slot)

    def _home_of(self, name: str, declared: CircuitInput) -> int:
        if declared.grouped:
            for number, held in enumerate(self._homes.ciphertexts):
                for node in held.values():
                    made = self._nodes[node]
                    if isinstance(made, InputNode) and made.input == name:
                        return number
        return self._homes.new()

    def _lanes_in_use(self) -> Iterable[int]:
        slots = [slot for held in self._homes.ciphertexts for slot in held]
        lanes = [lane for target in self._targets for lane in target.forms]
        width = max(slots + lanes, default=0) - min(slots + lanes, default=0) + 1
        yield max(slots + lanes, default=0) + width


class _Aligner:
    """Chooses slots one scalar after the other, those wanted in most lanes first."""

    def __init__(
        self, targets: Sequence[Target], uses: Sequence[Use], first: Mapping[int, int]
    ) -> None:
        self._targets = targets
        self._first = first
        self._by_node: dict[int, list[Use]] = {}
        for use in uses:
            self._by_node.setdefault(use[3], []).append(use)
        # By class of uses, which is a target and a coefficient.
        self._wanted: dict[tuple[int, int], set[tuple[int, int]]] = {}
        for target, coefficient, lane, node in uses:
            self._wanted.setdefault((target, coefficient), set()).add((lane, node))
        self._offsets: dict[tuple[int, int], set[int]] = {each: set() for each in self._wanted}
        self._all_offsets: set[int] = set()
        self._held: dict[int, int] = {}
        # By slot, the lanes of all classes that read it by some offset.
        self._readers: dict[int, int] = {}
        self._work = 0

    def align(self) -> Iterator[tuple[int, int]]:
        last = len(self._first)
        # What one target wants next to one another, so that it moves alike.
        order = sorted(
            self._by_node,
            key=lambda node: (
                self._first.get(node, last),
                -len(self._by_node[node]),
                self._by_node[node][0],
            ),
        )
        for node in order:
            _, _, slot = min(self._candidates(node))
            self._take(node, slot)
            yield node, slot

    def _candidates(self, node: int) -> Iterator[tuple[float, int, int]]:
        """Slots to take, each after its score and its rank; none after one that costs nothing."""
        lanes = dict.fromkeys(use[2] for use in self._by_node[node])
        found: dict[int, None] = {}
        for offset in sorted(self._all_offsets | {0}, key=abs):
            for lane in lanes:
                if lane + offset not in self._held:
                    found.setdefault(lane + offset)
            if len(found) > _CANDIDATES:
                break
        if not found:
            found[max(self._held) + 1] = None
        for rank, slot in enumerate(found):
            score = self._score(node, slot)
            yield score, rank, slot
            if score == 0 or self._work > _WORK:
                return

    def _score(self, node: int, slot: int) -> float:
        new: set[int] = set()
        # Lanes that would read the scalar unasked, by the offsets that there are.
        conflicts = self._readers.get(slot, 0)
        for target, coefficient, lane, _ in self._by_node[node]:
            each = target, coefficient
            offset = slot - lane
            if offset in self._offsets[each]:
                conflicts -= 1
                continue
            if offset not in self._all_offsets:
                new.add(offset)
            lanes, wanted = self._targets[target].forms, self._wanted[each]
            self._work += len(self._held)
            for other, held in self._held.items():
                conflicts += other - offset in lanes and (other - offset, held) not in wanted
        self._work += len(self._by_node[node])
        return len(new - {0}) + _CONFLICT * conflicts

    def _take(self, node: int, slot: int) -> None:
        self._held[slot] = node
        for target, coefficient, lane, _ in self._by_node[node]:
            offset = slot - lane
            offsets = self._offsets[target, coefficient]
            if offset not in offsets:
                offsets.add(offset)
                for reader in self._targets[target].forms:
                    self._readers[reader + offset] = self._readers.get(reader + offset, 0) + 1
            self._all_offsets.add(offset)


def _patches(uses: Sequence[Use]) -> Iterator[list[Use]]:
    """Uses of one target and coefficient, with one scalar in a lane."""
    classes: dict[tuple[int, int], list[list[Use]]] = {}
    seen: Counter[tuple[int, int, int]] = Counter()
    for use in uses:
        layers = classes.setdefault((use[0], use[1]), [])
        number = seen[use[:3]]
        seen[use[:3]] += 1
        if number == len(layers):
            layers.append([])
        layers[number].append(use)
    for layers in classes.values():
        yield from layers


def _places_to_try(
    homes: Sequence[int], grouped: bool, first: int
) -> Iterator[tuple[int, int, int]]:
    """Ciphertexts and how far a patch is moved there, numbered, from a number on."""
    if not grouped:
        for place in range(first, len(homes)):
            yield place, homes[place], 0
        return
    for place in itertools.count(first):
        # 0, 1, -1, 2, -2 and so on.
        distance = (place + 1) // 2
        yield place, homes[0], distance if place % 2 else -distance


def _fits(
    held: Mapping[int, int], lanes: Mapping[int, object], patch: Mapping[int, int], offset: int
) -> bool:
    """Whether a patch finds its slots free, and the other lanes of its target read zeros."""
    for lane, node in patch.items():
        if held.get(lane + offset, node) != node:
            return False
    return all(lane in patch or lane + offset not in held for lane in lanes)
