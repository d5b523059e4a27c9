"""A figure to reach, and whether it was."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """A figure, the bound on it, and whether it is an upper bound."""

    what: str
    bound: float
    figure: float | None
    at_most: bool = True

    @property
    def outcome(self) -> str:
        """Met, not met or not measured."""
        if self.figure is None:
            return "not measured"
        met = self.figure <= self.bound if self.at_most else self.figure >= self.bound
        return "met" if met else "not met"
