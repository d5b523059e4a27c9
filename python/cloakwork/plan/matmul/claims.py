"""What users say of the numbers of matrices on the way, and what bounds follow from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cloakwork.plan.passes import followed as passes
from cloakwork.programs.activation_range import ActivationRange
from cloakwork.programs.matrices import BlockLayout
from cloakwork.programs.slots import SlotProgram, Vector


@dataclass(frozen=True, slots=True)
class Claim:
    """The range that a user gives of a matrix on the way.

    Args:
        name: Where it is in the chain, in words.
        low: The least number.
        high: The greatest.
        values: Its vectors, by their numbers in the program.
        layout: Where it lies in them.
    """

    name: str
    low: float
    high: float
    values: tuple[int, ...]
    layout: BlockLayout

    @property
    def range(self) -> ActivationRange:
        """What clients check who have all inputs."""
        return ActivationRange(self.name, self.values, self.layout, self.low, self.high)

    def of_elements(self) -> Vector:
        """What no slot exceeds by the claim: it says nothing of slots that may hold anything."""
        ceiling = np.full(self.layout.blocks.rows * self.layout.slots, self.range.reached)
        ceiling[self.layout.garbage_slots()] = np.inf
        return ceiling


def element_ceilings(claims: Sequence[Claim]) -> dict[int, float | Vector]:
    """What no slot with an element exceeds; see `programs.bounds.value_bounds`."""
    return {value: ceiling for each in claims for value, ceiling in _each(each, each.of_elements())}


def whole_ceilings(claims: Sequence[Claim]) -> dict[int, float | Vector]:
    """What no slot exceeds that reaches an element of a result: such as hold anything do not.

    Factors have zeros where a product before them holds anything, so that errors of other slots
    are all that estimates need to know.
    """
    return {value: ceiling for each in claims for value, ceiling in _each(each, each.range.reached)}


def _each(claim: Claim, ceiling: float | Vector) -> list[tuple[int, float | Vector]]:
    return [(value, ceiling) for value in claim.values]


def followed_claims(
    program: SlotProgram, claims: Sequence[Claim], change: Callable[[SlotProgram], SlotProgram]
) -> tuple[SlotProgram, tuple[Claim, ...]]:
    """A program changed, and the claims of the values that stand for those that they were of."""
    values = [value for each in claims for value in each.values]
    changed, found = passes.followed(program, values, change)
    waiting = iter(found)
    return changed, tuple(
        replace(each, values=tuple(next(waiting) for _ in each.values)) for each in claims
    )
