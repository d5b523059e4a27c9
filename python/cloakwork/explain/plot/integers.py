"""A compiled circuit as a figure: slots of what goes in and comes out, the graph, the time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cloakwork.explain.graph import nodes_of, seconds_of_nodes
from cloakwork.explain.integer_slots import Strip, strips_of
from cloakwork.explain.integers import Exact
from cloakwork.explain.modelled import modelled_integer_seconds
from cloakwork.explain.plot.figure import empty_figure, saved

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches.
_WIDTH = 12.0
_STRIP_HEIGHT = 0.55
_GRAPH_HEIGHT = 3.9
_TIME_HEIGHT = 2.6
_SHOWN_STRIPS = 10
_COLOURS = {"input": "#cfe0f3", "result": "#d5ecd4", "": "#f2f2f2"}
_LONGEST_NAME = 8


def plot_integers(x: Exact, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw a compiled circuit; the figure has no display and needs none.

    Args:
        x: The circuit.
        path: Where to write the figure; the ending says as what, such as `.png` or `.svg`.

    Raises:
        InvalidArgumentError: The path is none, or of no kind that can be written.
        MissingDependencyError: Matplotlib is not installed.
    """
    figure = empty_figure()
    from cloakwork.explain.plot.graph import draw_graph  # noqa: PLC0415
    from cloakwork.explain.plot.time import draw_times  # noqa: PLC0415

    program = x.integers.program
    strips = strips_of(x.integers)
    shown = strips[:_SHOWN_STRIPS]
    heights = [_STRIP_HEIGHT] * len(shown) + [_GRAPH_HEIGHT, _TIME_HEIGHT]
    figure.set_size_inches(_WIDTH, sum(heights) + 0.9)
    left_out = len(strips) - len(shown)
    more = f", {left_out} vectors not drawn" if left_out else ""
    figure.suptitle(f"{program.title}{more}")
    *panels, graph, times = figure.subplots(len(heights), height_ratios=heights)
    for axes, strip in zip(panels, shown, strict=True):
        _draw_strip(axes, strip)
    nodes = nodes_of(program)
    draw_graph(graph, nodes, len(program.operations))
    taken: dict[int, float] = {}
    for parameters in x.parameter_sets:
        for number, seconds in enumerate(modelled_integer_seconds(program, parameters)):
            taken[number] = taken.get(number, 0.0) + seconds
    draw_times(times, nodes, None, seconds_of_nodes(nodes, taken))
    times.sharex(graph)
    return saved(figure, path)


def _draw_strip(axes: Axes, strip: Strip) -> None:
    """Draw the slots of one evaluation of a vector as boxes with what they hold."""
    for place, name in enumerate(strip.names):
        colour = _COLOURS[strip.kind if name else ""]
        axes.barh(0, 1, left=place, height=1, color=colour, edgecolor="white")
        axes.text(place + 0.5, 0, name[:_LONGEST_NAME], ha="center", va="center", fontsize=8)
    axes.set_xlim(0, max(len(strip.names), 8))
    axes.set_xticks(
        [place + 0.5 for place in range(len(strip.names))],
        [str(strip.start + place) for place in range(len(strip.names))],
        fontsize=7,
    )
    axes.set_yticks([])
    axes.set_title(strip.title, loc="left", fontsize=10)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
