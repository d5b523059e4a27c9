"""Fits tried on inputs: ranges and errors in one run, and none beyond what a few refuse."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from benchmarks.nn.networks import network
from cloakwork.plan.networks.calibration import calibrate
from cloakwork.plan.networks.fit import fit
from cloakwork.plan.networks.refit import refitted
from cloakwork.plan.networks.samples import Samples
from cloakwork.plan.networks.trials import Trial, TriedInputs
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import results
from tests.plan.networks.test_refit import dense


def two_layers() -> g.Graph:
    random = np.random.default_rng(1)
    weights = random.normal(size=(8, 8)), random.normal(size=(2, 8))
    first, last = (g.LinearLayer(each, np.zeros(len(each))) for each in weights)
    return network((8,), first, g.Activation("tanh"), last)


def uniform(count: int) -> g.Array:
    return np.random.default_rng(2).uniform(-1, 1, (count, 8))


def test_a_trial_finds_the_numbers_of_layers_and_the_error() -> None:
    graph, rows = two_layers(), uniform(50)
    calibration = calibrate(graph, [rows])
    made = fit(graph, calibration, 6).graph
    trial = TriedInputs.of(graph, rows).trial(made)
    assert trial.is_within(made)
    expected = calibrate(made, [rows])
    np.testing.assert_array_equal(trial.lows, expected.lows)
    np.testing.assert_array_equal(trial.highs, expected.highs)
    error = np.abs(results(made, rows) - results(graph, rows)).max()
    assert trial.error == pytest.approx(error, rel=1e-9)


def test_others_are_run_where_the_first_stay_in_range() -> None:
    graph, rows = two_layers(), uniform(50)
    made = fit(graph, calibrate(graph, [rows]), 6, margin=0.5).graph
    seen: list[int] = []

    class Others:
        def __iter__(self) -> Iterator[g.Array]:
            for factor in (1.25, 9.0):
                seen.append(int(factor))
                yield factor * rows

    others = Others()
    within = TriedInputs.of(graph, rows, others).trial(made)
    assert not within.is_within(made)
    assert within.highs[0] == 9.0 * rows.max()
    assert seen == [1, 9]
    beyond = TriedInputs.of(graph, 9.0 * rows, others).trial(made)
    assert not beyond.is_within(made)
    assert seen == [1, 9]


def test_all_inputs_are_run_for_fits_that_a_few_accept(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    trial = TriedInputs.trial

    def counted(inputs: TriedInputs, graph: g.Graph) -> Trial:
        counts.append(len(inputs.rows))
        return trial(inputs, graph)

    monkeypatch.setattr(TriedInputs, "trial", counted)
    graph = dense(8, ("silu", "silu", "silu"), 4.0)
    samples = Samples(graph, uniform(200))
    fitted, _ = refitted(graph, samples, calibrate(graph, samples), 6, 0.25, None)
    assert [each.depth for each in fitted.fits] == [5, 6, 7]
    # As precise as asked; then a level less, which all accept, and two that four refuse.
    assert counts == [200, 200, 4, 200, 4, 4]
