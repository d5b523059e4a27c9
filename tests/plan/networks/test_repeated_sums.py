"""Sums that are made once for each row where all elements of the rows take several ciphertexts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

import cloakwork as cw
from cloakwork.frontends.nn.capture import capture
from cloakwork.plan.networks.calibration import calibrate
from cloakwork.plan.networks.repeated_sums import with_sums_made_once
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import evaluate, table_of_inputs
from cloakwork.programs.slots import Bootstrap, SlotProgram


class Rows(torch.nn.Module):
    """Shares of a matrix's rows, and the rows normed."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shares = (2 * x).softmax(-1)
        return shares * torch.nn.functional.layer_norm(x, x.shape[-1:])


def inputs(rows: int, length: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(40, rows, length, generator=generator).double()


@pytest.mark.parametrize("rows", [3, 8])
def test_results_and_ranges_stay_the_same(rows: int) -> None:
    x = inputs(rows, 5)
    graph = capture(Rows().eval(), x)
    seen = calibrate(graph, [table_of_inputs(graph, [x.numpy()])])
    found, ranges = with_sums_made_once(graph, seen, 16)
    is_small = rows * 5 <= 16
    narrow = [each for each in found.nodes if each.shape == (rows, 1)]
    # The sum of powers and its reciprocal, the mean of squares and its inverse root.
    assert len(narrow) == (0 if is_small else 4)
    np.testing.assert_allclose(evaluate(found, x.numpy()), evaluate(graph, x.numpy()), atol=1e-12)
    again = calibrate(found, [table_of_inputs(found, [x.numpy()])])
    np.testing.assert_allclose(ranges.lows, again.lows, atol=1e-9)
    np.testing.assert_allclose(ranges.highs, again.highs, atol=1e-9)


def refreshed(program: cw.Program) -> int:
    """The ciphertexts that are refreshed."""
    assert isinstance(program.body, SlotProgram)
    return sum(isinstance(each, Bootstrap) for each in program.body.operations)


def test_sums_that_are_results_stay_where_they_are() -> None:
    nodes = [g.node("x", g.InputLayer((4, 8)), (), [])]
    nodes.append(g.node("sums", g.LinearLayer(np.ones((8, 8)), np.zeros(8)), (0,), nodes))
    nodes.append(g.node("y", g.OutputLayer(), (1,), nodes))
    graph = g.build(nodes)
    seen = calibrate(graph, [np.ones((1, 32))])
    assert with_sums_made_once(graph, seen, 16) == (graph, seen)


def test_what_follows_from_a_sum_is_refreshed_once_for_all_ciphertexts_of_its_terms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = 6 * inputs(16, 16)
    module = torch.nn.Softmax(-1).eval()
    options: dict[str, Any] = {"precision": 6, "log_n": 8, "bootstrap": True, "insecure": True}
    program = cw.nn.compile(module, x, **options)
    monkeypatch.setattr(
        "cloakwork.plan.networks.compile_graph.with_sums_made_once",
        lambda graph, calibration, _: (graph, calibration),
    )
    assert [refreshed(program), refreshed(cw.nn.compile(module, x, **options))] == [3, 4]
    with torch.no_grad():
        expected = module(x[:1]).numpy()[0]
    assert np.abs(program.run(x[0].numpy()) - expected).max() < 2.0**-6
