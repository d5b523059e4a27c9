"""Draws what every operation took, beside what the model says."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from cloakwork.explain.figures.graph import COLOURS
from cloakwork.explain.graph import GraphNode
from cloakwork.explain.quantities import duration


def draw_times(
    axes: Axes,
    nodes: Sequence[GraphNode],
    measured: Sequence[float] | None,
    modelled: Sequence[float] | None,
) -> None:
    """Draw a bar per node, and a mark where the model has it."""
    bars = measured if measured is not None else modelled
    if bars is not None:
        axes.bar(
            range(len(nodes)),
            [1e3 * seconds for seconds in bars],
            width=0.8,
            color=[COLOURS[node.kind] for node in nodes],
            alpha=1.0 if measured is not None else 0.45,
        )
    if measured is not None and modelled is not None:
        worked = [place for place, seconds in enumerate(modelled) if seconds > 0]
        axes.plot(
            worked,
            [1e3 * modelled[place] for place in worked],
            linestyle="none",
            marker="_",
            markersize=max(3.0, min(9.0, 500 / max(len(nodes), 1))),
            markeredgewidth=1.6,
            color="black",
            label="modelled",
        )
        axes.legend(loc="upper right", fontsize=8, frameon=False)
    told = [f"{duration(sum(measured))} measured"] if measured is not None else []
    told += [f"{duration(sum(modelled))} modelled"] if modelled is not None else ["not modelled"]
    axes.set_title("time", loc="left", fontsize=10)
    axes.set_title(", ".join(told), loc="right", fontsize=9, color="0.35")
    axes.set_ylabel("ms")
    axes.set_xlabel("in program order", fontsize=9)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
