"""What linear transforms have of others that are made with them, and so do not take themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from cloakwork.programs.bsgs import baby_steps_of, split
from cloakwork.programs.slots import Linear, SlotProgram
from cloakwork.runtime.transform_groups import TransformSum, sums_among, transform_groups


@dataclass(frozen=True, slots=True)
class Shared:
    """What a transform need not do.

    Args:
        baby: Baby steps of its operand that another makes.
        giant: Giant steps that another of its sum makes.
        ends: Whether another of its sum ends it, by a division.
    """

    baby: int
    giant: int
    ends: bool

    @property
    def rotations(self) -> int:
        """Rotations that others make."""
        return self.baby + self.giant


# Programs are priced and explained stage by stage.
_found: WeakKeyDictionary[SlotProgram, Mapping[int, Shared]] = WeakKeyDictionary()


def shared_rotations(program: SlotProgram) -> Mapping[int, Shared]:
    """What transforms of a program have of others, by their numbers; nothing for one alone.

    Example:
        >>> import numpy as np
        >>> from cloakwork.programs.slots import Add, Input
        >>> ones = dict.fromkeys(range(4), np.ones(8))
        >>> operations = (Input("x", 1), Input("y", 1), Linear(0, ones, 2), Linear(1, ones, 2),
        ...     Add(2, 3))
        >>> shared_rotations(SlotProgram("", 8, operations, (None,) * 5))[3]
        Shared(baby=0, giant=1, ends=True)
    """
    found = _found.get(program)
    if found is None:
        found = {}
        for group in transform_groups(program):
            found.update(_shared(program, sums_among(program, group)))
        _found[program] = found
    return found


def _shared(program: SlotProgram, sums: list[TransformSum]) -> dict[int, Shared]:
    found: dict[int, Shared] = {}
    babies: set[tuple[int, int, frozenset[int]]] = set()
    for each in sums:
        giants: set[int] = set()
        for number in each.transforms:
            linear = program.operations[number]
            assert isinstance(linear, Linear)
            steps = split(linear.diagonals, program.slots, linear.baby_steps)
            all_steps = baby_steps_of(linear.diagonals, linear.baby_steps)
            key = (linear.operand, linear.baby_steps, all_steps)
            found[number] = Shared(
                len(steps.baby) if key in babies else 0,
                len(giants.intersection(steps.giant)),
                number != each.transforms[0],
            )
            babies.add(key)
            giants.update(steps.giant)
    return found
