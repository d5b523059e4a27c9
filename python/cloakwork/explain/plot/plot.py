"""The plan of a computation as a figure: slots, the program's graph, the time of its operations."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cloakwork._native import Parameters
from cloakwork.explain.graph import Node, nodes_of, seconds_of_nodes
from cloakwork.explain.integers import Exact
from cloakwork.explain.modelled import modelled_seconds
from cloakwork.explain.plot.figure import empty_figure, saved
from cloakwork.explain.plot.integers import plot_integers
from cloakwork.explain.slots import Planned
from cloakwork.explain.tensors import ProgramTensor, inputs_of, results_of
from cloakwork.frontends.tensors.tensor import Tensor, require_tensor
from cloakwork.programs.layout import Layout
from cloakwork.programs.slots import Program
from cloakwork.runtime import security_label as secrecy
from cloakwork.runtime.profile import Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Inches.
_WIDTH = 12.0
_TENSOR_HEIGHT = 1.15
_GRAPH_HEIGHT = 3.9
_TIME_HEIGHT = 2.6
_SHOWN_TENSORS = 6


def plot(x: Tensor | Planned | Exact, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw a plan: which slots hold what, the graph by level, the time of every operation.

    No number inside a tensor is shown. The figure has no display and needs none.

    Args:
        x: A tensor, of which the program that made it is drawn; or a compiled program or circuit.
        path: Where to write the figure; the ending says as what, such as `.png` or `.svg`.

    Raises:
        InvalidArgumentError: It is none of these, or the path is of no kind that can be written.
        MissingDependencyError: Matplotlib is not installed.

    Example:
        >>> import pytest
        >>> _ = pytest.importorskip("matplotlib")
        >>> import cloakwork as cw
        >>> session = cw.Session(depth=1, backend="clear", insecure=True, log_n=11)
        >>> figure = cw.plot(cw.einsum("ij->j", session.encrypt([[1.0, 2.0], [3.0, 4.0]])))
        >>> [axes.get_title(loc="left") for axes in figure.axes][:2]
        ['operand0  (2, 2)', 'result  (2,)']
    """
    if isinstance(x, Exact):
        return plot_integers(x, path)
    if not isinstance(x, Planned):
        require_tensor(x, "plot")
    figure = empty_figure()
    if isinstance(x, Tensor) and x.program is None:
        _draw_fresh(figure, x)
    elif isinstance(x, Tensor):
        assert x.program is not None
        _draw_program(figure, x.program, x.parameters, x.profile, hidden=x.hidden)
    else:
        _draw_program(figure, x.program, x.parameters, None, hidden=True)
    return saved(figure, path)


def _draw_fresh(figure: Figure, tensor: Tensor) -> None:
    from cloakwork.explain.plot.slots import draw_legend, draw_slots  # noqa: PLC0415

    figure.set_size_inches(_WIDTH, 0.9 + 1.5 * _TENSOR_HEIGHT)
    figure.suptitle(_title("a tensor, not computed", tensor.parameters, hidden=tensor.hidden))
    axes = figure.subplots()
    draw_slots(axes, "tensor", tensor.layout)
    draw_legend(axes)


def _title(text: str, parameters: Parameters, *, hidden: bool) -> str:
    warning = secrecy.warning(parameters, hidden=hidden)
    return f"{text}   ({warning})" if warning else text


def _placed(tensors: list[ProgramTensor]) -> list[tuple[str, Layout]]:
    return [(each.name, each.layout) for each in tensors if each.layout is not None]


def _draw_program(
    figure: Figure,
    program: Program,
    parameters: Parameters,
    profile: Profile | None,
    *,
    hidden: bool,
) -> None:
    from cloakwork.explain.plot.graph import draw_graph  # noqa: PLC0415
    from cloakwork.explain.plot.slots import draw_legend, draw_slots  # noqa: PLC0415
    from cloakwork.explain.plot.time import draw_times  # noqa: PLC0415

    inputs, results = _placed(inputs_of(program)), _placed(results_of(program))
    kept = _SHOWN_TENSORS - min(len(results), _SHOWN_TENSORS // 2)
    shown = inputs[:kept] + results[: _SHOWN_TENSORS - len(inputs[:kept])]
    left_out = len(inputs) + len(results) - len(shown)
    heights = [_TENSOR_HEIGHT] * len(shown) + [_GRAPH_HEIGHT, _TIME_HEIGHT]
    figure.set_size_inches(_WIDTH, sum(heights) + 0.9)
    more = f", {left_out} tensors not drawn" if left_out else ""
    figure.suptitle(_title(program.title + more, parameters, hidden=hidden))
    *strips, graph, times = figure.subplots(len(heights), height_ratios=heights)
    for axes, (name, layout) in zip(strips, shown, strict=True):
        draw_slots(axes, name, layout)
    if shown:
        draw_legend(strips[0])
    nodes = nodes_of(program)
    draw_graph(graph, nodes, len(program.operations))
    measured, modelled = _times(program, parameters, nodes, profile, hidden=hidden)
    draw_times(times, nodes, measured, modelled)
    times.sharex(graph)


def _times(
    program: Program,
    parameters: Parameters,
    nodes: list[Node],
    profile: Profile | None,
    *,
    hidden: bool,
) -> tuple[list[float] | None, list[float] | None]:
    measured = modelled = None
    if profile is not None:
        taken = {each.number: each.seconds for each in profile.operations}
        measured = seconds_of_nodes(nodes, taken)
    if hidden:
        told = dict(enumerate(modelled_seconds(program, parameters)))
        modelled = seconds_of_nodes(nodes, told)
    return measured, modelled
