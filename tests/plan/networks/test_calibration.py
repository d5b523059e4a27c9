"""What is retained of the inputs that a network is calibrated on."""

from __future__ import annotations

import numpy as np
import pytest

from cloakwork.plan.networks import calibration
from cloakwork.plan.networks.calibration import calibrate
from cloakwork.programs.ir import layers as g

WIDTH, ROWS, RETAINED = 16, 40, 8


def test_no_more_inputs_are_retained_than_their_bytes_allow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nodes = [g.node("x", g.InputLayer((WIDTH,)), (), [])]
    # Every function has its extremes at other inputs, and the result has both of the first.
    for number in range(WIDTH):
        picked = g.appended(nodes, "pick", g.Rearrange(np.array([number]), (1,)), 0)
        g.appended(nodes, "tanh", g.Activation("tanh"), picked)
    g.appended(nodes, "y", g.OutputLayer(), 2)
    graph = g.build(nodes)
    rows = np.random.default_rng(0).normal(size=(ROWS, WIDTH))
    whole = calibrate(graph, [rows])
    assert len(whole.outermost) > RETAINED
    assert len(whole.spread) == ROWS

    monkeypatch.setattr(calibration, "_MOST_BYTES_RETAINED", RETAINED * rows[0].nbytes)
    seen = calibrate(graph, [rows[: ROWS // 2], rows[ROWS // 2 :]])
    np.testing.assert_array_equal(seen.lows, whole.lows)
    np.testing.assert_array_equal(seen.highs, whole.highs)
    assert seen.samples == ROWS
    # The first input is there, extreme or not.
    assert len(seen.outermost) <= RETAINED + 1
    assert RETAINED // 2 <= len(seen.spread) <= RETAINED
    known = {row.tobytes() for row in rows}
    assert {row.tobytes() for row in seen.retained} <= known
