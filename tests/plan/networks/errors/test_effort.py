"""A search takes no more runs than a network's size allows, and some in any case."""

from __future__ import annotations

import numpy as np

from cloakwork.plan.networks.errors.effort import effort_for
from cloakwork.programs.ir import layers as g


def wide(size: int) -> g.Graph:
    nodes = [g.node("x", g.InputLayer((size, 64), 1.0), (), [])]
    layer = g.LinearLayer(np.broadcast_to(1.0, (64, 64)), np.zeros(64))
    for name, each in ("linear", layer), ("y", g.OutputLayer()):
        nodes.append(g.node(name, each, (len(nodes) - 1,), nodes))
    return g.build(nodes)


def test_runs_of_larger_networks_are_fewer() -> None:
    efforts = [effort_for(wide(1 << bits)) for bits in range(4, 22)]
    runs = [each.runs for each in efforts]
    assert runs == sorted(runs, reverse=True)
    assert len(set(runs)) == 6
    assert efforts[0].starts == 32
    assert efforts[-1].starts == 1
