"""The elements of tensors by channel and pixel, of which matrices between tensors are made.

The channels of an image hold as many pixels each. Of tokens every feature is a channel, and every
token a pixel: a layer does the same to each. What only moves elements changes which of them a
channel holds at a pixel, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.ir import layers as g

_Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Grouping:
    """Which element of a tensor each channel has at each pixel.

    Args:
        elements: Numbers of elements, a row for each channel.

    Example:
        >>> Grouping.of((2, 3)).elements.tolist()
        [[0, 3], [1, 4], [2, 5]]
    """

    elements: _Indices

    @classmethod
    def of(cls, shape: g.Shape) -> Grouping:
        """That of an image, of the features of tokens, or of elements without such a structure."""
        if len(shape) == 2:
            return cls.of_tokens(*shape)
        if len(shape) == 3:
            return cls.of_images(shape[0], shape[1] * shape[2])
        return cls.of_images(prod(shape), 1)

    @classmethod
    def of_images(cls, channels: int, pixels: int) -> Grouping:
        """One channel after another."""
        return cls(np.arange(channels * pixels).reshape(channels, pixels))

    @classmethod
    def of_tokens(cls, tokens: int, features: int) -> Grouping:
        """One token after another."""
        return cls(np.arange(tokens * features).reshape(tokens, features).T)

    @property
    def channels(self) -> int:
        """How many channels there are."""
        return len(self.elements)

    @property
    def pixels(self) -> int:
        """How many pixels each has."""
        return len(self.elements.T)

    @cached_property
    def is_flat(self) -> bool:
        """Whether every element is a channel, in their order."""
        return self.pixels == 1 and np.array_equal(
            self.elements[:, 0], np.arange(len(self.elements))
        )

    @cached_property
    def channel_of(self) -> _Indices:
        """The channel of each element."""
        return self._by_element(np.arange(self.channels)[:, np.newaxis])

    @cached_property
    def pixel_of(self) -> _Indices:
        """The pixel of each element."""
        return self._by_element(np.arange(self.pixels)[np.newaxis])

    def _by_element(self, numbers: _Indices) -> _Indices:
        made = np.empty(self.elements.size, dtype=np.int64)
        made[self.elements] = numbers
        return made

    def numbered(self, numbers: _Indices) -> Grouping:
        """The same where each element has another number."""
        return Grouping(numbers[self.elements])

    def counterparts(self, other: Grouping) -> tuple[_Indices, _Indices] | None:
        """For each channel and each pixel the other's that has the same elements.

        None where some are parted otherwise.

        Example:
            >>> swapped = Grouping(np.array([[1, 4], [0, 3], [2, 5]]))
            >>> [each.tolist() for each in swapped.counterparts(Grouping.of((2, 3)))]
            [[1, 0, 2], [0, 1]]
        """
        if self.elements.shape != other.elements.shape:
            return None
        channels = other.channel_of[self.elements[:, 0]]
        pixels = other.pixel_of[self.elements[0]]
        same = np.array_equal(other.elements[np.ix_(channels, pixels)], self.elements)
        return (channels, pixels) if same else None
