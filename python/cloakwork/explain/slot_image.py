"""A layout as an image: every slot of its ciphertexts coloured by what it holds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.layout import positions
from cloakwork.programs.matrices import EMPTY, GARBAGE, BlockLayout
from cloakwork.programs.slots import AnyLayout

# What a slot holds: an element by its place in the tensor from 0 up, or one of the last two.
__all__ = ["EMPTY", "GARBAGE", "slot_elements"]


def slot_elements(
    layout: AnyLayout, ciphertexts: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """What every slot of the first ciphertexts holds.

    Example:
        >>> from cloakwork.programs.layout import Axis, Layout
        >>> elements, copies = slot_elements(Layout(4, (Axis(2, 1),), (Axis(2, 2),)), 1)
        >>> elements.tolist(), copies.tolist()
        ([[0, 1, 0, 1]], [[False, False, True, True]])
    """
    if isinstance(layout, BlockLayout):
        elements = layout.elements(np.arange(ciphertexts))
        return elements, np.broadcast_to(layout.is_copy(), elements.shape) & (elements >= 0)
    held = np.full(
        (ciphertexts, layout.slots), GARBAGE if layout.garbage else EMPTY, dtype=np.int64
    )
    copies = np.zeros(held.shape, dtype=bool)
    tiles, slots = (each.ravel() for each in layout.tile_places())
    shown = np.flatnonzero(tiles < ciphertexts)
    for offset in positions(layout.replicas).ravel():
        places = tiles[shown], slots[shown] + offset
        held[places] = shown
        copies[places] = offset != 0
    return held, copies
