"""Draws a program's graph: operations from left to right, levels from top to bottom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.transforms import blended_transform_factory

from cloakwork.explain.graph import GraphNode

COLOURS: Mapping[str, str] = {
    "input": "#222222",
    "linear": "#e07b00",
    "polynomial": "#c2549c",
    "mul": "#c8202f",
    "rotate": "#1f6fb4",
    "rotate_sum": "#17406d",
    "add": "#3a9b4a",
    "sub": "#3a9b4a",
    "neg": "#7a8b2a",
    "bootstrap": "#c8202f",
    "paired_bootstrap": "#c8202f",
    "rotated_products": "#8b1a1a",
    "diagonal_products": "#8b1a4a",
    "add_products": "#2c6e3a",
    "switch_product": "#4a90d9",
    "rescale": "#7b5bb0",
    "drop_level": "#9a6a52",
    "output": "#222222",
}
_MARKERS = {"input": ">", "output": "s"}
# Share of the height of a level that its nodes take.
_BAND = 0.7
# Height above the levels, where the numbers of the stages are, as a share of theirs.
_HEADROOM = 0.08
# Share of the width that a stage must have for its number to be written.
_WRITTEN = 0.018


def draw_graph(axes: Axes, nodes: Sequence[GraphNode], operations: int) -> None:
    """Draw the nodes by order and level, coloured by kind, and the edges between them."""
    tracks: dict[int, int] = {}
    for node in nodes:
        tracks[node.level] = max(tracks.get(node.level, 0), node.track)
    points = [
        (place, node.level + _BAND * (0.5 - node.track / max(tracks[node.level], 3)))
        for place, node in enumerate(nodes)
    ]
    edges = [
        [points[parent], points[place]]
        for place, node in enumerate(nodes)
        for parent in node.parents
    ]
    alpha = max(0.03, min(0.6, 60 / max(len(edges), 1)))
    axes.add_collection(LineCollection(edges, colors="0.35", linewidths=0.7, alpha=alpha, zorder=1))
    size = max(9.0, min(46.0, 4200 / max(len(nodes), 1)))
    for kind in dict.fromkeys(node.kind for node in nodes):
        chosen = [points[place] for place, node in enumerate(nodes) if node.kind == kind]
        axes.scatter(
            [x for x, _ in chosen],
            [y for _, y in chosen],
            s=size,
            color=COLOURS[kind],
            marker=_MARKERS.get(kind, "o"),
            label=kind.replace("_", " "),
            edgecolors="white",
            linewidths=0.4,
            zorder=2,
        )
    top, bottom = max(tracks, default=0), min(tracks, default=0)
    for level in range(bottom, top + 1):
        if (top - level) % 2:
            axes.axhspan(level - 0.5, level + 0.5, color="0.955", zorder=0, linewidth=0)
    axes.set_ylim(bottom - 0.5, top + 0.5 + _HEADROOM * (top - bottom + 1))
    margin = 0.01 * len(nodes)
    axes.set_xlim(-0.7 - margin, len(nodes) - 0.3 + margin)
    axes.set_yticks(range(bottom, top + 1))
    axes.set_ylabel("level")
    axes.tick_params(labelsize=8)
    axes.tick_params(axis="x", labelbottom=False)
    _draw_stages(axes, nodes)
    drawn = "every operation, left to right"
    if len(nodes) < operations // 2:
        drawn = f"{operations} operations; a dot is all that one stage does to one ciphertext"
    axes.set_title("graph", loc="left", fontsize=10)
    axes.set_title(drawn, loc="right", fontsize=9, color="0.35")
    axes.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.02),
        ncols=len(COLOURS),
        fontsize=8,
        frameon=False,
        handletextpad=0.2,
        columnspacing=1.4,
    )


def _draw_stages(axes: Axes, nodes: Sequence[GraphNode]) -> None:
    """Lines between stages, and at the top their numbers, as `explain` has them."""
    places: dict[int, list[int]] = {}
    for place, node in enumerate(nodes):
        if node.stage:
            places.setdefault(node.stage, []).append(place)
    at_top = blended_transform_factory(axes.transData, axes.transAxes)
    for stage, members in places.items():
        axes.axvline(members[0] - 0.5, color="0.8", linewidth=0.8, linestyle=":", zorder=0)
        if members[-1] - members[0] + 1 >= _WRITTEN * len(nodes):
            axes.text(
                (members[0] + members[-1]) / 2,
                0.98,
                str(stage),
                transform=at_top,
                ha="center",
                va="top",
                fontsize=8,
                color="0.35",
            )
