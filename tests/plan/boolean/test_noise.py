"""Noise of bootstrap programs, by hand."""

import dataclasses
import math

import pytest
from cloakwork.plan.boolean.noise import failure_of

from cloakwork.plan.cost.tfhe import log2_beyond, published_target
from cloakwork.programs.bootstraps import (
    EIGHTH,
    HALF,
    QUARTER,
    BootstrapBuilder,
    BootstrapProgram,
)
from cloakwork.programs.port import Port

UNIT = 1e-6
TARGET = dataclasses.replace(
    published_target(),
    fresh_variance=100 * UNIT,
    bootstrap_variance=UNIT,
    switch_variance=(10 * UNIT, 20 * UNIT),
    bootstrap_seconds=(1.0, 1.0),
)


def program(weights: tuple[int, int]) -> BootstrapProgram:
    """Two outputs of one bootstrap of an input, summed by a linear node, bootstrapped again."""
    builder = BootstrapBuilder("noise", (Port("a", "bits", 1),))
    tables = [(-EIGHTH, EIGHTH), (-QUARTER, QUARTER)]
    first = builder.input(0, QUARTER)
    made = builder.bootstrap([(first, 1)], 0, 2, tables, [EIGHTH, QUARTER])
    total = builder.linear(list(zip(made, weights, strict=True)), 0)
    (last,) = builder.bootstrap([(total, 1)], 0, 2, [(-EIGHTH, EIGHTH)], [EIGHTH])
    builder.output(Port("y", "bits", 1), [last], [QUARTER])
    return builder.finish()


@pytest.mark.parametrize(("weights", "variance"), [((1, 0), 1), ((1, 1), 4), ((2, -1), 9)])
def test_outputs_of_one_bootstrap_are_taken_as_one_noise(
    weights: tuple[int, int], variance: int
) -> None:
    logs = [
        log2_beyond(1 / 8, (100 + 20) * UNIT),
        log2_beyond(1 / 8, (variance + 10) * UNIT),
        log2_beyond(1 / 8, UNIT),
    ]
    found = failure_of(program(weights), TARGET)
    assert found.worst == pytest.approx(max(logs))
    assert found.total == pytest.approx(math.log2(sum(2.0**log for log in logs)))


def test_a_program_without_bootstraps_and_noise_never_fails() -> None:
    builder = BootstrapBuilder("one", ())
    builder.output(Port("y", "bits", 1), [builder.linear([], HALF)], [HALF])
    assert failure_of(builder.finish(), TARGET).total == -math.inf
