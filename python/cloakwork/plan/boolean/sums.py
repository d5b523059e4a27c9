"""Signals under construction: sums of sources, and how noisy they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cloakwork.programs.bootstraps import BootstrapBuilder
from cloakwork.programs.gates import GateProgram
from cloakwork.schemes.tfhe_noise import BitNoise, Sources

_TURN = 1 << 32
# A sum that has more terms, with sums in it written out, is made of its sources instead. Of these
# one node takes so many.
_MOST_WRITTEN_OUT = 1 << 14
_MOST_TERMS = 1 << 12

# A signal and a weight.
Term = tuple[int, int]


class SignalSums:
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
        # Of signals that are no sources: what is added to the sum of these, and the terms of the
        # sum with sums in it written out.
        self._offset: dict[int, int] = {}
        self._written_out: dict[int, int] = {}

    def variance(self, signal: int) -> float:
        """The variance of a signal."""
        return self._sources.variance(self._sums[signal])

    def variance_of(self, terms: Sequence[Term]) -> float:
        """The variance of a sum of signals."""
        whole, _ = self._whole(terms, 0)
        return self._sources.variance(whole)

    def input(self, bit: int, encoding: int) -> int:
        """The signal of a bit of the inputs in an encoding."""
        signal = self.builder.input(bit, encoding)
        self._sums.setdefault(signal, {signal: 1})
        self._period.setdefault(signal, _TURN // encoding)
        return signal

    def linear(self, terms: Sequence[Term], constant: int) -> int:
        """Add a sum of signals times weights, and a constant; its signal."""
        whole, offset = self._whole(terms, constant)
        if self._terms_of(terms) > _MOST_WRITTEN_OUT:
            whole = self._without_turns(whole)
            terms, constant = self._in_parts(whole), offset
        made = self.builder.linear(terms, constant)
        self._sums[made] = whole
        self._offset[made] = offset % _TURN
        self._written_out[made] = self._terms_of(terms)
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
        if self._terms_of(terms) > _MOST_WRITTEN_OUT:
            whole, constant = self._whole(terms, constant)
            terms = self._in_parts(self._without_turns(whole))
        made = self.builder.bootstrap(terms, constant, message_bits, tables, constants)
        self._sources.add_outputs(made)
        for signal, step in zip(made, steps, strict=True):
            self._sums[signal] = {signal: 1}
            self._period[signal] = _TURN // step
        return made

    def added(self, fine: Sequence[Term], halves: Sequence[Term]) -> tuple[list[Term], int, float]:
        """The least noisy sum: bits in half encoding may as well be subtracted."""
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
            reduced = self._without_turns(whole)
            less = self._sources.variance(reduced)
            if less < variance / 2:
                offset = sum(self._offset.get(signal, 0) * weight for signal, weight in signed)
                return list(reduced.items()), offset, less
        return signed, 0, variance

    def _whole(self, terms: Sequence[Term], constant: int) -> tuple[dict[int, int], int]:
        """The sources of a sum with their weights, and what is added to them."""
        whole: dict[int, int] = {}
        for signal, weight in terms:
            self._accumulate(whole, signal, weight)
            constant += self._offset.get(signal, 0) * weight
        return whole, constant

    def _terms_of(self, terms: Sequence[Term]) -> int:
        """The terms of a sum with sums in it written out: one for each path to a source."""
        return sum(self._written_out.get(signal, 1) for signal, _ in terms)

    def _without_turns(self, whole: Mapping[int, int]) -> dict[int, int]:
        """Sources with their weights, whole turns left out."""
        centred = ((source, _centred(each, self._period[source])) for source, each in whole.items())
        return {source: weight for source, weight in centred if weight}

    def _in_parts(self, whole: Mapping[int, int]) -> list[Term]:
        """The sum of sources, of which there may be more than one node takes."""
        terms = list(whole.items())
        if len(terms) <= _MOST_TERMS:
            return terms
        starts = range(0, len(terms), _MOST_TERMS)
        return [(self.linear(terms[start : start + _MOST_TERMS], 0), 1) for start in starts]

    def _accumulate(self, whole: dict[int, int], signal: int, weight: int) -> None:
        if not whole and weight == 1:
            whole |= self._sums[signal]
            return
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
