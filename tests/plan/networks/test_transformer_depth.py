"""How many levels a layer of a transformer takes."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import nn

import cloakwork as cw
from cloakwork.frontends.nn.capture import capture
from cloakwork.plan.networks.calibration import calibrate, with_ranges_of_factors
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.plan.networks.refit import refitted
from cloakwork.plan.networks.samples import Samples
from cloakwork.plan.networks.staged import StagedNetwork
from cloakwork.plan.networks.stages import stages_within_one
from cloakwork.plan.networks.wide_softmaxes import with_narrower_softmaxes
from cloakwork.programs.ir.layer_values import evaluate
from cloakwork.programs.slots import Bootstrap, SlotProgram

WIDTH, HEADS, TOKENS = 16, 4, 8


class Layer(nn.Module):
    """Attention and two dense layers, each with a residual and a norm after it, as in BERT."""

    def __init__(self, scale: float, width: int = WIDTH, heads: int = HEADS) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.heads = heads
        self.query, self.key, self.value, self.mix = (nn.Linear(width, width) for _ in range(4))
        self.first, self.second = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.inner, self.outer = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query.weight.data *= scale
        self.key.weight.data *= scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shape = *x.shape[:2], self.heads, x.shape[2] // self.heads
        parts = (each(x).view(shape).transpose(1, 2) for each in (self.query, self.key, self.value))
        query, key, value = parts
        scores = query @ key.transpose(-1, -2) / shape[-1] ** 0.5
        mixed = (scores.softmax(-1) @ value).transpose(1, 2).reshape(x.shape)
        x = self.inner(x + self.mix(mixed))
        return cast(torch.Tensor, self.outer(x + self.second(nn.functional.gelu(self.first(x)))))


@pytest.mark.parametrize(("scale", "depth"), [(1.0, 36), (2.0, 44), (4.0, 53)])
def test_the_wider_its_scores_are_the_deeper_it_is(scale: float, depth: int) -> None:
    module, x = Layer(scale).double().eval(), torch.randn(24, TOKENS, WIDTH).double()
    with torch.no_grad():
        expected = module(x).numpy()
    graph, options = capture(module, x), NetworkOptions(precision=8)
    samples = Samples(graph, x)
    seen = calibrate(graph, samples)
    batches = samples.again(seen.retained)
    graph, seen = with_narrower_softmaxes(graph, seen, batches, options)
    np.testing.assert_allclose(evaluate(graph, x.numpy()), expected, atol=1e-9)
    graph = with_ranges_of_factors(graph)
    fitted, _ = refitted(graph, samples, seen, options.precision, options.margin, None)
    assert np.abs(evaluate(fitted.graph, x.numpy()) - expected).max() < 2.0**-8
    assert StagedNetwork.of(fitted.graph, stages_within_one, pairs=False).depth == depth


@pytest.mark.slow
def test_a_layer_of_minilms_shape_refreshes_few_ciphertexts() -> None:
    """A layer of 384 features and 12 heads on 16 tokens, with 128-bit security."""
    module, x = Layer(2.0, 384, 12).eval(), torch.randn(24, 16, 384)
    program = cw.nn.compile(module, x, precision=8, bootstrap=True)
    body = cast(SlotProgram, program.body)
    refreshed = [each for each in body.operations if isinstance(each, Bootstrap)]
    assert 0 < len(refreshed) <= 8
