"""The inputs of a network as signals: encrypted bits, and what the bootstraps of tests give."""

from __future__ import annotations

from collections.abc import Mapping

from cloakwork.errors import NoiseBudgetError
from cloakwork.plan.boolean.sum_tests import BitTest, SignTest, ZeroTest
from cloakwork.plan.boolean.sums import SignalSums, Term
from cloakwork.plan.boolean.wide_network import WideNetwork
from cloakwork.programs.bootstraps import HALF
from cloakwork.schemes.tfhe_noise import BitNoise


class Inputs:
    """Signals of inputs, the bootstraps of tests written where they are first used.

    Args:
        wide: The network and its tests.
        sums: What signals are added to.
        noise: That of the parameter set.
        finest: For inputs that are needed in finer encodings than half the finest of these.
    """

    def __init__(
        self, wide: WideNetwork, sums: SignalSums, noise: BitNoise, finest: Mapping[int, int]
    ) -> None:
        self._sums = sums
        self._noise = noise
        self._bits = wide.network.input_count - len(wide.tests)
        self._tests = wide.tests
        self._message_bits = wide.message_bits
        # The encoding in which 1 is a message.
        self._unit = 2 * HALF >> wide.message_bits
        self._finest = {node - 1: encoding for node, encoding in finest.items()}
        for test in wide.tests:
            for bit in _bits_of(test):
                self._finest[bit] = min(self._unit, self._finest.get(bit, HALF))
        self._made: dict[int, Term] = {}

    def term(self, bit: int, encoding: int) -> Term:
        """An input in an encoding as a term."""
        if bit < self._bits:
            return self._sums.input(bit, encoding), 1
        if bit not in self._made:
            finest = self._finest.get(bit, HALF)
            self._made[bit] = self._written(self._tests[bit - self._bits], finest), finest
        signal, own = self._made[bit]
        return signal, encoding // own

    def _written(self, test: ZeroTest | SignTest, encoding: int) -> int:
        """The signal of a bit that a last test gives."""
        half = 1 << (self._message_bits - 1)
        if isinstance(test, ZeroTest):
            return self._compared(test, encoding)
        # Half the encoding for 1, less half of it for 0.
        lower = encoding // 2
        table = [lower if test.tie else -lower] + [lower] * (half - 1)
        return self._bootstrap(*self._sum_of_signs(test), table, lower, encoding)

    def _compared(self, test: ZeroTest, encoding: int) -> int:
        """The signal that is 1, as far as nothing deviates, in an encoding."""
        size = sum(each.deviation for each in test.terms) + 1
        terms: list[Term] = []
        constant = 0
        for each in test.terms:
            if isinstance(each, ZeroTest):
                terms.append((self._compared(each, self._unit), -1))
                constant += self._unit
            else:
                constant += self._add(terms, each, 1)
        for place, pair in enumerate(test.pairs):
            constant += self._add(terms, pair, size << place)
        table = [encoding] + [0] * ((1 << (self._message_bits - 1)) - 1)
        return self._bootstrap(terms, constant, table, 0, encoding)

    def _sum_of_signs(self, test: SignTest) -> tuple[list[Term], int]:
        terms: list[Term] = []
        constant = 0
        for place, (each, side) in enumerate(test.terms):
            if isinstance(each, SignTest):
                table = [0] + [self._unit] * ((1 << (self._message_bits - 1)) - 1)
                signal = self._bootstrap(*self._sum_of_signs(each), table, 0, self._unit)
                terms.append((signal, side << place))
            else:
                constant += self._add(terms, each, side << place)
        return terms, constant

    def _bootstrap(
        self, terms: list[Term], constant: int, table: list[int], added: int, encoding: int
    ) -> int:
        if self._sums.variance_of(terms) > self._noise.budget(self._message_bits, 1):
            raise NoiseBudgetError(
                f"cannot map the gates under {self._noise.name!r}: a test of fresh LWE ciphertexts "
                "is too noisy; take other parameters"
            )
        (made,) = self._sums.bootstrap(
            terms, constant, self._message_bits, [table], [added], [encoding]
        )
        return made

    def _add(self, terms: list[Term], condition: BitTest, weight: int) -> int:
        """Add what a condition deviates by, times a weight, but for a constant."""
        first, *others = condition.bits
        sides = [(first, -1 if condition.wanted and not others else 1)]
        sides += [(other, 1 if condition.wanted else -1) for other in others]
        for bit, side in sides:
            signal, own = self.term(bit, self._unit)
            terms.append((signal, own * side * weight))
        if not condition.wanted:
            return 0
        return self._unit * weight * (-1 if others else 1)


def _bits_of(test: BitTest | ZeroTest | SignTest) -> set[int]:
    """The inputs that a test and those in it have conditions on."""
    if isinstance(test, BitTest):
        return set(test.bits)
    if isinstance(test, SignTest):
        return {bit for each, _ in test.terms for bit in _bits_of(each)}
    return {bit for each in (*test.terms, *test.pairs) for bit in _bits_of(each)}
