"""A layout as a small picture of its slots, in text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.layout import Layout, positions
from cloakwork.programs.matrices import BlockLayout
from cloakwork.programs.slots import AnyLayout

_WIDTH = 32
_SHOWN_SLOTS = 6


def picture(layout: AnyLayout) -> list[str]:
    """The slots of the first ciphertext from left to right, and the first elements.

    Each character stands for equally many slots: `#` where all hold an element or a copy of
    one, `+` where some do, `.` where all are zero, `~` where they may hold anything.

    Example:
        >>> from cloakwork.programs.layout import Axis
        >>> print("\\n".join(picture(Layout(16, (Axis(2, 4, "i"), Axis(3, 1, "j"))))))
        [###.###.........]  16 slots, 6 in use, the rest zero
        slot 0:[0,0] 1:[0,1] 2:[0,2] 4:[1,0] 5:[1,1] 6:[1,2]
    """
    if isinstance(layout, BlockLayout):
        held = layout.elements(np.zeros(1, dtype=np.int64))[0]
        return _drawn(layout, held >= 0, _first_matrix_elements(layout, held))
    used = np.zeros(layout.slots, dtype=bool)
    used[positions(layout.axes + layout.replicas) + layout.offset] = True
    return _drawn(layout, used, _first_elements(layout))


def _drawn(layout: AnyLayout, used: NDArray[np.bool_], first: Sequence[str]) -> list[str]:
    slots = len(used)
    cells = np.array_split(used, min(_WIDTH, slots))
    empty = "~" if layout.garbage else "."
    drawn = "".join("#" if cell.all() else "+" if cell.any() else empty for cell in cells)
    rest = "the rest anything" if layout.garbage else "the rest zero"
    use = "all in use" if used.all() else f"{int(used.sum())} in use, {rest}"
    count = layout.ciphertexts
    each = f"{count} ciphertexts of {slots}" if count > 1 else f"{slots}"
    return [f"[{drawn}]  {each} slots, {use}", f"slot {' '.join(first)}"]


def _first_elements(layout: Layout) -> list[str]:
    extents = [axis.extent for axis in layout.axes]
    slots = layout.offset + positions(layout.axes)
    order = np.argsort(slots, axis=None)
    shown = []
    for flat in order[:_SHOWN_SLOTS]:
        index = np.unravel_index(int(flat), extents)
        shown.append(f"{slots[index]}:[{','.join(str(int(i)) for i in index)}]")
    return shown + ["..."] * (len(order) > _SHOWN_SLOTS)


def _first_matrix_elements(layout: BlockLayout, held: NDArray[np.int64]) -> list[str]:
    shown = []
    for slot, element in enumerate(held[:_SHOWN_SLOTS].tolist()):
        matrix, row, column = np.unravel_index(max(element, 0), layout.shape)
        place = f"[{matrix},{row},{column}]" if layout.shape[0] > 1 else f"[{row},{column}]"
        shown.append(f"{slot}:{place if element >= 0 else '-'}")
    return shown + ["..."] * (len(held) > _SHOWN_SLOTS)
