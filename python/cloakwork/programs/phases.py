"""Phases of bits on their way into slots: public multiples of a secret key, summed by rotations.

A result of a program over bits is an LWE ciphertext, whose phase is half a turn times the bit, but
for noise and whole turns: x = b - sum(a) / 2 - <a / 2, t>, of its public mask a and body b and of
the secret t of `_DIMENSION` numbers -1 and 1. Slot i of a ciphertext of t holds number i // q of
them, q the slots that each has. Of m phases, m a power of two from q on, the ciphertext d below
m / q is t times the public vector

```text
  v_d[i] = -a[(i - q d) mod m, i // q] / 2
```

Rotated by q d each, and summed along every m-th slot, they are all of the phases: slot r has that
of bit r mod m. All keys are rotations by powers of two. Products are rescaled once, when they are
summed, so that rotations add next to nothing to the errors of the one ciphertext that is made.

In slots a phase of `REACH` turns is 1. Masks are uniform, and so are the n terms of <a / 2, t>,
between -1 / 4 and 1 / 4: the mean of e^(s X) of such an X is at most e^(s^2 / 96), and their sum
exceeds r, either way, with a probability of 2 e^(-24 r^2 / n) at most. Of REACH less half
a turn it is 2^-85 for one slot, and 2^-69 for all slots of the largest ring.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.record import Limits
from cloakwork.errors import InvalidLayoutError
from cloakwork.programs.layout import MAX_SLOTS, Layout, in_strides, power_of_two

# Numbers of the secret key of bits.
DIMENSION = 2048
# Turns that a phase may have, either way.
REACH = 72.0
# Of one result: each takes as many products and rotations as all others have bits.
MOST_BITS = 1024
_WORD = 2.0**32


@dataclass(frozen=True, slots=True)
class PhasePlace:
    """Where the parts of phases lie that a tensor of bits comes as.

    Args:
        slots: Slots of a ciphertext.
        shape: The shape of the bits.

    Raises:
        InvalidLayoutError: There are more of them than one program takes, or fewer slots than a
            secret key of bits has numbers.

    Example:
        >>> place = PhasePlace(4096, (3, 2))
        >>> place.parts, place.rows
        (4, 8)
        >>> place.pack(np.array([0, 9, 0, 9, 9, 0]))[0][:6].tolist()
        [0.0, 0.0625, 0.0, 0.0625, 0.0625, 0.0]
    """

    slots: Annotated[int, Limits(DIMENSION, MAX_SLOTS)]
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.count > MOST_BITS or self.slots % DIMENSION:
            raise InvalidLayoutError(
                f"cannot bring bits into slots: expected up to {MOST_BITS} bits and a multiple of "
                f"{DIMENSION} slots, got {self.count} bits and {self.slots} slots"
            )

    @property
    def count(self) -> int:
        """How many bits there are."""
        return math.prod(self.shape)

    @property
    def each(self) -> int:
        """Slots that a number of the secret key has."""
        return self.slots // DIMENSION

    @property
    def rows(self) -> int:
        """Phases with those that are nobody's, a power of two."""
        return power_of_two(max(self.count, self.each))

    @property
    def parts(self) -> int:
        """Ciphertexts that are summed."""
        return self.rows // self.each

    @property
    def ciphertexts(self) -> int:
        """How many ciphertexts there are."""
        return 1

    @property
    def layout(self) -> Layout:
        """Where the phases lie once their parts are summed."""
        places = np.arange(self.count, dtype=np.int64).reshape(self.shape)
        # Copies are garbage, which is cleared where phases are scaled: that takes the same level.
        found = in_strides(self.slots, np.zeros_like(places), places, garbage=True)
        assert found is not None
        return found[0]

    def phases(self, bits: NDArray[np.float64]) -> NDArray[np.float64]:
        """What bits without noise are in slots.

        Example:
            >>> PhasePlace(2048, (2,)).phases(np.array([0.0, 1.0])).tolist()
            [0.0, 0.006944444444444444]
        """
        return np.asarray(bits.reshape(self.shape) / (2 * REACH))

    def pack(self, bits: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """The phases of bits that are known."""
        vector = np.zeros(self.slots)
        vector[: self.count] = self.phases(bits).ravel()
        return [vector]

    def filled(self) -> list[NDArray[np.float64]]:
        """1 in the slots that may hold other numbers than 0: in all of them."""
        return [np.ones(self.slots)]

    def factors(
        self, words: NDArray[np.uint32]
    ) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
        """The public vectors of LWE ciphertexts, and what is added to the phases.

        Args:
            words: The mask and then the body of each, 2^32 to a turn, of bits in half encoding.
        """
        masks: NDArray[np.float64] = np.zeros((self.rows, DIMENSION))
        masks[: self.count] = words[:, :-1].view(np.int32)
        bodies = words[:, -1].view(np.int32).astype(np.float64)
        constants = (bodies - masks[: self.count].sum(axis=1) / 2) / _WORD
        slots = np.arange(self.slots)
        factors: list[NDArray[np.float64]] = [
            masks[(slots - self.each * number) % self.rows, slots // self.each]
            * np.float64(-0.5 / _WORD / REACH)
            for number in range(self.parts)
        ]
        added = np.zeros(self.slots)
        added[: self.count] = (constants - np.round(constants)) / REACH
        return factors, added

    @property
    def halvings(self) -> Sequence[int]:
        """The steps by which the later half of the parts is rotated onto the other, in turn."""
        return [step for step in summing_rotations(self.slots) if step < self.rows][::-1]

    @property
    def sums(self) -> Sequence[int]:
        """The steps by which what is left is rotated onto itself, in turn."""
        return [step for step in summing_rotations(self.slots) if step >= self.rows]

    @property
    def turns(self) -> int:
        """How many rotations sum them."""
        return self.parts - 1 + len(self.sums)

    def __str__(self) -> str:
        return f"phases of {self.count} bits"


def summing_rotations(slots: int) -> list[int]:
    """The steps by which parts of phases are summed, however many there are.

    Example:
        >>> len(summing_rotations(4096)), summing_rotations(4096)[:3]
        (11, [2, 4, 8])
    """
    return [slots // DIMENSION << power for power in range(DIMENSION.bit_length() - 1)]
