"""What is chosen for a function is as near to it as asked, all over the range and at its ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from cloakwork.errors import ActivationFitError
from cloakwork.plan.functions.choose import Fit, chosen
from cloakwork.plan.functions.clear import values_of
from cloakwork.plan.functions.recipes import GAP, Request
from cloakwork.plan.passes.levels import depth_of
from cloakwork.plan.tensors.lower import lower
from cloakwork.programs.functions import FUNCTIONS
from cloakwork.programs.ir.layers import Array
from cloakwork.programs.ir.tensors import Source
from tests.thoroughness import part, slow

JUMPS = ("sign", "step")
POSITIVE = ("log", "log10", "log2", "reciprocal", "rsqrt")


def computed(fit: Fit, numbers: Array) -> Array:
    source = Source("x", numbers.shape)
    made = fit.way(source)
    return values_of([made], {source: numbers})[made]


OF_NUMBERS = [name for name, each in FUNCTIONS.items() if not each.parameters]


@pytest.mark.parametrize("function", sorted(OF_NUMBERS))
@settings(max_examples=part(6), deadline=None)
@given(
    ends=st.tuples(st.floats(-4, 4), st.floats(0.25, 4)),
    bits=st.integers(4, 12),
    seed=st.integers(0, 99),
)
@example(ends=(-1.0, 2.0), bits=12, seed=0)
def test_functions_are_as_near_as_asked(
    function: str, ends: tuple[float, float], bits: int, seed: int
) -> None:
    low, high = ends[0], ends[0] + ends[1]
    if function in POSITIVE or function in ("sqrt", "log1p"):
        low, high = abs(low) + 0.125, abs(low) + 0.125 + ends[1]
    elif function in ("arccos", "arcsin"):
        low, high = low / 10, (low + ends[1]) / 10
    elif function == "arccosh":
        low, high = abs(low) + 1.125, abs(low) + 1.125 + ends[1]
    random = np.random.default_rng(seed).uniform(low, high, 1000)
    numbers = np.concatenate([[low, high], random])
    if function == "bit_of_phase":
        # Phases are half turns, and bits are returned for all of them alike.
        low, high = 2.0**-10 - 1, 1 - 2.0**-10
        numbers = FUNCTIONS[function].numbers(low, high)
    fit = chosen(Request(function, low, high, 2.0**-bits))
    numbers = numbers[np.abs(numbers) >= fit.asked.gap]
    found = computed(fit, numbers)
    assert np.abs(found - FUNCTIONS[function].value(numbers)).max() <= 2.0**-bits
    assert fit.error <= 2.0**-bits


@pytest.mark.parametrize("function", JUMPS)
@pytest.mark.parametrize("bits", [4, 12, 20])
@pytest.mark.parametrize("ends", [(-1.0, 1.0), (-3.0, 1.0), (-0.5, 4.0)])
def test_jumps_rise_from_one_value_to_the_other_within_their_gap(
    function: str, bits: int, ends: tuple[float, float]
) -> None:
    fit = chosen(Request(function, *ends, 2.0**-bits))
    assert fit.asked.gap == GAP * max(map(abs, ends))
    numbers = np.linspace(-fit.asked.gap, fit.asked.gap, 1001)
    found = computed(fit, numbers)
    least = -1.0 if function == "sign" else 0.0
    assert (np.diff(found) > 0).all()
    assert abs(found[0] - least) <= 2.0**-bits
    assert abs(found[500] - (least + 1) / 2) <= 2.0**-bits
    assert abs(found[-1] - 1) <= 2.0**-bits


def test_only_jumps_that_are_in_the_range_have_a_gap() -> None:
    assert Request("step", 0.5, 1.0, 0.1).gap == 0
    assert Request("tanh", -1.0, 1.0, 0.1).gap == 0


@settings(max_examples=part(10), deadline=None)
@given(ratio=st.floats(1.5, 2000), bits=st.integers(6, 18), is_negative=st.booleans())
def test_inverses_over_wide_ranges(ratio: float, bits: int, is_negative: bool) -> None:
    low, high = 1.0, ratio
    for function in ("reciprocal",) if is_negative else ("reciprocal", "rsqrt", "sqrt"):
        ends = (-high, -low) if is_negative else (low, high)
        fit = chosen(Request(function, *ends, 2.0**-bits))
        numbers = np.geomspace(low, high, 999) * (-1 if is_negative else 1)
        found = computed(fit, numbers)
        assert np.abs(found - FUNCTIONS[function].value(numbers)).max() <= 2.0**-bits


@pytest.mark.parametrize(
    ("asked", "depth"),
    [
        (Request("exp", -1.0, 1.0, 2.0**-12), 3),
        (Request("reciprocal", 1.0, 2.0, 2.0**-20), 4),
        (Request("sqrt", 0.0, 1.0, 2.0**-12), 13),
        (Request("log", 0.01, 100.0, 2.0**-20), 13),
        (Request("absolute", -1.0, 1.0, 2.0**-12), 14),
        (Request("relu", 0.5, 1.0, 2.0**-20), 0),
        (Request("absolute", -2.0, -1.0, 2.0**-20), 0),
        (Request("step", 1.0, 2.0, 2.0**-20), 0),
        (Request("sigmoid", -8.0, 8.0, 2.0**-12), 6),
    ],
)
def test_levels(asked: Request, depth: int) -> None:
    fit = chosen(asked)
    assert fit.depth == depth
    lowered = lower("", [fit.way(Source("x", (1,)))], 8, top=40)
    assert depth_of(lowered.program) == depth


@pytest.mark.parametrize(
    ("function", "low", "high", "value"),
    [
        ("sigmoid", 40, 80, 1.0),
        ("sigmoid", -80, -40, 0.0),
        ("tanh", -30, -20, -1.0),
        ("exp", -60, -40, 0.0),
        ("reciprocal", -(2**24), -(2**22), -(2**-23) * 1.25),
    ],
)
def test_what_is_one_number_within_the_error_takes_no_level(
    function: str, low: float, high: float, value: float
) -> None:
    found = chosen(Request(function, low, high, 2.0**-21))
    x = Source("x", (2,))
    result = found.way(x)
    made = values_of([result], {x: np.array([low, high])})[result]
    assert found.depth == 0
    assert np.abs(made - value).max() < found.error + 2**-30 < 2**-22


def test_a_wide_range_is_iterated_and_a_narrow_one_is_not() -> None:
    assert "Goldschmidt" in chosen(Request("reciprocal", 1.0, 5000.0, 2.0**-20)).name
    assert "Goldschmidt" not in chosen(Request("reciprocal", 1.0, 1.5, 2.0**-20)).name
    assert "squared" in chosen(Request("exp", -8.0, 8.0, 2.0**-12)).name


@pytest.mark.parametrize("bits", [20, *slow(24)])
def test_absolute_values_beyond_what_exchanges_settle_for(bits: int) -> None:
    fit = chosen(Request("absolute", -1.0, 1.0, 2.0**-bits))
    numbers = np.concatenate([np.geomspace(1e-9, 1.0, 9999), [0.0]])
    found = computed(fit, numbers)
    assert np.abs(found - numbers).max() <= 2.0**-bits


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (Request("reciprocal", -1.0, 1.0, 0.1), "not defined on all"),
        (Request("reciprocal", 0.0, 1.0, 0.1), "not defined on all"),
        (Request("log", -0.5, 1.0, 0.1), "not defined on all"),
        (Request("sqrt", -0.5, 1.0, 0.1), "not defined on all"),
        (Request("exp", 0.0, 800.0, 0.1), "outgrow doubles"),
        (Request("tanh", -1e6, 1e6, 2.0**-20), "nothing comes within"),
        (Request("log", 1e-9, 1.0, 2.0**-20), "nothing comes within"),
    ],
)
def test_refusals_name_the_function_and_its_range(asked: Request, reason: str) -> None:
    with pytest.raises(ActivationFitError, match=reason) as caught:
        chosen(asked)
    assert str(caught.value).startswith(f"cannot compute {asked.function} of numbers from")


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(sorted(OF_NUMBERS)), st.floats(-8, 8), st.floats(0.01, 8), st.floats(0, 0.1))
def test_images_and_what_errors_do(function: str, low: float, width: float, error: float) -> None:
    known, high = FUNCTIONS[function], low + width
    assume(known.has(low, high))
    least, greatest = known.image(low, high)
    numbers = np.linspace(low, high, 777)
    values = known.value(numbers)
    slack = 1e-5 * (1 + np.abs(values).max())
    assert least - slack <= values.min() <= values.max() <= greatest + slack
    moved = np.abs(known.value(np.clip(numbers + error, low, high)) - values).max()
    assert moved <= known.moved_by(low, high, error) * 1.01 + slack
