"""Draws which slots of a tensor's ciphertexts hold what."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import NDArray

from cloakwork.programs.layout import positions
from cloakwork.programs.matrices import EMPTY, GARBAGE, BlockLayout
from cloakwork.programs.slots import AnyLayout

_MAX_CIPHERTEXTS = 8
_ROW = 512
_EMPTY_COLOUR = (0.95, 0.95, 0.95)
_GARBAGE_COLOUR = (0.72, 0.66, 0.66)
# How far the colour of a copy goes towards white.
_PALE = 0.55
_COLOURS = colormaps["viridis"]


def draw_slots(axes: Axes, name: str, layout: AnyLayout) -> None:
    """Draw the slots of the first ciphertexts in rows of 512, coloured by element."""
    shown = min(layout.ciphertexts, _MAX_CIPHERTEXTS)
    held, copies = slot_elements(layout, shown)
    count = int(np.prod(layout.shape, dtype=np.int64))
    image = _COLOURS(np.clip(held, 0, None) / max(count - 1, 1))[..., :3]
    image[copies] += _PALE * (1 - image[copies])
    image[held == EMPTY] = _EMPTY_COLOUR
    image[held == GARBAGE] = _GARBAGE_COLOUR
    slots = held.shape[1]
    width = _ROW if slots % _ROW == 0 else slots
    rows = slots // width
    axes.imshow(
        image.reshape(shown * rows, width, 3),
        aspect="auto",
        interpolation="nearest",
        extent=(0, width, shown, 0),
    )
    for edge in range(1, shown):
        axes.axhline(edge, color="white", linewidth=1.5)
    axes.set_title(f"{name}  {layout.shape}", loc="left", fontsize=10)
    axes.set_title(_facts(layout, shown), loc="right", fontsize=9, color="0.35")
    if shown > 1:
        axes.set_yticks([0.5 + number for number in range(shown)], [str(n) for n in range(shown)])
        axes.set_ylabel("ciphertext", fontsize=8)
    else:
        axes.set_yticks([0.5 / rows, 1 - 0.5 / rows], ["0", str(slots - width)])
        axes.set_ylabel("row from slot", fontsize=8)
    axes.tick_params(labelsize=8, length=2)
    axes.set_xlim(0, width)


def _facts(layout: AnyLayout, shown: int) -> str:
    count = layout.ciphertexts
    ciphertexts = (
        f"{count} ciphertexts of {layout.slots} slots" if count > 1 else (f"{layout.slots} slots")
    )
    first = f", the first {shown} drawn" if shown < count else ""
    places = str(layout)
    return f"{places if len(places) < 60 else places[:57] + '...'}     {ciphertexts}{first}"


def _pale(colour: tuple[float, float, float, float]) -> tuple[float, float, float]:
    red, green, blue = (part + _PALE * (1 - part) for part in colour[:3])
    return red, green, blue


def draw_legend(axes: Axes) -> None:
    """Say what the colours of slots mean, above a panel."""
    handles = [
        Patch(color=_COLOURS(0.0), label="first element"),
        Patch(color=_COLOURS(1.0), label="last element"),
        Patch(color=_pale(_COLOURS(0.3)), label="copy"),
        Patch(facecolor=_EMPTY_COLOUR, edgecolor="0.8", label="zero"),
        Patch(color=_GARBAGE_COLOUR, label="anything"),
    ]
    axes.legend(
        handles=handles,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.25),
        ncols=len(handles),
        fontsize=8,
        frameon=False,
    )


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
