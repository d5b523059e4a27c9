"""Compositions of polynomials are 0 below a cut and 1 above, wherever it lies."""

from __future__ import annotations

import numpy as np
import pytest

from cloakwork.plan.fitting.sign import composed_value
from cloakwork.plan.fitting.step import step_stages


@pytest.mark.parametrize("cut", [-0.9, -0.3, 0.0, 0.6, 0.82])
@pytest.mark.parametrize("gap", [0.08, 0.055, 0.008])
@pytest.mark.parametrize("bits", [8, 20])
def test_steps_are_as_near_as_asked_beyond_the_gap(cut: float, gap: float, bits: int) -> None:
    stages = step_stages(cut, gap, 2.0**-bits)
    assert stages is not None
    t = np.linspace(-1, 1, 9973)
    t = t[np.abs(t - cut) >= gap]
    assert np.abs(composed_value(stages, t) - (t > cut)).max() <= 2.0**-bits * 1.001
    # Which of two numbers close to the cut is above it shows, too.
    close = cut + np.array([-0.25, 0.25]) * gap
    assert (composed_value(stages, close) > 0.5).tolist() == [False, True]


def test_a_cut_near_an_end_takes_fewer_levels_than_the_sign_in_a_range_as_wide() -> None:
    depths = []
    for cut in (0.0, 0.8):
        stages = step_stages(cut, 1 / 16, 2.0**-18)
        assert stages is not None
        depths.append(sum((len(each) - 1).bit_length() for each in stages))
    assert depths == [9, 8]


def test_too_small_a_gap_has_no_polynomials() -> None:
    assert step_stages(0.5, 2.0**-30, 2.0**-30) is None
