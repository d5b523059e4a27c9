"""Bars, one below the other, that show how many of something stand at each level."""

from __future__ import annotations

from collections.abc import Sequence

_BARS = 12
_BAR_WIDTH = 40


def bars(widths: Sequence[int]) -> list[str]:
    """A bar per level, or per run of levels where there are many, as long as its mean width.

    Example:
        >>> for line in bars([4, 1]):
        ...     print(line)
            1  ########################################  4
            2  ##########                                1
    """
    step = -(-len(widths) // _BARS)
    runs = [widths[start : start + step] for start in range(0, len(widths), step)]
    firsts = range(1, len(widths) + 1, step)
    names = [
        f"{first}" if len(run) == 1 else f"{first}-{first + len(run) - 1}"
        for first, run in zip(firsts, runs, strict=True)
    ]
    means = [sum(run) / len(run) for run in runs]
    room = max(len(name) for name in names)
    lines = []
    for name, mean in zip(names, means, strict=True):
        bar = "#" * max(1, round(_BAR_WIDTH * mean / max(means)))
        told = f"{mean:.0f}" if step == 1 else f"{mean:.3g} each"
        lines.append(f"    {name:>{room}}  {bar:<{_BAR_WIDTH}}  {told}")
    return lines
