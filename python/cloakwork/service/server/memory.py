"""The memory that runs of a server may take, shared among the processes that run them."""

from __future__ import annotations

from cloakwork.base.system_memory import physical_bytes

# What is left to the system and the server itself: a part of all, and no less than so much.
_SPARE_PART, _LEAST_SPARE = 8, 1 << 30


def machine_bytes() -> int:
    """What runs may take of this machine, or of the part of it that the server is held to.

    Example:
        >>> 0 < machine_bytes() < physical_bytes()
        True
    """
    whole = physical_bytes()
    return max(whole // 2, whole - max(whole // _SPARE_PART, _LEAST_SPARE))


class SharedMemory:
    """What each of several processes may take.

    Args:
        most: What all together may take.
        processes: How many there are.

    Example:
        >>> memory = SharedMemory(100, 2)
        >>> memory.fits(0, 70), memory.take(0, 70), memory.fits(1, 40)
        (True, 70, False)
        >>> memory.keep(0, 20)
        >>> memory.fits(1, 40), memory.take(1, 40)
        (True, 50)
    """

    def __init__(self, most: int, processes: int) -> None:
        self.most = most
        self._taken = [0] * processes

    def fits(self, process: int, nbytes: int) -> bool:
        """Whether a process may run what takes so much, beside what the others take.

        What takes more than all may is refused when its turn comes.
        """
        return min(nbytes, self.most) <= self._left(process)

    def take(self, process: int, nbytes: int) -> int:
        """Let a process run what takes so much; it may take its share, too."""
        share = min(self._left(process), self.most // len(self._taken))
        self._taken[process] = max(nbytes, share)
        return self._taken[process]

    def taken(self, process: int) -> int:
        """What a process may take now."""
        return self._taken[process]

    def keep(self, process: int, nbytes: int) -> None:
        """Take note of what a process keeps that runs nothing now."""
        self._taken[process] = nbytes

    def keeps(self, process: int) -> bool:
        """Whether a process keeps something."""
        return self._taken[process] > 0

    def _left(self, process: int) -> int:
        return self.most - sum(self._taken) + self._taken[process]
