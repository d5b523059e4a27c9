"""Errors to expect of runs: those of the noise, and no more runs than tell them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from cloakwork.plan.reals import expected
from cloakwork.plan.reals.expected import ClearRun, expected_error
from cloakwork.programs.slots import Add, Input, Output, SlotProgram, Vector
from cloakwork.runtime.simulate import results
from cloakwork.schemes.ckks_noise import NoiseModel

_SLOTS = 4096
_NOISE = NoiseModel(2 * _SLOTS, (2.0**30, 2.0**30))


@dataclass(frozen=True)
class Doubled:
    """x + x of all slots."""

    program = SlotProgram("x+x", _SLOTS, (Input("x", 0), Add(0, 0), Output(1)), (None,) * 3)

    def unpack(self, vectors: Sequence[Vector], width: int) -> Vector:
        return np.asarray(vectors[0]).reshape(width, -1)


def run_of(seed: int) -> ClearRun:
    x = np.random.default_rng(seed).normal(size=_SLOTS)
    return ClearRun([x], 2 * x[np.newaxis], 1)


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> list[NoiseModel]:
    seen: list[NoiseModel] = []

    def counted(program: SlotProgram, inputs: Sequence[Vector], noise: NoiseModel) -> list[Vector]:
        seen.append(noise)
        return results(program, inputs, noise)

    monkeypatch.setattr(expected, "results", counted)
    return seen


def test_the_error_is_that_of_the_noise(simulated: list[NoiseModel]) -> None:
    error = expected_error(Doubled(), [run_of(seed) for seed in range(3)], _NOISE)
    deviation = 2 * _NOISE.encryption(0)
    # The largest of so many Gaussian numbers, but for one in a million.
    assert 6.0 < error / deviation < 10.0
    assert len(simulated) == 3 * 2 + 2


def test_the_first_run_that_is_off_by_enough_is_the_last(simulated: list[NoiseModel]) -> None:
    runs = [run_of(seed) for seed in range(3)]
    whole = expected_error(Doubled(), runs, _NOISE)
    simulated.clear()
    assert expected_error(Doubled(), runs, _NOISE, enough=whole / 2) > whole / 2
    assert len(simulated) == 2
    simulated.clear()
    assert expected_error(Doubled(), runs, _NOISE, enough=2 * whole) == whole
    assert len(simulated) == 8


def test_a_single_draw_is_two(simulated: list[NoiseModel]) -> None:
    error = expected_error(Doubled(), [run_of(0)], _NOISE, draws=1, enough=0.0)
    assert 6.0 < error / (2 * _NOISE.encryption(0)) < 10.0
    assert len(simulated) == 2
