"""Bits that come back into slots: an input of a program over reals is a result over bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import ParametersMismatchError
from cloakwork.programs.bootstraps import HALF, LINEAR, BootstrapProgram, counts_between
from cloakwork.programs.phases import DIMENSION, PhasePlace
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.after import After, tensors_in
from cloakwork.schemes.base import levels_of
from cloakwork.schemes.bridged import sets_of_numbers
from cloakwork.schemes.tfhe_noise import BitNoise, Sources, noise_of

if TYPE_CHECKING:
    from cloakwork.runtime.program import Program

# Where the secret key is multiplied by masks, which takes a level.
LEVEL = 1
# How many deviations noise exceeds with a probability of 2^-64.
_DEVIATIONS = 9.2


@dataclass(frozen=True, slots=True, eq=False)
class Returning(After):
    """Which input of a program over reals is a result over bits, as phases."""

    def misfit(self, program: Program) -> str:
        reason = self.kinds_misfit(program)
        if reason:
            return reason
        if not isinstance(self.place(program), PhasePlace):
            return f"its input {self.input!r:.40} does not come as phases of bits"
        return ""

    def place(self, program: Program) -> Any:
        """Where the phases lie."""
        places = (place for port, place in tensors_in(program) if port.name == self.input)
        return next(places, None)

    def pairs(self, program: Program) -> list[tuple[int, int]]:
        results = [port.name for port in self.program.outputs]
        own = self.numbers_in(program)
        return [(number, results.index(self.result)) for number in own]

    def level(self, program: Program) -> int:
        """At which level the secret key is multiplied by masks."""
        ((own, _),) = self.pairs(program)
        assert isinstance(program.body, SlotProgram)
        return levels_of(program.body, "inputs")[own] + LEVEL

    def lacking_levels(self, _: Program) -> int:
        return 0

    def require_fit(self, program: Program, action: str) -> None:
        scheme = program.scheme
        if not scheme.encrypts:
            return
        is_enough = self.level(program) <= scheme.parameters.levels
        if is_enough and self.program.scheme.key_set == scheme.key_set:
            return
        raise ParametersMismatchError(
            f"cannot {action}: expected results of {self.program.name} under parameters that leave "
            f"a level more than {program.name} takes, got {self.program.scheme} for it and "
            f"{scheme} for {program.name}; bring both together by cloakwork.together before keys "
            "are made"
        )

    def taken(
        self, program: Program, backend: Any, values: Mapping[int, Any], _: str
    ) -> dict[int, Any]:
        """The phases: the secret key of bits in slots, times what is public, and summed.

        Args:
            program: The program over reals.
            backend: What computes, with the return key.
            values: The results; of estimates there are none.
        """
        body, place, bounds = program.body, self.place(program), program.input_bounds
        assert isinstance(body, SlotProgram)
        assert isinstance(place, PhasePlace)
        assert bounds is not None
        ((own, result),) = self.pairs(program)
        key = backend.drop_level(backend.return_key, self.level(program))
        factors, added = place.factors(self._words(place, values.get(result)))
        parts = [backend.multiply_constant(key, factor) for factor in factors]
        for step in place.halvings:
            half = len(parts) // 2
            turned = [backend.rotate(part, step) for part in parts[half:]]
            parts = [backend.add(*pair) for pair in zip(parts[:half], turned, strict=True)]
        (total,) = parts
        for step in place.sums:
            total = backend.add(total, backend.rotate(total, step))
        made = backend.add_constant(backend.rescale(total), added)
        return {own: backend.bounded(made, bounds[own])}

    def _words(self, place: PhasePlace, value: Any) -> NDArray[np.uint32]:
        """Masks and bodies of the bits in half encoding; of estimates such as there may be."""
        if value is None:
            return np.full((place.count, DIMENSION + 1), 1 << 31, np.uint32)
        first = self.program.body
        assert isinstance(first, BootstrapProgram)
        weights = HALF // encodings_of(self.program, self.result)
        words: NDArray[np.uint32] = value.words()
        return words * weights.astype(np.uint32)[:, np.newaxis]


def largest_noise(program: Program, result: str) -> float:
    """What the noise of a result's bits exceeds with a probability of 2^-64, in turns.

    Of the worst parameter set that both programs may be brought to by `cloakwork.together`.
    """
    failure_bits = program.scheme.failure_bits
    noises = [noise_of(name, failure_bits) for name in sets_of_numbers()]
    return _DEVIATIONS * max(deviation_of(program, result, each) for each in noises)


def encodings_of(program: Program, result: str) -> NDArray[np.uint32]:
    """How the bits of a result are encoded."""
    body = program.body
    assert isinstance(body, BootstrapProgram)
    place = [port.name for port in program.outputs].index(result)
    return body.output_encodings[body.output_slices[place]]


def deviation_of(program: Program, result: str, noise: BitNoise) -> float:
    """The deviation of the noise of a result's bits in half encoding, in turns.

    Args:
        program: The program over bits.
        result: The result.
        noise: That of its parameter set, or of another.
    """
    body = program.body
    assert isinstance(body, BootstrapProgram)
    of_inputs = max(noise.fresh_variance, noise.public_variance, noise.bootstrap_variance)
    sources = Sources(replace(noise, fresh_variance=of_inputs))
    counts = counts_between(body.output_starts)
    firsts = body.input_count + np.cumsum(counts) - counts
    node_of = np.repeat(np.arange(len(counts)), counts)
    sums: dict[int, dict[int, int]] = {}

    def summed(signal: int) -> dict[int, int]:
        """A signal as a sum of inputs and outputs of bootstraps."""
        waiting = [signal]
        while waiting:
            each = waiting[-1]
            node = int(node_of[each - body.input_count]) if each >= body.input_count else -1
            if each in sums:
                waiting.pop()
            elif node < 0 or body.kinds[node] != LINEAR:
                if node >= 0:
                    first = int(firsts[node])
                    sources.add_outputs([*range(first, first + int(counts[node]))])
                sums[each] = {each: 1}
            else:
                terms = slice(body.term_starts[node], body.term_starts[node + 1])
                pairs = [
                    *zip(
                        body.term_signals[terms].tolist(),
                        body.term_weights[terms].tolist(),
                        strict=True,
                    )
                ]
                lacking = [one for one, _ in pairs if one not in sums]
                waiting += lacking
                if not lacking:
                    total: dict[int, int] = {}
                    for one, weight in pairs:
                        for source, own in sums[one].items():
                            total[source] = total.get(source, 0) + weight * own
                    sums[each] = total
        return sums[signal]

    place = [port.name for port in program.outputs].index(result)
    signals = body.output_signals[body.output_slices[place]].tolist()
    weights = (HALF // encodings_of(program, result)).tolist()
    variances = [
        weight**2 * sources.variance(summed(signal))
        for signal, weight in zip(signals, weights, strict=True)
    ]
    return float(np.sqrt(max(variances)))
