"""The operations of a network's stages, two inputs of a batch in the parts of complex slots.

A slot holds a + i b. Matrices multiply both numbers at once, so that a pair costs what one input
does. Before what is not linear the parts are taken apart by one conjugation, each twice itself,
which the matrices before make up for; after it they are put together, which is exact. Bootstraps
are of parts, for they refresh two at once (`plan.passes.bootstrap_pairs`).
"""

from __future__ import annotations

from collections.abc import Sequence

from cloakwork.plan.networks.staged import StagedNetwork
from cloakwork.plan.networks.stages import is_nonlinear
from cloakwork.plan.networks.writer import Writer
from cloakwork.programs.ir import layers as g
from cloakwork.programs.places import Places
from cloakwork.programs.slots import Add, Builder, Neg, Sub, TimesI, TwiceReal
from cloakwork.runtime.costs import Costs


class PairWriter(Writer):
    """Appends the operations of one stage after another, see `Writer`.

    Of a stage that is not linear `values` has the real parts of its ciphertexts and, after each,
    the imaginary part.
    """

    def __init__(
        self, network: StagedNetwork, packings: Sequence[Places], builder: Builder, costs: Costs
    ) -> None:
        super().__init__(network, packings, builder, costs)
        self._parts: dict[int, list[int]] = {}
        self._joined: dict[int, list[int]] = {}

    def refreshable(self) -> list[int]:
        """The parts of all stages that have been taken apart or are put together."""
        stages = enumerate(self._network.stages)
        return [
            value
            for number, stage in stages
            for value in (
                self.values[number] if is_nonlinear(stage) else self._parts.get(number, ())
            )
        ]

    def at_level(self, number: int, level: int) -> list[int]:
        """The ciphertexts of a stage's result at a level, of complex numbers."""
        if not is_nonlinear(self._network.stages[number]):
            return super().at_level(number, level)
        if number not in self._joined:
            parts = self.values[number]
            pairs = zip(parts[::2], parts[1::2], strict=True)
            self._joined[number] = [self._put_together(*pair) for pair in pairs]
        return self._dropped(self._joined[number], level)

    def _real_operand(self, number: int, operand: int) -> list[int]:
        if is_nonlinear(self._network.stages[operand]):
            return self._dropped(self.values[operand], self._level(number))
        if operand not in self._parts:
            whole = self.values[operand]
            self._parts[operand] = [part for value in whole for part in self._taken_apart(value)]
        return self._dropped(self._parts[operand], self._level(number))

    def _taken_apart(self, value: int) -> tuple[int, int]:
        """Twice the real and twice the imaginary part."""
        append = self._builder.append
        real = append(TwiceReal(value))
        turned = append(Sub(append(Add(value, value)), real))
        return real, append(Neg(append(TimesI(turned))))

    def _put_together(self, real: int, imaginary: int) -> int:
        return self._builder.append(Add(real, self._builder.append(TimesI(imaginary))))

    def _with_bias(self, value: int, bias: g.Array) -> int:
        append, constant = self._builder.append, self._builder.constant(bias)
        # Constants are real: the value is turned back by i before the second time.
        turned = append(Neg(append(TimesI(append(Add(value, constant))))))
        return append(TimesI(append(Add(turned, constant))))
