"""Sums that only norms read: their terms are centred, and the sums themselves need no matrix."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import Tensor, nn

from cloakwork.frontends.nn.capture import capture
from cloakwork.plan.networks.centred_sums import with_sums_centred
from cloakwork.plan.networks.softmaxes import is_centring
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import evaluate


class Stream(nn.Module):
    """Blocks that norm what they take and add to one stream; its end is normed, or goes out."""

    def __init__(self, *, normed: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.norms = nn.ModuleList(nn.LayerNorm(6) for _ in range(3))
        self.blocks = nn.ModuleList(nn.Linear(6, 6) for _ in range(2))
        self.normed = normed

    def forward(self, x: Tensor) -> Tensor:
        for norm, block in zip(self.norms[:2], self.blocks, strict=True):
            x = x + block(norm(x))
        made: Tensor = self.norms[2](x) if self.normed else x
        return made


def centrings(graph: g.Graph) -> list[str]:
    """What the means are taken of: kinds of layers."""
    return [
        type(graph.nodes[node.inputs[0]].operation).__name__
        for node in graph.nodes
        if is_centring(node.operation)
    ]


@pytest.mark.parametrize("shape", [(6,), (3, 6)])
def test_a_stream_that_only_norms_read_needs_no_centring(shape: tuple[int, ...]) -> None:
    x = torch.randn(5, *shape)
    graph = capture(Stream(normed=True).eval(), x)
    assert centrings(graph) == ["InputLayer", "AddLayer", "AddLayer"]
    found = with_sums_centred(graph)
    # Of the input once, and of what each block adds, whose matrix it is merged with.
    assert sorted(centrings(found)) == ["InputLayer", "LinearLayer", "LinearLayer"]
    one, other = (evaluate(each, x.double().numpy()) for each in (graph, found))
    np.testing.assert_allclose(one, other, atol=1e-12)


def test_a_stream_that_goes_out_stays() -> None:
    x = torch.randn(5, 6)
    graph = capture(Stream(normed=False).eval(), x)
    found = with_sums_centred(graph)
    assert centrings(found) == centrings(graph)
    assert len(found.nodes) == len(graph.nodes)
