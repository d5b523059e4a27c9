"""The plan of a computation as a figure: slots, the program's graph, the time of its operations."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cloakwork.base.arguments import optional, shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.explain.figures.figure import empty_figure, saved
from cloakwork.explain.graph import Node, nodes_of, nodes_of_bootstraps, seconds_of_nodes
from cloakwork.explain.modelled import modelled_seconds
from cloakwork.explain.strips import Strip, strips_of
from cloakwork.explain.tensors import ProgramTensor, inputs_of, results_of
from cloakwork.frontends.tensors.tensor import Tensor
from cloakwork.plan.boolean.makespan import node_seconds
from cloakwork.plan.cost.tfhe import known_set
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.layout import Layout
from cloakwork.programs.packing.scalar import ScalarPacking
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.program import Program
from cloakwork.schemes.tfhe import Tfhe

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches.
_WIDTH = 12.0
_TENSOR_HEIGHT = 1.15
_STRIP_HEIGHT = 0.55
_GRAPH_HEIGHT = 3.9
_TIME_HEIGHT = 2.6
_SHOWN_TENSORS = 6
_SHOWN_STRIPS = 10
_COLOURS = {"input": "#cfe0f3", "result": "#d5ecd4", "": "#f2f2f2"}
_LONGEST_NAME = 8


def drawn(
    x: Program | Tensor, path: str | os.PathLike[str] | None, profile: Profile | None
) -> Figure:
    """Draw a program, or a tensor and the program that made it; see `explain.plot`."""
    if not isinstance(x, Program | Tensor):
        raise InvalidArgumentError(
            f"cannot plot: expected a program or an encrypted tensor, got {shown(x)}"
        )
    profile = optional(profile, Profile, "profile", "plot")
    figure = empty_figure()
    match x:
        case Program(body=BootstrapProgram() as body):
            _draw_bootstraps(figure, x, body, profile)
        case Program(body=SlotProgram() as body, packing=ScalarPacking() as packing):
            panels = _strips(strips_of(packing))
            _draw(figure, _title(body.title, x.warning), panels, body, x.scheme, profile)
        case Program(body=SlotProgram() as body):
            panels = _tensors(body)
            _draw(figure, _title(body.title, x.warning), panels, body, x.scheme, profile)
        case Tensor(program=None):
            _draw_fresh(figure, x)
        case Tensor(program=SlotProgram() as body):
            title = _title(body.title, x.warning)
            _draw(figure, title, _tensors(body), body, x.scheme, profile or x.profile)
    return saved(figure, path)


def _draw_fresh(figure: Figure, tensor: Tensor) -> None:
    from cloakwork.explain.figures.slots import draw_legend, draw_slots  # noqa: PLC0415

    figure.set_size_inches(_WIDTH, 0.9 + 1.5 * _TENSOR_HEIGHT)
    figure.suptitle(_title("a tensor, not computed", tensor.warning))
    axes = figure.subplots()
    draw_slots(axes, "tensor", tensor.layout)
    draw_legend(axes)


def _title(text: str, warning: str) -> str:
    return f"{text}   ({warning})" if warning else text


class _Panels:
    """Drawings of slots, above the graph.

    Args:
        draw: What draws each.
        height: Of each, in inches.
        left_out: What is not drawn, in words.
        legend: Whether the first one says what colours mean.
    """

    def __init__(
        self, draw: Sequence[Callable[[Axes], None]], height: float, left_out: str, legend: bool
    ) -> None:
        self.draw = draw
        self.height = height
        self.left_out = left_out
        self.legend = legend


def _tensors(program: SlotProgram) -> _Panels:
    from cloakwork.explain.figures.slots import draw_slots  # noqa: PLC0415

    inputs, results = _placed(inputs_of(program)), _placed(results_of(program))
    first = _SHOWN_TENSORS - min(len(results), _SHOWN_TENSORS // 2)
    chosen = inputs[:first] + results[: _SHOWN_TENSORS - len(inputs[:first])]
    more = len(inputs) + len(results) - len(chosen)

    def of(name: str, layout: Layout) -> Callable[[Axes], None]:
        return lambda axes: draw_slots(axes, name, layout)

    left_out = f", {more} tensors not drawn" if more else ""
    return _Panels([of(*each) for each in chosen], _TENSOR_HEIGHT, left_out, bool(chosen))


def _placed(tensors: list[ProgramTensor]) -> list[tuple[str, Layout]]:
    return [(each.name, each.layout) for each in tensors if each.layout is not None]


def _strips(strips: Sequence[Strip]) -> _Panels:
    def of(strip: Strip) -> Callable[[Axes], None]:
        return lambda axes: _draw_strip(axes, strip)

    more = len(strips) - _SHOWN_STRIPS
    left_out = f", {more} vectors not drawn" if more > 0 else ""
    return _Panels([of(each) for each in strips[:_SHOWN_STRIPS]], _STRIP_HEIGHT, left_out, False)


def _draw(
    figure: Figure,
    title: str,
    panels: _Panels,
    program: SlotProgram,
    scheme: Any,
    profile: Profile | None,
) -> None:
    from cloakwork.explain.figures.slots import draw_legend  # noqa: PLC0415

    heights = [panels.height] * len(panels.draw) + [_GRAPH_HEIGHT, _TIME_HEIGHT]
    figure.set_size_inches(_WIDTH, sum(heights) + 0.9)
    figure.suptitle(title + panels.left_out)
    *above, graph, times = figure.subplots(len(heights), height_ratios=heights)
    for axes, draw in zip(above, panels.draw, strict=True):
        draw(axes)
    if panels.legend:
        draw_legend(above[0])
    nodes = nodes_of(program)
    measured = modelled = None
    if profile is not None:
        taken = {each.number: each.seconds for each in profile.operations}
        measured = seconds_of_nodes(nodes, taken)
    if scheme.encrypts:
        modelled = seconds_of_nodes(nodes, dict(enumerate(modelled_seconds(program, scheme))))
    _draw_work(graph, times, nodes, len(program.operations), measured, modelled)


def _draw_bootstraps(
    figure: Figure, x: Program, body: BootstrapProgram, profile: Profile | None
) -> None:
    figure.set_size_inches(_WIDTH, _GRAPH_HEIGHT + _TIME_HEIGHT + 0.9)
    figure.suptitle(_title(body.title, x.warning))
    graph, times = figure.subplots(2, height_ratios=[_GRAPH_HEIGHT, _TIME_HEIGHT])
    nodes = nodes_of_bootstraps(body)
    measured = modelled = None
    if profile is not None and profile.operations:
        taken = {each.number: each.seconds for each in profile.operations}
        measured = seconds_of_nodes(nodes, taken)
    costs = (
        known_set(x.scheme.parameters.name, x.scheme.failure_bits)
        if isinstance(x.scheme, Tfhe)
        else None
    )
    if costs is not None:
        modelled = seconds_of_nodes(nodes, dict(enumerate(node_seconds(body, costs))))
    _draw_work(graph, times, nodes, body.node_count, measured, modelled)


def _draw_work(
    graph: Axes,
    times: Axes,
    nodes: list[Node],
    operations: int,
    measured: list[float] | None,
    modelled: list[float] | None,
) -> None:
    from cloakwork.explain.figures.graph import draw_graph  # noqa: PLC0415
    from cloakwork.explain.figures.time import draw_times  # noqa: PLC0415

    draw_graph(graph, nodes, operations)
    draw_times(times, nodes, measured, modelled)
    times.sharex(graph)


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
