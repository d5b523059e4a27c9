"""Errors to expect of runs: those of the noise, and no more runs than tell them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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


@dataclass(frozen=True)
class Some(Doubled):
    """A few of the slots, or all."""

    count: int

    def unpack(self, vectors: Sequence[Vector], width: int) -> Vector:
        return super().unpack(vectors, width)[:, : self.count]


@pytest.mark.parametrize("count", [8, _SLOTS])
def test_numbers_that_the_noisiest_slots_lose_are_told(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A comparison with what is no number must not end in the usual error."""

    def lost(program: SlotProgram, inputs: Sequence[Vector], noise: NoiseModel) -> list[Vector]:
        made = results(program, inputs, noise)
        return made if np.all(noise.times == 1.0) else [np.full_like(made[0], np.nan)]

    monkeypatch.setattr(expected, "results", lost)
    run = run_of(0)
    some = ClearRun(run.inputs, run.results[:, :count], 1)
    assert not expected_error(Some(count), [some], _NOISE) < np.inf


def test_one_slot_in_a_million_secrets_is_as_large() -> None:
    """Of 4,096 slots: the squares of their sizes fall off as exp(-x)."""
    sizes = expected._sizes_of_secret(_SLOTS)
    assert sizes.max() == pytest.approx(np.sqrt(np.log(_SLOTS * 2.0**20)))
    assert 1.0 < np.sqrt(np.mean(sizes**2)) < 2.0


def test_errors_of_a_long_program_with_few_results_are_drawn_seldom(
    simulated: list[NoiseModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Pair(Doubled):
        def unpack(self, vectors: Sequence[Vector], width: int) -> Vector:
            return super().unpack(vectors, width)[:, :2]

    runs = [replace(run, results=run.results[:, :2]) for run in map(run_of, range(3))]
    often = expected_error(Pair(), runs, _NOISE)
    assert len(simulated) == 2 * 3 * 8
    simulated.clear()
    monkeypatch.setattr(expected, "_MANY_NUMBERS", 1)
    assert often / 4 < expected_error(Pair(), runs, _NOISE) < 4 * often
    assert len(simulated) == 3 * 2 + 2
