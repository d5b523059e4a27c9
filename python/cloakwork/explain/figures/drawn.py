"""The plan of a computation as a figure: slots, the program's graph, the time of its operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cloakwork.base.arguments import optional, shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.explain.figures.graph import draw_graph
from cloakwork.explain.figures.slots import draw_legend, draw_slots
from cloakwork.explain.figures.time import draw_times
from cloakwork.explain.graph import nodes_of, nodes_of_bootstraps, seconds_of_nodes
from cloakwork.explain.modelled import modelled_seconds
from cloakwork.explain.own_profile import require_profile_of
from cloakwork.explain.strips import Strip, strips_of
from cloakwork.explain.tensors import input_tensors, results_in_text
from cloakwork.frontends.tensors.tensor import Tensor
from cloakwork.plan.cost.tfhe import known_set, node_seconds
from cloakwork.programs.packing.scalar import ScalarPacking
from cloakwork.programs.slots import AnyLayout, SlotProgram
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.program import Body, Program
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


def draw(figure: Figure, x: Program | Tensor, profile: Profile | None) -> None:
    """Draw a program, or a tensor and the program that made it; see `explain.plot`."""
    profile = optional(profile, Profile, "profile", "plot")
    tensors: Sequence[tuple[str, AnyLayout]] = ()
    strips: Sequence[Strip] = ()
    left_out = ""
    match x:
        case Tensor(program=None):
            body, tensors = None, [("tensor", x.layout)]
        case Tensor(program=SlotProgram() as body):
            profile = profile or x.profile
            tensors, left_out = _tensors(body)
        case Program(body=body, packing=ScalarPacking() as packing):
            strips, left_out = _strips(packing)
        case Program(body=SlotProgram() as body):
            tensors, left_out = _tensors(body)
        case Program(body=body):
            pass
        case _:
            raise InvalidArgumentError(
                f"cannot plot: expected a program or an encrypted tensor, got {shown(x)}"
            )
    if body is not None and profile is not None:
        require_profile_of(body, profile, "plot")
    title = "a tensor, not computed" if body is None else body.title
    tensor_height = _TENSOR_HEIGHT if body is not None else 1.5 * _TENSOR_HEIGHT
    heights = [tensor_height] * len(tensors) + [_STRIP_HEIGHT] * len(strips)
    heights += [_GRAPH_HEIGHT, _TIME_HEIGHT] if body is not None else []
    figure.set_size_inches(_WIDTH, sum(heights) + _TITLE_HEIGHT)
    figure.suptitle(f"{title}{f'   ({x.warning})' if x.warning else ''}{left_out}")
    axes = figure.subplots(len(heights), height_ratios=heights, squeeze=False)[:, 0]
    for above, (name, layout) in zip(axes, tensors, strict=False):
        draw_slots(above, name, layout)
    if tensors:
        draw_legend(axes[0])
    for above, strip in zip(axes, strips, strict=False):
        _draw_strip(above, strip)
    if body is not None:
        _draw_work(axes[-2], axes[-1], body, x.scheme, profile)


def _tensors(program: SlotProgram) -> tuple[list[tuple[str, AnyLayout]], str]:
    """Tensors that go in and come out, and what is left out of them."""
    inputs, results = (
        [(each.name, each.layout) for each in tensors if each.layout is not None]
        for tensors in (input_tensors(program), results_in_text(program))
    )
    first = _SHOWN_TENSORS - min(len(results), _SHOWN_TENSORS // 2)
    chosen = inputs[:first] + results[: _SHOWN_TENSORS - len(inputs[:first])]
    more = len(inputs) + len(results) - len(chosen)
    return chosen, f", {more} tensors not drawn" if more else ""


def _strips(packing: ScalarPacking) -> tuple[list[Strip], str]:
    """Vectors that go in and come out, and what is left out of them."""
    strips = strips_of(packing)
    more = len(strips) - _SHOWN_STRIPS
    return strips[:_SHOWN_STRIPS], f", {more} vectors not drawn" if more > 0 else ""


def _draw_work(
    above: Axes, below: Axes, program: Body, scheme: Any, profile: Profile | None
) -> None:
    """Draw the graph of a program, and below it the seconds of every node."""
    measured: Sequence[float] | None = None
    modelled: Sequence[float] | None = None
    if isinstance(program, SlotProgram):
        nodes, operations = nodes_of(program), len(program.operations)
        if scheme.encrypts:
            modelled = modelled_seconds(program, scheme)
    else:
        nodes, operations = nodes_of_bootstraps(program), program.node_count
        if isinstance(scheme, Tfhe):
            costs = known_set(scheme.parameters.name, scheme.failure_bits)
            modelled = None if costs is None else node_seconds(program, costs)
    if modelled is not None:
        modelled = seconds_of_nodes(nodes, dict(enumerate(modelled)))
    if profile is not None and profile.operations:
        seconds = {each.number: each.seconds for each in profile.operations}
        measured = seconds_of_nodes(nodes, seconds)
    draw_graph(above, nodes, operations)
    draw_times(below, nodes, measured, modelled)
    below.sharex(above)


def _draw_strip(axes: Axes, strip: Strip) -> None:
    """Draw the slots of one evaluation of a vector with what they hold."""
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
