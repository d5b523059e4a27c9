"""Rotations composed of other rotations: paths for one, trees for several."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


def powers_of_two(slots: int) -> tuple[int, ...]:
    """Rotations by a power of two to either side, as steps to the left below `slots`.

    Example:
        >>> powers_of_two(16)
        (1, 2, 4, 8, 12, 14, 15)
    """
    powers = [1 << bit for bit in range((slots - 1).bit_length())]
    return tuple(sorted({*powers, *(slots - power for power in powers)}))


@dataclass(frozen=True, slots=True, eq=False)
class RotationPaths:
    """Shortest ways of rotating by any steps with the keys at hand.

    With the keys of `powers_of_two`, a rotation takes as many as the non-adjacent form of its
    steps, to the left or to the right, has digits (Reitwiesner, "Binary arithmetic", 1960).

    Args:
        slots: Slots of a vector.
        lengths: How many rotations each number of steps takes; `slots` where it cannot be done.
        last: The key that a shortest way ends with.
    """

    slots: int
    lengths: NDArray[np.int64]
    last: NDArray[np.int64]

    def reach(self, targets: Collection[int]) -> bool:
        """Whether all these numbers of steps can be made."""
        return bool(self.lengths[list(targets)].max(initial=0) < self.slots)

    def path(self, steps: int) -> list[int]:
        """Keys whose steps add up to `steps`, which must be possible.

        Example:
            >>> rotation_paths(64, powers_of_two(64)).path(55)
            [56, 63]
        """
        assert self.reach([steps])
        path: list[int] = []
        while steps:
            key = int(self.last[steps])
            path.append(key)
            steps = (steps - key) % self.slots
        return path[::-1]


def rotation_paths(slots: int, keys: Iterable[int]) -> RotationPaths:
    """Shortest ways by breadth-first search from no rotation at all.

    Example:
        >>> rotation_paths(8, [1, 4]).lengths.tolist()
        [0, 1, 2, 3, 1, 2, 3, 4]
    """
    steps = np.array(sorted(keys), dtype=np.int64)
    lengths = np.full(slots, slots, dtype=np.int64)
    last = np.zeros(slots, dtype=np.int64)
    lengths[0] = 0
    frontier = np.zeros(1, dtype=np.int64)
    length = 0
    while len(frontier):
        length += 1
        reached = (frontier[:, np.newaxis] + steps).ravel() % slots
        used = np.broadcast_to(steps, (len(frontier), len(steps))).ravel()
        new = lengths[reached] == slots
        reached, first = np.unique(reached[new], return_index=True)
        lengths[reached] = length
        last[reached] = used[new][first]
        frontier = reached
    return RotationPaths(slots, lengths, last)


@dataclass(frozen=True, slots=True)
class Branch:
    """The value rotated by `parent` + `step`, made from the value rotated by `parent`."""

    parent: int
    step: int


def rotation_tree(
    targets: Collection[int], paths: RotationPaths, favoured: Collection[int]
) -> dict[int, Branch]:
    """Rotations of one value by all targets, each made from the value or another of them.

    Greedy: the next target is one that is nearest to what is made. Of ways of the same length
    the one whose key is favoured or in use already is taken, so that few keys serve.

    Example:
        >>> tree = rotation_tree([1, 2, 3], rotation_paths(16, [1, 2, 4]), [])
        >>> [(branch.parent, branch.step) for branch in tree.values()]
        [(0, 1), (1, 1), (2, 1)]
    """
    slots = paths.slots
    weights = 2 * paths.lengths
    used = {key for key in favoured if key}
    weights[list(used)] -= 1
    made: dict[int, Branch] = {}
    missing = np.array(sorted(set(targets) - {0}), dtype=np.int64)
    nearest = np.zeros(len(missing), dtype=np.int64)
    while len(missing):
        distances = weights[(missing - nearest) % slots]
        chosen = int(distances.argmin())
        target, offset = int(missing[chosen]), int(nearest[chosen])
        path = paths.path((target - offset) % slots)
        reached: list[int] = []
        for key in path:
            made[(offset + key) % slots] = Branch(offset, key)
            offset = (offset + key) % slots
            reached.append(offset)
        fresh = set(path) - used
        if fresh:
            used |= fresh
            weights[list(fresh)] -= 1
            distances = weights[(missing - nearest) % slots]
            reached = [0, *made]
        for source in reached:
            nearer = weights[(missing - source) % slots]
            better = nearer < distances
            nearest[better] = source
            distances[better] = nearer[better]
        remaining = ~np.isin(missing, list(made))
        missing, nearest = missing[remaining], nearest[remaining]
    return made
