"""The operations of a network's stages, one stage after another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cloakwork.plan.networks.by_distance.written import append_by_distance
from cloakwork.plan.networks.diagonals import append_product, folded
from cloakwork.plan.networks.staged import StagedNetwork, depth_of_stage
from cloakwork.plan.networks.stages import (
    ActivationStage,
    CiphertextProduct,
    DistanceProduct,
    EncryptedInput,
    MatrixProduct,
    Stage,
    is_nonlinear,
)
from cloakwork.programs.ir import layers as g
from cloakwork.programs.places import Places
from cloakwork.programs.slots import (
    Add,
    Builder,
    DropLevel,
    Input,
    Mul,
    Neg,
    Polynomial,
    Rescale,
    Sub,
    TimesI,
    TwiceReal,
)
from cloakwork.runtime.costs import Costs


def append_activation(builder: Builder, stage: ActivationStage, value: int) -> int:
    """Append an activation of a ciphertext, which stands at the level that it takes."""
    if stage.squares:
        return append_product_of_values(builder, value, value)
    return builder.append(Polynomial(value, stage.coefficients, stage.basis))


def append_product_of_values(builder: Builder, left: int, right: int) -> int:
    """Append the product of two ciphertexts of one level, rescaled."""
    return builder.append(Rescale(builder.append(Mul(left, right))))


def append_signed_sum(builder: Builder, values: Sequence[int], signs: Sequence[float]) -> int:
    """Append the sum of ciphertexts of one level, of which some are subtracted."""
    (first, *others), (sign, *other_signs) = values, signs
    total = first if sign > 0 else builder.append(Neg(first))
    for value, other_sign in zip(others, other_signs, strict=True):
        total = builder.append((Add if other_sign > 0 else Sub)(total, value))
    return total


class Writer:
    """Appends the operations of one stage after another.

    Args:
        network: The network.
        packings: How the result of each stage is packed.
        builder: Where the operations go.
        costs: What operations cost at each level.

    Attributes:
        values: The ciphertexts of the result of each stage.
    """

    def __init__(
        self, network: StagedNetwork, packings: Sequence[Places], builder: Builder, costs: Costs
    ) -> None:
        self._network = network
        self._packings = packings
        self._builder = builder
        self._costs = costs
        self.values: list[list[int]] = []

    def append(self, number: int, stage: Stage) -> None:
        """Append a stage, whose operands were appended before."""
        match stage:
            case EncryptedInput():
                packing, level = self._packings[number], self._network.levels[number]
                made = [
                    self._builder.append(Input(f"{stage.name}{place}", level))
                    for place in range(packing.ciphertexts)
                ]
            case MatrixProduct():
                made = self._product(number, stage)
            case ActivationStage():
                values = self._real_operand(number, stage.operand)
                made = [append_activation(self._builder, stage, value) for value in values]
            case CiphertextProduct(left=left, right=right):
                factors = (self._real_operand(number, operand) for operand in (left, right))
                pairs = zip(*factors, strict=True)
                made = [append_product_of_values(self._builder, *pair) for pair in pairs]
            case DistanceProduct(left=left, right=right):
                one, other = (self._operand(number, operand) for operand in (left, right))
                made = append_by_distance(self._builder, stage, one, other)
        self.values.append(made)

    def refreshable(self) -> list[int]:
        """The values that may be refreshed, those of one stage after another."""
        return [value for values in self.values for value in values]

    def at_level(self, number: int, level: int) -> list[int]:
        """The ciphertexts of a stage's result at a level."""
        return self._dropped(self.values[number], level)

    def _dropped(self, values: Sequence[int], level: int) -> list[int]:
        return [
            value
            if self._builder.level(value) == level
            else self._builder.append(DropLevel(value, level))
            for value in values
        ]

    def _level(self, number: int) -> int:
        """Where a stage takes its operands."""
        return self._network.levels[number] + depth_of_stage(self._network.stages[number])

    def _operand(self, number: int, operand: int) -> list[int]:
        """The ciphertexts of an operand of a stage that is linear."""
        return self.at_level(operand, self._level(number))

    def _real_operand(self, number: int, operand: int) -> list[int]:
        """The ciphertexts of an operand of a stage that is not linear."""
        return self.at_level(operand, self._level(number))

    def _with_bias(self, value: int, bias: g.Array) -> int:
        return self._builder.append(Add(value, self._builder.constant(bias)))

    def _product(self, number: int, stage: MatrixProduct) -> list[int]:
        totals = self._sum(number, stage) if stage.signs else self._transformed(number, stage)
        if not stage.bias.any():
            return totals
        batch = self._builder.slots // self._packings[number].slots
        biases = self._packings[number].pack(np.tile(stage.bias, (batch, 1)))
        return [
            self._with_bias(value, bias) if bias.any() else value
            for value, bias in zip(totals, biases, strict=True)
        ]

    def _sum(self, number: int, stage: MatrixProduct) -> list[int]:
        assert stage.signs is not None
        operands = [self._operand(number, operand) for operand in stage.terms]
        return [
            append_signed_sum(self._builder, values, stage.signs)
            for values in zip(*operands, strict=True)
        ]

    def _transformed(self, number: int, stage: MatrixProduct) -> list[int]:
        builder, result = self._builder, self._packings[number]
        level = self._network.levels[number] + 1
        hoisted = self._costs.hoisted_share(level)
        # Terms whose operands have one period are summed before their copies are.
        sums: dict[int, tuple[Places, list[int | None]]] = {}
        for operand in stage.terms:
            packing = self._packings[operand]
            made = append_product(
                builder,
                self._operand(number, operand),
                self._network.matrix(number, operand),
                packing,
                result,
                hoisted,
            )
            period = max(packing.period, result.period)
            before = sums[period][1] if period in sums else [None] * result.ciphertexts
            sums[period] = (
                packing,
                [self._added(*pair) for pair in zip(before, made, strict=True)],
            )
        totals: list[int | None] = [None] * result.ciphertexts
        for packing, products in sums.values():
            for place, product in enumerate(products):
                if product is not None:
                    done = folded(builder, product, packing, result)
                    totals[place] = self._added(totals[place], done)
        return [self._or_zero(total, totals) for total in totals]

    def _added(self, left: int | None, right: int | None) -> int | None:
        if left is None or right is None:
            return left if right is None else right
        return self._builder.append(Add(left, right))

    def _or_zero(self, value: int | None, others: Sequence[int | None]) -> int:
        """The value, or a zero where a ciphertext of the result has no terms."""
        if value is not None:
            return value
        other = next(each for each in others if each is not None)
        return self._builder.append(Sub(other, other))


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
