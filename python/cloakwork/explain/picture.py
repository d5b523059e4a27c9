"""A layout as a small picture of its slots, in text."""

from __future__ import annotations

import numpy as np

from cloakwork.programs.layout import Layout, positions

_WIDTH = 32
_SHOWN_SLOTS = 6


def picture(layout: Layout) -> list[str]:
    """The slots of the first ciphertext from left to right, and the first elements.

    Each character stands for equally many slots: `#` where all hold an element or a copy of
    one, `+` where some do, `.` where all are zero, `~` where they may hold anything.

    Example:
        >>> from cloakwork.programs.layout import Axis
        >>> print("\\n".join(picture(Layout(16, (Axis(2, 4, "i"), Axis(3, 1, "j"))))))
        [###.###.........]  16 slots, 6 in use, the rest zero
        slot 0:[0,0] 1:[0,1] 2:[0,2] 4:[1,0] 5:[1,1] 6:[1,2]
    """
    used = np.zeros(layout.slots, dtype=bool)
    used[positions(layout.axes + layout.replicas) + layout.offset] = True
    cells = np.array_split(used, min(_WIDTH, layout.slots))
    empty = "~" if layout.garbage else "."
    drawn = "".join("#" if cell.all() else "+" if cell.any() else empty for cell in cells)
    rest = "the rest anything" if layout.garbage else "the rest zero"
    use = "all in use" if used.all() else f"{int(used.sum())} in use, {rest}"
    count = layout.ciphertexts
    each = f"{count} ciphertexts of {layout.slots}" if count > 1 else f"{layout.slots}"
    return [f"[{drawn}]  {each} slots, {use}", f"slot {' '.join(_first_elements(layout))}"]


def _first_elements(layout: Layout) -> list[str]:
    extents = [axis.extent for axis in layout.axes]
    slots = layout.offset + positions(layout.axes)
    order = np.argsort(slots, axis=None)
    shown = []
    for flat in order[:_SHOWN_SLOTS]:
        index = np.unravel_index(int(flat), extents)
        shown.append(f"{slots[index]}:[{','.join(str(int(i)) for i in index)}]")
    return shown + ["..."] * (len(order) > _SHOWN_SLOTS)
