"""Programs in a row that take each element from the slot where another program leaves it.

They begin with what brings elements to their places, so that no layout of both has to be one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import NoiseExhaustedError, ParametersMismatchError
from cloakwork.programs.packing.scalar import ROWS, ScalarPacking
from cloakwork.programs.port import Port
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.after import After, shape_of
from cloakwork.runtime.executor import run_in_order
from cloakwork.runtime.leaving import range_of, slots_of
from cloakwork.schemes.base import levels_of

if TYPE_CHECKING:
    from cloakwork.runtime.program import Program


@dataclass(frozen=True, slots=True, eq=False)
class ByElement(After):
    """Which input of a network is a result over reals, each of its elements in a slot by itself."""

    def misfit(self, program: Program) -> str:
        reason = self.absent(program)
        if reason:
            return reason
        wanted, given = self.port(program), self.result_port
        if (wanted.kind, given.kind) != ("real", "real") or wanted.shape != shape_of(
            self.program, given
        ):
            return f"its input {wanted} is not of the kind and shape of the result {given}"
        return self._misplaced(program, wanted)

    def _misplaced(self, program: Program, wanted: Port) -> str:
        """Why elements are not taken from where they lie; empty where they are."""
        taken = elements_taken(program, wanted)
        left = elements_left(self.program, self.result)
        same = len(taken) == len(left) and all(
            np.array_equal(one[other >= 0], other[other >= 0])
            for one, other in zip(taken.values(), left.values(), strict=True)
        )
        return "" if same else f"its input {self.input!r:.40} does not lie where the result does"

    def pairs(self, program: Program) -> list[tuple[int, int]]:
        numbers = program.packing.vectors_of([self.input])
        return list(zip(numbers, elements_left(self.program, self.result), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class OfIntegers(ByElement):
    """Which input of a program over integers is a result of another, exactly."""

    def misfit(self, program: Program) -> str:
        reason = self.absent(program)
        if reason:
            return reason
        wanted, given = self.port(program), self.result_port
        both = wanted.kind, given.kind
        if both != ("integer", "integer") or wanted.shape != given.shape:
            return f"its input {wanted} is not of the kind and shape of the result {given}"
        low, high = range_of_integers(self.program, given)
        if wanted.low is None or wanted.high is None or low < wanted.low or high > wanted.high:
            return f"its input {wanted} does not hold the result {given}"
        return self._misplaced(program, wanted)

    @property
    def takes_one(self) -> bool:
        return True

    def require_fit(self, program: Program, action: str) -> None:
        After.require_fit(self, program, action)
        try:
            _ = program.noise_of_results
        except NoiseExhaustedError as refusal:
            raise ParametersMismatchError(
                f"cannot {action}: expected parameters that leave the noise of results of "
                f"{self.name} enough of the modulus, got {program.scheme}; bring both together by "
                "cloakwork.together before keys are made"
            ) from refusal

    def taken(
        self, program: Program, backend: Any, values: Mapping[int, Any], _: str
    ) -> dict[int, Any]:
        """Results as inputs, at the level where the program takes them."""
        assert isinstance(program.body, SlotProgram)
        levels = levels_of(program.body, "inputs")
        taken: dict[int, Any] = {}
        for number, result in self.pairs(program):
            value = values[result]
            if value.level > levels[number]:
                value = backend.drop_level(value, levels[number])
            taken[number] = value
        return taken


def elements_taken(program: Program, port: Port) -> dict[int, NDArray[np.int64]]:
    """For each vector that holds an input alone, the element in each slot; -1 in the others."""
    counted = tuple(
        replace(each, low=0, high=port.count) if each.name == port.name else each
        for each in program.packing.inputs
    )
    packing: Any = program.packing
    labels = np.arange(1, 1 + port.count).reshape(port.shape)
    packed = replace(packing, inputs=counted).pack({port.name: labels}, "find places")
    (run,) = packed.runs
    return {
        number: np.rint(run[number].astype(float)).astype(np.int64).ravel() - 1 for number in run
    }


def elements_left(program: Program, result: str) -> dict[int, NDArray[np.int64]]:
    """For each vector of results that holds one, the element in each slot; -1 in the others."""
    assert isinstance(program.body, SlotProgram)
    size = (ROWS if program.body.numbers == "integer" else 1) * program.body.slots
    vectors, slots = np.divmod(slots_of(program, result), size)
    found: dict[int, NDArray[np.int64]] = {}
    for number in np.unique(vectors).tolist():
        found[number] = np.full(size, -1)
        here = np.flatnonzero(vectors == number)
        found[number][slots[here]] = here
    return found


def range_of_integers(program: Program, port: Port) -> tuple[int, int]:
    """What a result over integers may come to, of inputs that a client accepts."""
    low, high = (int(each) for each in range_of(program, port))
    if isinstance(program.packing, ScalarPacking) and program.packing.is_checked:
        most = 1 << program.packing.bits - 1
        return max(low, -most), min(high, most - 1)
    return low, high


def noise_of_results(program: Program) -> list[list[Any]]:
    """Under each parameter set of integers an estimate of every result, by programs alone.

    What is not yet under parameters of both counts as encrypted anew.

    Raises:
        NoiseExhaustedError: Noise would destroy a result.
    """
    body = program.body
    if not isinstance(body, SlotProgram) or body.numbers != "integer":
        return []
    made = []
    links = [
        each
        for each in program.after
        if each.program.scheme.key_set == program.scheme.key_set
        and each.lacking_levels(program) <= 0
    ]
    for number, (backend, inputs) in enumerate(program.scheme.estimators(body, None)):
        for link in links:
            before = dict(enumerate(link.program.noise_of_results[number]))
            for own, value in link.taken(program, backend, before, "").items():
                inputs[own] = value
        made.append(run_in_order(body, backend, inputs, None))
    return made
