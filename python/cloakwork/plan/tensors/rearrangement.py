"""Slices, reshapes and flips: as a view where the slots allow, else by moving elements."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InvalidLayoutError
from cloakwork.plan.tensors.placed import Placed, moved_freely
from cloakwork.programs.layout import Axis, Layout, default_layout
from cloakwork.programs.slots import Builder


def rearranged(builder: Builder, placed: Placed, elements: NDArray[np.int64]) -> Placed:
    """The tensor whose every element is the one that `elements` names, counted in C order.

    Example:
        >>> from cloakwork.programs.layout import default_layout
        >>> from cloakwork.programs.slots import Input
        >>> builder = Builder("", 8)
        >>> x = Placed((builder.append(Input("x", 1)),), default_layout((2, 3), 8))
        >>> print(rearranged(builder, x, np.array([[4, 5]])).layout)
        0:1@0 1:2@1 from 4
    """
    tiles, slots = (each.ravel()[elements] for each in placed.layout.tile_places())
    view = _view(placed, tiles, slots)
    if view is not None:
        return view
    return moved_freely(
        builder, placed, tiles, slots, default_layout(elements.shape, builder.slots)
    )


def _view(placed: Placed, tiles: NDArray[np.int64], slots: NDArray[np.int64]) -> Placed | None:
    """The tensor where it lies, if a layout can say so."""
    first = (0,) * tiles.ndim
    axes: list[Axis] = []
    for number, size in enumerate(tiles.shape):
        along = tuple(slice(None) if axis == number else 0 for axis in range(tiles.ndim))
        changes = np.flatnonzero(np.diff(tiles[along]))
        extent = int(changes[0]) + 1 if len(changes) else size
        stride = int(slots[along][1] - slots[first]) if extent > 1 else 0
        axes.append(Axis(size, stride, tile=extent if extent < size else 0))
    untouched = tiles.size == np.prod(placed.layout.shape, dtype=np.int64)
    garbage = placed.has_garbage or not untouched
    try:
        layout = Layout(placed.layout.slots, tuple(axes), garbage=garbage, offset=int(slots[first]))
    except InvalidLayoutError:
        return None
    starts = tuple(slice(None, None, axis.extent) for axis in axes)
    chosen = tiles[starts].ravel()
    numbers, places = layout.tile_places()
    if not (np.array_equal(places, slots) and np.array_equal(chosen[numbers], tiles)):
        return None
    return Placed(tuple(placed.values[tile] for tile in chosen), layout)
