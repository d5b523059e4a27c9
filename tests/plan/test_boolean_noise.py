"""Noise of bootstrap programs, by hand."""

import dataclasses
import math
import tracemalloc

import pytest

from cloakwork.errors import InvalidProgramError, MalformedBytesError
from cloakwork.plan.boolean_noise import failure_of
from cloakwork.plan.boolean_target import log2_beyond, published_target
from cloakwork.programs import bootstraps_file
from cloakwork.programs.bootstraps import (
    EIGHTH,
    HALF,
    QUARTER,
    BootstrapBuilder,
    BootstrapProgram,
)
from cloakwork.programs.ports import Port

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


def test_noisier_inputs_as_of_a_public_key_fail_more_often() -> None:
    quiet = failure_of(program((1, 1)), TARGET)
    assert failure_of(program((1, 1)), TARGET, TARGET.fresh_variance) == quiet
    assert failure_of(program((1, 1)), TARGET, 2 * TARGET.fresh_variance).worst > quiet.worst


def test_memory_does_not_grow_with_the_square_of_a_program() -> None:
    count = 8000
    builder = BootstrapBuilder("sums", (Port("a", "bits", count),))
    total = builder.input(0, HALF)
    for bit in range(1, count):
        total = builder.linear([(total, 1), (builder.input(bit, HALF), 1)], 0)
    builder.output(Port("y", "bits", 1), [total], [HALF])
    sums = builder.finish()
    tracemalloc.start()
    found = failure_of(sums, TARGET)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.worst == pytest.approx(log2_beyond(1 / 4, count * 100 * UNIT))
    assert peak < 10 << 20


@pytest.mark.parametrize(
    ("weight", "nodes", "message"),
    [(1 << 30, 40, "weights up to"), (1 << 16, 3, "terms of weight"), (1 << 31, 1, "int32")],
)
def test_weights_that_outgrow_all_noise_are_refused(weight: int, nodes: int, message: str) -> None:
    builder = BootstrapBuilder("heavy", (Port("a", "bits", 1),))
    total = builder.input(0, HALF)
    for _ in range(nodes):
        total = builder.linear([(total, weight)], 0)
    builder.output(Port("y", "bits", 1), [total], [HALF])
    with pytest.raises(InvalidProgramError, match=message):
        builder.finish()


def test_bytes_of_such_a_program_are_malformed(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = BootstrapBuilder("heavy", (Port("a", "bits", 1),))
    total = builder.input(0, HALF)
    for _ in range(40):
        total = builder.linear([(total, 1 << 30)], 0)
    builder.output(Port("y", "bits", 1), [total], [HALF])
    with monkeypatch.context() as patch:
        patch.setattr(BootstrapProgram, "native", lambda self: None)
        data = bootstraps_file.to_bytes(builder.finish())
    assert len(data) < 1000
    with pytest.raises(MalformedBytesError, match="weights up to 65536"):
        bootstraps_file.from_bytes(data)
