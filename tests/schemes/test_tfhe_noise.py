"""Noise of bootstrap programs: tails far below what doubles hold, budgets, programs by hand."""

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakwork._native import boolean_log2_failure, boolean_parameter_sets
from cloakwork.errors import InvalidArgumentError, NoiseBudgetError
from cloakwork.programs.bootstraps import (
    EIGHTH,
    HALF,
    QUARTER,
    BootstrapBuilder,
    BootstrapProgram,
)
from cloakwork.programs.port import Port
from cloakwork.schemes.tfhe import Tfhe
from cloakwork.schemes.tfhe_noise import BitNoise, failure_of, noise_of, tables_log
from tests.plan.cost.published import published_costs

PUBLISHED = published_costs().noise
UNIT = 1e-6
NOISE = dataclasses.replace(
    PUBLISHED,
    fresh_variance=100 * UNIT,
    public_variance=100 * UNIT,
    bootstrap_variance=UNIT,
    switch_variance=(10 * UNIT, 20 * UNIT),
)


@pytest.mark.parametrize(
    ("deviations", "log2"),
    # log2(erfc(d / sqrt 2)) by 60 digits of arithmetic.
    [(1, -1.65603), (6, -28.91683), (9.16, -64.06290), (16.6, -203.15857), (40, -1159.80461)],
)
def test_tails_of_the_normal_distribution(deviations: float, log2: float) -> None:
    assert boolean_log2_failure(deviations, 1.0) == pytest.approx(log2, abs=1e-5)


@given(st.floats(1.0, 60.0), st.floats(1.01, 1.5))
def test_a_wider_margin_is_missed_less(margin: float, factor: float) -> None:
    assert boolean_log2_failure(margin * factor, 1.0) < boolean_log2_failure(margin, 1.0)


@pytest.mark.parametrize("failure_bits", [40, 64, 128])
@pytest.mark.parametrize("outputs", [1, 2])
def test_the_budget_is_where_failure_is_at_its_bound(outputs: int, failure_bits: int) -> None:
    noise = dataclasses.replace(PUBLISHED, failure_bits=failure_bits)
    budget = noise.budget(2, outputs)
    assert noise.log2_failure(2, outputs, budget) == pytest.approx(-failure_bits, abs=1e-6)


def test_no_noise_never_fails() -> None:
    assert boolean_log2_failure(0.1, 0.0) == -math.inf


def test_tables_take_powers_of_two() -> None:
    assert [tables_log(tables) for tables in (1, 2, 3, 4)] == [0, 1, 2, 2]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"switch_variance": ()}, "one, two and four"),
        ({"switch_variance": (0.0,) * 4}, "one, two and four"),
        ({"switch_variance": (-1.0,)}, "0 or more"),
        ({"switch_variance": (math.nan,)}, "finite"),
        ({"fresh_variance": math.inf}, "finite"),
        ({"bootstrap_variance": -1e-9}, "0 or more"),
        ({"max_message_bits": 1}, "a message space of 4 or more"),
    ],
)
def test_what_is_no_noise_is_refused(changed: dict[str, object], reason: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"parameters 'published': .*{reason}"):
        dataclasses.replace(PUBLISHED, **changed)  # type: ignore[arg-type]


def test_the_engines_sets_are_as_it_states() -> None:
    for name in boolean_parameter_sets():
        assert isinstance(noise_of(name), BitNoise)
        assert noise_of(name).most_tables(2) >= 1
    with pytest.raises(InvalidArgumentError, match="space5"):
        noise_of("space5")


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
        boolean_log2_failure(1 / 8, (100 + 20) * UNIT),
        boolean_log2_failure(1 / 8, (variance + 10) * UNIT),
        boolean_log2_failure(1 / 8, UNIT),
    ]
    found = failure_of(program(weights), NOISE)
    assert found.worst == pytest.approx(max(logs))
    assert found.total == pytest.approx(math.log2(sum(2.0**log for log in logs)))


def test_a_program_without_bootstraps_and_noise_never_fails() -> None:
    builder = BootstrapBuilder("one", ())
    builder.output(Port("y", "bits", 1), [builder.linear([], HALF)], [HALF])
    assert failure_of(builder.finish(), NOISE).total == -math.inf


def test_programs_that_fail_too_often_are_refused() -> None:
    noisy = program((512, -1))
    scheme = Tfhe("space8", 40)
    worst = scheme.failure(noisy).worst
    assert -128 < worst < -41
    Tfhe("space8", math.floor(-worst)).require_fitting(noisy)
    with pytest.raises(
        NoiseBudgetError, match=rf"cannot use .* 2\^-128 or less, got 2\^{worst:.1f}"
    ):
        Tfhe("space8").require_fitting(noisy)
