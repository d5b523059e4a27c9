"""Signals under construction: sums of sources, and how noisy they are."""

from __future__ import annotations

from collections.abc import Sequence

from cloakwork.programs.bootstraps import BootstrapBuilder
from cloakwork.programs.gates import GateProgram
from cloakwork.schemes.tfhe_noise import BitNoise, Sources

_TURN = 1 << 32

# A signal and a weight.
Term = tuple[int, int]


class Sums:
    """The signals of a bootstrap program, each a sum of encrypted inputs and bootstraps' outputs.

    Args:
        program: The gate program, for its title and inputs.
        noise: That of the parameter set.

    Attributes:
        builder: What the program is built by.
    """

    def __init__(self, program: GateProgram, noise: BitNoise) -> None:
        self.builder = BootstrapBuilder(program.title, program.inputs)
        self._sources = Sources(noise)
        # Of every signal: the sources that it is the sum of; of every source: of how many of it
        # nothing is left but whole turns.
        self._sums: dict[int, dict[int, int]] = {}
        self._period: dict[int, int] = {}
        # Of signals that are not the sum of their sources alone: what is added.
        self._offset: dict[int, int] = {}

    def variance(self, signal: int) -> float:
        """The variance of a signal."""
        return self._sources.variance(self._sums[signal])

    def input(self, bit: int, encoding: int) -> int:
        """The signal of a bit of the inputs in an encoding."""
        signal = self.builder.input(bit, encoding)
        self._sums.setdefault(signal, {signal: 1})
        self._period.setdefault(signal, _TURN // encoding)
        return signal

    def linear(self, terms: Sequence[Term], constant: int) -> int:
        """Add a sum of signals times weights, and a constant; its signal."""
        whole: dict[int, int] = {}
        offset = constant
        for signal, weight in terms:
            self._accumulate(whole, signal, weight)
            offset += self._offset.get(signal, 0) * weight
        made = self.builder.linear(terms, constant)
        self._sums[made] = whole
        self._offset[made] = offset % _TURN
        return made

    def bootstrap(
        self,
        terms: Sequence[Term],
        constant: int,
        message_bits: int,
        tables: Sequence[Sequence[int]],
        constants: Sequence[int],
        steps: Sequence[int],
    ) -> list[int]:
        """Add a bootstrap of a sum of signals; its outputs, which are multiples of `steps`."""
        made = self.builder.bootstrap(terms, constant, message_bits, tables, constants)
        self._sources.add_outputs(made)
        for signal, step in zip(made, steps, strict=True):
            self._sums[signal] = {signal: 1}
            self._period[signal] = _TURN // step
        return made

    def added(self, fine: Sequence[Term], halves: Sequence[Term]) -> tuple[list[Term], int, float]:
        """The least noisy sum: bits in half encoding may as well be subtracted.

        Returns:
            Terms, a constant to add to them, and the variance.
        """
        signed: list[Term] = []
        whole: dict[int, int] = {}
        for signal, weight in fine:
            self._accumulate(whole, signal, weight)
            signed.append((signal, weight))
        shares = False
        for signal, weight in halves:
            if whole.keys().isdisjoint(self._sums[signal]):
                chosen = weight
            else:
                shares = True
                overlap = sum(
                    whole.get(source, 0) * each * weight
                    for source, each in self._sums[signal].items()
                )
                chosen = -weight if overlap > 0 else weight
            self._accumulate(whole, signal, chosen)
            signed.append((signal, chosen))
        variance = self._sources.variance(whole)
        if shares:
            # Whole turns of a source are nothing but noise.
            reduced = {
                source: centred
                for source, weight in whole.items()
                if (centred := _centred(weight, self._period[source]))
            }
            less = self._sources.variance(reduced)
            if less < variance / 2:
                offset = sum(self._offset.get(signal, 0) * weight for signal, weight in signed)
                return list(reduced.items()), offset, less
        return signed, 0, variance

    def _accumulate(self, whole: dict[int, int], signal: int, weight: int) -> None:
        for source, each in self._sums[signal].items():
            total = whole.get(source, 0) + each * weight
            if total:
                whole[source] = total
            else:
                whole.pop(source, None)


def _centred(weight: int, period: int) -> int:
    """What is left of a weight without whole turns, nearest to 0."""
    left = weight % period
    return left - period if 2 * left > period else left
