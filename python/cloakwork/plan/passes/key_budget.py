"""Fits a program to the evaluation keys that the budget allows.

A rotation without a key of its own becomes a chain of rotations with keys; chains
of one value share what they have in common, as a tree. A linear transform some
step of which has no key is expanded: the rotations of its operand by the baby
steps are a tree, the sums of each giant step are folded along another, from its
leaves to its root (Horner's rule), and one rescale after it all serves as before.

At one end every rotation has its key, at the other only powers of two have, or
the spacings of transforms where those take fewer. Between, keys are added where
they save most work per byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from cloakwork.base.arguments import integer
from cloakwork.errors import KeyBudgetError
from cloakwork.plan.passes.rotation_paths import (
    Branch,
    RotationPaths,
    powers_of_two,
    rotation_paths,
    rotation_tree,
)
from cloakwork.programs.bsgs import HOISTED, Split, split
from cloakwork.programs.keys import KeyRequirements, required_keys
from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    Linear,
    Mul,
    Rotate,
    SlotProgram,
    Vector,
)
from cloakwork.runtime.transform_groups import transform_sums

_MOST_BYTES = 2**63 - 1


def within_key_budget(
    program: SlotProgram, key_bytes_at: Callable[[int], int], budget: int | None
) -> SlotProgram:
    """A program of the same outputs whose evaluation keys fit the budget.

    Example:
        >>> from cloakwork.programs.slots import Input, Output
        >>> program = SlotProgram(
        ...     "turn", 64, (Input("x", 0), Rotate(0, 3), Rotate(0, 4), Rotate(0, 7), Output(3)),
        ...     (None,) * 5)
        >>> print(within_key_budget(program, lambda level: 10, 20))
        turn, 64 slots
          %0 = input x              level 0
          %1 = rotate %0 by 4       level 0
          %2 = rotate %1 by 63      level 0
          %3 = rotate %2 by 4       level 0
          %4 = output %3            level 0
    """
    wanted = required_keys(program)
    if budget is None:
        return program
    budget = integer(budget, "budget", "plan within a key budget", least=0, most=_MOST_BYTES)
    if wanted.nbytes(key_bytes_at) <= budget:
        return program
    powers, spacings = _all_powers(program), _spacings(program)
    both = powers.joined(spacings)
    choice = min(
        (
            _choose(program, _Keys(program.slots, powers.rotations)),
            _choose(program, _Keys(program.slots, both.rotations, spacings.rotations)),
        ),
        key=lambda choice: _demand(choice, program, wanted).nbytes(key_bytes_at),
    )
    held = _demand(choice, program, wanted)
    smallest = min(held.nbytes(key_bytes_at), wanted.nbytes(key_bytes_at))
    if smallest > budget:
        raise KeyBudgetError(
            f"cannot plan {program.title} within {budget} bytes of evaluation keys: it takes "
            f"{smallest} at least; allow {smallest} bytes or more",
            smallest,
        )
    savings = _savings(program, choice, held, key_bytes_at)
    while True:
        added = _affordable(savings, held, key_bytes_at, budget)
        if not added:
            return _rewritten(program, choice)
        for saving in added:
            held = held.joined(saving.keys)
            savings.remove(saving)
        choice = _choose(program, _Keys(program.slots, held.rotations, held.rotations))
        # What the new keys make idle gives its bytes back.
        held = _demand(choice, program, wanted)


def powers_of_two_only(program: SlotProgram) -> SlotProgram:
    """A program of the same outputs that rotates by powers of two to either side only.

    Example:
        >>> from cloakwork.programs.slots import Input, Output
        >>> program = SlotProgram("", 64, (Input("x", 0), Rotate(0, 60), Output(1)), (None,) * 3)
        >>> required_keys(powers_of_two_only(program)).rotations
        {60: 0}
    """
    keys = _Keys(program.slots, _all_powers(program).rotations)
    return _rewritten(program, _choose(program, keys))


def with_keys(program: SlotProgram, levels: Mapping[int, int]) -> SlotProgram | None:
    """A program of the same outputs that rotates by the keys given only.

    Example:
        >>> from cloakwork.programs.slots import Input, Output
        >>> program = SlotProgram("", 64, (Input("x", 0), Rotate(0, 5), Output(1)), (None,) * 3)
        >>> sorted(required_keys(with_keys(program, {1: 0, 4: 0})).rotations)
        [1, 4]
        >>> with_keys(program, {4: 0}) is None
        True
    """
    keys = _Keys(program.slots, levels, levels)
    if not all(
        _is_within_reach(operation, keys, _level(program, number))
        for number, operation in enumerate(program.operations)
        if isinstance(operation, Rotate | Linear)
    ):
        return None
    return _rewritten(program, _choose(program, keys))


def _is_within_reach(operation: Rotate | Linear, keys: _Keys, level: int) -> bool:
    paths = keys.paths(level)
    if isinstance(operation, Rotate):
        return paths.reach([operation.steps])
    return any(paths.reach(each.baby + each.giant) for each in _splits(operation, keys.slots))


def _all_powers(program: SlotProgram) -> KeyRequirements:
    return KeyRequirements(None, dict.fromkeys(powers_of_two(program.slots), program.top_level))


def _spacings(program: SlotProgram) -> KeyRequirements:
    """One key for the baby steps and one for the giant steps of each linear transform.

    From them every step of a regular transform is made in turn.
    """
    demand = KeyRequirements()
    for number, operation in enumerate(program.operations):
        if isinstance(operation, Linear):
            own = split(operation.diagonals, program.slots, operation.baby_steps)
            steps = _spacings_of(own, program.slots)
            demand = demand.joined(
                KeyRequirements(None, dict.fromkeys(steps, _level(program, number)))
            )
    return demand


def _spacings_of(own: Split, slots: int) -> list[int]:
    spacings = []
    for steps in (own.baby, own.giant):
        if steps:
            gaps, counts = np.unique(np.diff([0, *steps, slots]), return_counts=True)
            gap = int(gaps[counts.argmax()])
            # Steps that begin elsewhere are those that lead up to a full turn.
            spacings.append(gap if gap in steps else slots - gap)
    return spacings


@dataclass(frozen=True, slots=True)
class _Expansion:
    """How a linear transform is computed by rotations, products and sums."""

    split: Split
    giants: Mapping[int, Branch]


@dataclass(frozen=True, slots=True)
class _Choice:
    """How each rotation is made.

    Args:
        kept: Linear transforms that stay, split anew.
        expanded: Linear transforms that do not.
        trees: By value, the rotations of it.
    """

    kept: Mapping[int, Split]
    expanded: Mapping[int, _Expansion]
    trees: Mapping[int, Mapping[int, Branch]]


class _Keys:
    """The keys at hand, the favoured or used among them, and the ways that they open."""

    def __init__(self, slots: int, levels: Mapping[int, int], favoured: Iterable[int] = ()) -> None:
        self.slots = slots
        self._levels = levels
        self._paths = cache(rotation_paths)
        self.used = set(favoured)

    def at(self, level: int) -> frozenset[int]:
        return frozenset(step for step, top in self._levels.items() if top >= level)

    def paths(self, level: int) -> RotationPaths:
        return self._paths(self.slots, self.at(level))

    def tree(self, targets: Iterable[int], level: int) -> dict[int, Branch]:
        return rotation_tree(set(targets), self.paths(level), self.used & self.at(level))


def _choose(program: SlotProgram, keys: _Keys) -> _Choice:
    kept: dict[int, Split] = {}
    expanded: dict[int, _Expansion] = {}
    offsets: dict[int, set[int]] = {}
    summed = {n: len(each.transforms) for each in transform_sums(program) for n in each.transforms}
    for number, operation in enumerate(program.operations):
        if isinstance(operation, Rotate):
            offsets.setdefault(operation.operand, set()).add(operation.steps)
        elif isinstance(operation, Linear):
            level = _level(program, number)
            chosen = _cheapest(operation, keys, level, summed.get(number, 1))
            if isinstance(chosen, Split):
                kept[number] = chosen
                keys.used |= {*chosen.baby, *chosen.giant}
            else:
                expanded[number] = chosen
                keys.used |= {branch.step for branch in chosen.giants.values()}
                offsets.setdefault(operation.operand, set()).update(chosen.split.baby)
    trees: dict[int, Mapping[int, Branch]] = {}
    for value, targets in offsets.items():
        trees[value] = keys.tree(targets, _level(program, value))
        keys.used |= {branch.step for branch in trees[value].values()}
    return _Choice(kept, expanded, trees)


def _level(program: SlotProgram, value: int) -> int:
    level = program.states[value].level
    assert level is not None
    return level


def _splits(linear: Linear, slots: int) -> list[Split]:
    """The transform's own split, those with its baby steps halved or doubled, and by powers."""
    widths = {linear.baby_steps, *(1 << bits for bits in range(slots.bit_length()))}
    width = linear.baby_steps
    while width % 2 == 0:
        width //= 2
        widths.add(width)
    width = linear.baby_steps
    while 2 * width <= slots:
        width *= 2
        widths.add(width)
    return [split(linear.diagonals, slots, width) for width in sorted(widths)]


def _cheapest(linear: Linear, keys: _Keys, level: int, summed: int) -> Split | _Expansion:
    """How a transform is made that so many, itself among them, are summed with."""

    def cost_of(choice: Split) -> float:
        return HOISTED * len(choice.baby) + len(choice.giant) / summed

    at_hand = keys.at(level)
    splits = _splits(linear, keys.slots)
    whole = [choice for choice in splits if at_hand.issuperset(choice.baby + choice.giant)]
    best: Split | _Expansion | None = min(whole, key=cost_of, default=None)
    least = cost_of(best) if isinstance(best, Split) else float("inf")
    paths = keys.paths(level)
    for choice in sorted(splits, key=cost_of):
        # An expansion rotates at least once for each step.
        if cost_of(choice) >= least:
            break
        if not paths.reach(choice.baby + choice.giant):
            continue
        babies, giants = keys.tree(choice.baby, level), keys.tree(choice.giant, level)
        cost = _rotations(babies) + len(giants)
        if cost < least:
            best, least = _Expansion(choice, giants), cost
    assert best is not None
    return best


def _rotations(tree: Mapping[int, Branch]) -> float:
    """The work of a tree in full rotations; those of one value are hoisted."""
    parents = {branch.parent for branch in tree.values()}
    return len(parents) + HOISTED * (len(tree) - len(parents))


def _demand(choice: _Choice, program: SlotProgram, wanted: KeyRequirements) -> KeyRequirements:
    demand = KeyRequirements(wanted.relinearisation_level)
    branches = [
        *choice.trees.items(),
        *((number, expansion.giants) for number, expansion in choice.expanded.items()),
    ]
    for value, tree in branches:
        steps = [branch.step for branch in tree.values()]
        demand = demand.joined(KeyRequirements(None, dict.fromkeys(steps, _level(program, value))))
    for number, chosen in choice.kept.items():
        steps = [*chosen.baby, *chosen.giant]
        demand = demand.joined(KeyRequirements(None, dict.fromkeys(steps, _level(program, number))))
    return demand


@dataclass(frozen=True, slots=True)
class _Saving:
    """What certain keys save, in rotations times the bytes of a key at their level.

    The work of a rotation grows with the level as its key does.
    """

    keys: KeyRequirements
    gain: float


def _savings(
    program: SlotProgram, choice: _Choice, held: KeyRequirements, key_bytes_at: Callable[[int], int]
) -> list[_Saving]:
    gains: dict[tuple[tuple[int, ...], int], float] = {}

    def save(steps: Iterable[int], level: int, rotations: float) -> None:
        key = (tuple(sorted(set(steps))), level)
        gains[key] = gains.get(key, 0.0) + rotations * key_bytes_at(level)

    keys = _Keys(program.slots, held.rotations)

    # Layers of one shape have transforms that differ in nothing but their weights.
    @cache
    def of_transform(
        own: Split, babies: tuple[int, ...], giants: int, level: int
    ) -> list[tuple[list[int], float]]:
        rotations = _rotations(keys.tree(babies, level)) + giants
        found = [([*own.baby, *own.giant], rotations - own.cost)]
        spacings = _spacings_of(own, program.slots)
        for steps in (spacings, [*spacings, *own.baby]):
            levels = held.joined(KeyRequirements(None, dict.fromkeys(steps, level))).rotations
            more = _Keys(program.slots, levels, levels)
            if more.paths(level).reach(own.baby + own.giant):
                trees = more.tree(own.baby, level), more.tree(own.giant, level)
                found.append((steps, rotations - _rotations(trees[0]) - len(trees[1])))
        return found

    for number, operation in enumerate(program.operations):
        if isinstance(operation, Rotate):
            level = _level(program, number)
            save([operation.steps], level, keys.paths(level).lengths[operation.steps] - 1.0)
    for number, expansion in choice.expanded.items():
        linear = program.operations[number]
        assert isinstance(linear, Linear)
        level = _level(program, number)
        own = split(linear.diagonals, program.slots, linear.baby_steps)
        for steps, saved in of_transform(own, expansion.split.baby, len(expansion.giants), level):
            save(steps, level, saved)
    return [
        _Saving(KeyRequirements(None, dict.fromkeys(steps, level)), gain)
        for (steps, level), gain in gains.items()
        if gain > 0
    ]


def _affordable(
    savings: Sequence[_Saving],
    held: KeyRequirements,
    key_bytes_at: Callable[[int], int],
    budget: int,
) -> list[_Saving]:
    """Savings that fit beside what is held, the greatest per further byte first."""
    left = list(savings)
    taken: list[_Saving] = []
    while True:
        used = held.nbytes(key_bytes_at)
        further = [
            (held.joined(saving.keys).nbytes(key_bytes_at) - used, saving) for saving in left
        ]
        fitting = [(extra, saving) for extra, saving in further if used + extra <= budget]
        if not fitting:
            return taken
        _, best = max(fitting, key=lambda pair: pair[1].gain / max(pair[0], 1))
        taken.append(best)
        left.remove(best)
        held = held.joined(best.keys)


def _rewritten(program: SlotProgram, choice: _Choice) -> SlotProgram:
    builder = Builder(program.title, program.slots, program.numbers)
    layouts = {
        (operation.operand, operation.steps): layout
        for operation, layout in zip(program.operations, program.layouts, strict=True)
        if isinstance(operation, Rotate)
    }
    # The number of each value in the new program, by its number and rotation in the old one.
    place: dict[tuple[int, int], int] = {}

    def turn(value: int) -> None:
        for offset, branch in choice.trees[value].items():
            if (value, offset) not in place:
                rotation = Rotate(place[value, branch.parent], branch.step)
                place[value, offset] = builder.append(rotation, layouts.get((value, offset)))

    for number, operation in enumerate(program.operations):
        builder.origin, builder.stage = program.origins[number], program.stages[number]
        if isinstance(operation, Rotate):
            turn(operation.operand)
            place[number, 0] = place[operation.operand, operation.steps]
        elif isinstance(operation, Linear) and number in choice.expanded:
            if operation.operand in choice.trees:
                turn(operation.operand)
            made = _expanded(builder, operation, choice.expanded[number], place)
            place[number, 0] = made
        else:
            moved = operation.with_operands([place[value, 0] for value in operation.operands])
            if isinstance(moved, Linear):
                moved = replace(moved, baby_steps=choice.kept[number].baby_steps)
            place[number, 0] = builder.append(moved, program.layouts[number])
    return builder.finish()


def _expanded(
    builder: Builder,
    linear: Linear,
    expansion: _Expansion,
    place: Mapping[tuple[int, int], int],
) -> int:
    """The sum over giant steps g of the rotation by g of the sum over their diagonals."""
    sums: dict[int, int] = {}

    def add(giant: int, value: int) -> None:
        sums[giant] = builder.append(Add(sums[giant], value)) if giant in sums else value

    for number, diagonal in linear.diagonals.items():
        baby = number % expansion.split.baby_steps
        giant = (number - baby) % builder.slots
        factor: Vector = np.roll(diagonal, giant)
        rotated = place[linear.operand, baby]
        add(giant, builder.append(Mul(rotated, builder.append(Constant(factor)))))
    for giant, branch in reversed(list(expansion.giants.items())):
        add(branch.parent, builder.append(Rotate(sums[giant], branch.step)))
    return sums[0]
