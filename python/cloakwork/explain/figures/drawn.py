"""The plan of a computation as a figure: slots, the program's graph, the time of its operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cloakwork.base.arguments import optional, shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.explain.figures.graph import draw_graph
from cloakwork.explain.figures.slots import draw_legend, draw_slots
from cloakwork.explain.figures.time import draw_times
from cloakwork.explain.graph import Node, nodes_of, nodes_of_bootstraps, seconds_of_nodes
from cloakwork.explain.modelled import modelled_seconds
from cloakwork.explain.strips import Strip, strips_of
from cloakwork.explain.tensors import inputs_of, results_of
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

# Inches.
_WIDTH = 12.0
_TITLE_HEIGHT = 0.9
_TENSOR_HEIGHT = 1.15
_STRIP_HEIGHT = 0.55
_GRAPH_HEIGHT = 3.9
_TIME_HEIGHT = 2.6
_SHOWN_TENSORS = 6
_SHOWN_STRIPS = 10
_COLOURS = {"input": "#cfe0f3", "result": "#d5ecd4", "": "#f2f2f2"}
_LONGEST_NAME = 8


class _Panel(NamedTuple):
    """One drawing of a figure."""

    height: float
    draw: Callable[[Axes], None]


def draw(figure: Figure, x: Program | Tensor, profile: Profile | None) -> None:
    """Draw a program, or a tensor and the program that made it; see `explain.plot`."""
    profile = optional(profile, Profile, "profile", "plot")
    left_out = ""
    match x:
        case Tensor(program=None):
            title = "a tensor, not computed"
            panels = _tensors([("tensor", x.layout)], 1.5 * _TENSOR_HEIGHT)
        case Tensor(program=SlotProgram() as body):
            title = body.title
            panels, left_out = _edges(body)
            panels += _work_of_slots(body, x.scheme, profile or x.profile)
        case Program(body=SlotProgram() as body, packing=packing):
            title = body.title
            if isinstance(packing, ScalarPacking):
                panels, left_out = _strips(packing)
            else:
                panels, left_out = _edges(body)
            panels += _work_of_slots(body, x.scheme, profile)
        case Program(body=BootstrapProgram() as body):
            title, panels = body.title, _work_of_bits(body, x.scheme, profile)
        case _:
            raise InvalidArgumentError(
                f"cannot plot: expected a program or an encrypted tensor, got {shown(x)}"
            )
    heights = [panel.height for panel in panels]
    figure.set_size_inches(_WIDTH, sum(heights) + _TITLE_HEIGHT)
    figure.suptitle(f"{title}{f'   ({x.warning})' if x.warning else ''}{left_out}")
    axes = figure.subplots(len(panels), height_ratios=heights, squeeze=False)[:, 0]
    for each, panel in zip(axes, panels, strict=True):
        panel.draw(each)
    if len(panels) > 1:
        axes[-1].sharex(axes[-2])


def _tensors(placed: Sequence[tuple[str, Layout]], height: float) -> list[_Panel]:
    return [
        _Panel(height, partial(_draw_tensor, name=name, layout=layout, is_first=number == 0))
        for number, (name, layout) in enumerate(placed)
    ]


def _edges(program: SlotProgram) -> tuple[list[_Panel], str]:
    """Tensors that go in and come out, and what is left out of them."""
    inputs, results = (
        [(each.name, each.layout) for each in tensors if each.layout is not None]
        for tensors in (inputs_of(program), results_of(program))
    )
    first = _SHOWN_TENSORS - min(len(results), _SHOWN_TENSORS // 2)
    chosen = inputs[:first] + results[: _SHOWN_TENSORS - len(inputs[:first])]
    more = len(inputs) + len(results) - len(chosen)
    return _tensors(chosen, _TENSOR_HEIGHT), f", {more} tensors not drawn" if more else ""


def _strips(packing: ScalarPacking) -> tuple[list[_Panel], str]:
    """Vectors that go in and come out, and what is left out of them."""
    strips = strips_of(packing)
    more = len(strips) - _SHOWN_STRIPS
    panels = [
        _Panel(_STRIP_HEIGHT, partial(_draw_strip, strip=each)) for each in strips[:_SHOWN_STRIPS]
    ]
    return panels, f", {more} vectors not drawn" if more > 0 else ""


def _work_of_slots(program: SlotProgram, scheme: Any, profile: Profile | None) -> list[_Panel]:
    modelled = modelled_seconds(program, scheme) if scheme.hidden else None
    return _work(nodes_of(program), len(program.operations), profile, modelled)


def _work_of_bits(program: BootstrapProgram, scheme: Any, profile: Profile | None) -> list[_Panel]:
    is_encrypted = isinstance(scheme, Tfhe)
    costs = known_set(scheme.parameters.name, scheme.failure_bits) if is_encrypted else None
    modelled = None if costs is None else node_seconds(program, costs)
    return _work(nodes_of_bootstraps(program), program.node_count, profile, modelled)


def _work(
    nodes: list[Node], operations: int, profile: Profile | None, modelled: Sequence[float] | None
) -> list[_Panel]:
    """The graph of a program, and below it the time of every node."""
    taken = expected = None
    if profile is not None and profile.operations:
        taken = seconds_of_nodes(nodes, {each.number: each.seconds for each in profile.operations})
    if modelled is not None:
        expected = seconds_of_nodes(nodes, dict(enumerate(modelled)))
    times = partial(draw_times, nodes=nodes, measured=taken, modelled=expected)
    graph = partial(draw_graph, nodes=nodes, operations=operations)
    return [_Panel(_GRAPH_HEIGHT, graph), _Panel(_TIME_HEIGHT, times)]


def _draw_tensor(axes: Axes, name: str, layout: Layout, *, is_first: bool) -> None:
    draw_slots(axes, name, layout)
    if is_first:
        draw_legend(axes)


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
    axes.spines[:].set_visible(False)
