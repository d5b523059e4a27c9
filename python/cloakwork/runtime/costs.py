"""What operations cost: a table by level, and the price of a program under it.

The table is data: modelled from the parameters alone, in units of one transform
(NTT) of one limb, or measured in seconds by `plan.cost.measure`. Only ratios
matter to a planner, so it takes either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from cloakwork._native import BgvParameters, Parameters
from cloakwork.base.record import Fields
from cloakwork.errors import InvalidArgumentError, MalformedBytesError
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import (
    Add,
    Context,
    Mul,
    Neg,
    Operation,
    Rotate,
    SlotProgram,
    Sub,
)
from cloakwork.runtime.schedule import degrees
from cloakwork.runtime.shared_rotations import Shared, shared_rotations

# A diagonal that is encoded already takes one inner product: this share of one that is not.
_KEPT_SHARE = 0.1
# Encoding a diagonal that repeats itself however often takes this share of one that does not, and
# of the rest a part for each time. Measured at N = 2^16: 0.53 of one that does not for two times,
# 0.34 for four, 0.20 for eight, 0.16 for sixteen.
_REPEATED_SHARE = 0.1
# What a step of a bootstrapping's transforms takes of what the model says of one, as measured at
# N = 2^16: a bootstrap took 20 to 25 thousand transforms, and by all of it would take 36.
_STEP_SHARE = 0.45
# Words of which one product of doubles makes one.
DOUBLE_WORD_BITS = 26
# Clear products of such words that take as long as a transform, for each coefficient of a limb and
# each of the log N layers of the transform.
_MULTIPLICATIONS = 2.7
# Rotations from which clear matrix products fill the registers.
WIDE_ROTATIONS = 16


@dataclass(frozen=True, slots=True)
class LevelCosts:
    """What each kind of operation costs whose operands stand at one level.

    A rotation is the first of a value, a hoisted one each further of the same value. A product is
    of two ciphertexts and not relinearised, an addition of two of degree 1. An encoding is that of
    a constant by itself; plaintext products and diagonals include theirs. A linear transform takes
    beside `linear` a baby step for each rotation of its operand, a giant step for each rotation of
    a sum of its diagonals, and the diagonals. Rotated products take a gathering for each of their
    operands and a rotated term for each pair of operands and each rotation, or a narrow term below
    `WIDE_ROTATIONS` rotations; a product switch makes a vector of one of them. Weighted sums take a
    gathering for each operand, a weighted term for each operand and sum, and a rescale of each sum.
    """

    rotation: float
    hoisted_rotation: float
    product: float
    relinearisation: float
    rescale: float
    encoding: float
    plaintext_product: float
    addition: float
    linear: float
    baby_step: float
    giant_step: float
    diagonal: float
    drop_level: float
    gathering: float
    rotated_term: float
    narrow_term: float
    product_switch: float
    weighted_term: float

    def rotated_products(self, terms: int, rotations: int) -> float:
        """What rotated products take, until they are switched.

        Args:
            terms: Pairs of operands.
            rotations: Rotations, for each of which there is a product.

        Example:
            >>> costs = modelled([2], 1).at(0)
            >>> costs.rotated_products(4, 64) > 2 * costs.rotated_products(4, 16)
            True
        """
        term = self.narrow_term if rotations < WIDE_ROTATIONS else self.rotated_term
        return (2 * self.gathering + term * rotations) * terms


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of every level, from 0 up, all in one unit.

    Args:
        levels: The costs of operations.
        run: What every run of a program costs besides its operations.
        bootstrap: What a bootstrap costs, whatever its level; 0 where parameters have none.
        bootstrap_pair: What one of two values at once costs, that of both.
    """

    levels: tuple[LevelCosts, ...]
    run: float = 0.0
    bootstrap: float = 0.0
    bootstrap_pair: float = 0.0

    def at(self, level: int) -> LevelCosts:
        """The costs at a level."""
        if not 0 <= level < len(self.levels):
            raise InvalidArgumentError(
                f"cannot price an operation at level {level}: expected a level from 0 up to "
                f"{len(self.levels) - 1}; take the costs of the parameters that the program runs on"
            )
        return self.levels[level]

    def hoisted_share(self, level: int) -> float:
        """A further rotation of a value at a level, as a part of its first."""
        return self.at(level).hoisted_rotation / self.at(level).rotation

    def scaled(self, factor: float) -> Costs:
        """The costs in another unit."""
        levels = (
            LevelCosts(**{kind: factor * cost for kind, cost in asdict(level).items()})
            for level in self.levels
        )
        others = (self.run, self.bootstrap, self.bootstrap_pair)
        return Costs(tuple(levels), *(factor * each for each in others))

    def kept(self) -> Costs:
        """The costs where diagonals of linear transforms stay encoded between runs."""
        levels = (replace(each, diagonal=_KEPT_SHARE * each.diagonal) for each in self.levels)
        return replace(self, levels=tuple(levels))

    def repeated_diagonal(self, level: int, times: float) -> float:
        """What a diagonal takes that is encoded when it is used, and repeats itself.

        Args:
            level: Of the transform's operand.
            times: How often it holds the same numbers.

        Example:
            >>> costs = modelled([2], 1)
            >>> costs.repeated_diagonal(0, 1) == costs.at(0).diagonal
            True
        """
        encoding = _REPEATED_SHARE + (1 - _REPEATED_SHARE) / times
        return self.at(level).diagonal * (_KEPT_SHARE + (1 - _KEPT_SHARE) * encoding)

    def with_bootstrap(self, refreshing: Refreshing | None) -> Costs:
        """The costs with those of bootstraps, counted in operations of the levels that they have.

        Transforms have about as many baby steps as giant steps. The modulus is raised by as much as
        two rotations at the top, and one vector is conjugated. Of two values at once both are
        reduced, and the rest is done once.

        Args:
            refreshing: What a bootstrap takes; None where there is none.
        """
        if refreshing is None:
            return self
        top, reduction = self.at(len(self.levels) - 1), refreshing.reduction_level
        taken = [2 * top.rotation, self.at(reduction).rotation]
        for level, diagonals, rotations in refreshing.transforms:
            at = self.at(level)
            steps = _STEP_SHARE * (at.baby_step + at.giant_step) * rotations / 2
            taken.append(at.linear + steps + at.diagonal * diagonals + at.rescale)
        products = [
            at.product + at.relinearisation + at.rescale
            for at in map(self.at, range(reduction, refreshing.output_level, -1))
        ]
        reduced = refreshing.reduction_products * math.fsum(products) / len(products)
        once = math.fsum(taken)
        return replace(self, bootstrap=once + reduced, bootstrap_pair=once + 2 * reduced)

    @classmethod
    def from_dict(cls, data: Any) -> Costs:
        """Read a table that `dataclasses.asdict` took apart; other data are refused."""
        costs = Fields(data, "costs").made(cls)
        rows = list(asdict(costs)["levels"])
        positive = all(number > 0 for row in rows for number in row.values())
        if (
            not rows
            or rows != data["levels"]
            or not positive
            or costs.run < 0
            or costs.bootstrap < 0
            or costs.bootstrap_pair < 0
        ):
            raise MalformedBytesError(
                "cannot read costs: expected what a run costs and a table of positive numbers"
            )
        return costs


def modelled(
    limbs: Sequence[int], special_limbs: int, *, log_n: int = 14, word_bits: int = 30
) -> Costs:
    """Costs in units of one transform (NTT) of one limb, by counting limbs.

    Key switching works on the limbs of a level and the special ones. The factors are the
    engine's, rounded: a rotation is 10 transforms per limb, and half of that is shared with
    further rotations of the same value. Limbs are given for each level, from level 0 up.

    Rotated products of words that a double holds the products of are one product of doubles, and
    of longer words three (Karatsuba). Log N of the ring says how many of them a transform takes.
    """
    products = 1 if word_bits <= DOUBLE_WORD_BITS else 3
    term = 4 * products / (_MULTIPLICATIONS * log_n)
    return Costs(tuple(_modelled_level(count, count + special_limbs, term) for count in limbs))


def _modelled_level(limbs: int, key_limbs: int, term: float) -> LevelCosts:
    """Costs at a level, given the transforms that a rotated term takes of each limb."""
    return LevelCosts(
        rotation=10.0 * key_limbs,
        hoisted_rotation=5.0 * key_limbs,
        product=1.0 * key_limbs,
        relinearisation=10.0 * key_limbs,
        rescale=3.0 * limbs,
        encoding=2.0 * limbs,
        plaintext_product=2.5 * limbs,
        addition=0.4 * limbs,
        linear=7.0 * key_limbs,
        baby_step=5.0 * key_limbs,
        giant_step=10.0 * key_limbs,
        diagonal=4.0 * key_limbs,
        drop_level=3.0 * limbs,
        gathering=1.3 * limbs,
        rotated_term=term * limbs,
        narrow_term=1.4 * limbs,
        # Two decompositions and one division, done together with those of a rescale.
        product_switch=6.0 * key_limbs,
        # Of two polynomials in place of the four of a rotated term.
        weighted_term=term / 2 * limbs,
    )


def modelled_for(parameters: Parameters | BgvParameters) -> Costs:
    """Costs in units of one transform by the limbs of a parameter set; see `modelled`."""
    limbs = [parameters.prime_count(level) for level in range(parameters.levels + 1)]
    return modelled(
        limbs,
        parameters.key_prime_count - limbs[-1],
        log_n=parameters.log_n,
        word_bits=parameters.word_bits,
    )


def comparable(parameters: Parameters) -> Costs:
    """Modelled costs in a unit that is the same for every ring."""
    return modelled_for(parameters).scaled(parameters.n * parameters.log_n)


def seconds_of(program: SlotProgram, costs: Costs) -> list[float]:
    """What each operation of a program takes, in the unit of the costs.

    The first rotation of a value pays for what further rotations of it share, and the first of
    linear transforms that are made together for the rotations that others have of it. Products pay
    for their relinearisation where it is due; see `runtime.schedule`. Inputs, constants and
    outputs take nothing: a constant is paid for where it is used.
    """
    degree = degrees(program)
    shared = shared_rotations(program)
    rotated: set[int] = set()
    seconds: list[float] = []
    for number, operation in enumerate(program.operations):
        context = program.context(number)
        if isinstance(operation, Rotate) and operation.operand in rotated:
            seconds.append(costs.at(context.level).hoisted_rotation)
            continue
        taken = operation_seconds(operation, context, degree, number, costs)
        if number in shared:
            taken -= saved_seconds(shared[number], costs.at(context.level))
        seconds.append(taken)
        if isinstance(operation, Rotate):
            rotated.add(operation.operand)
    return seconds


def saved_seconds(shared: Shared, prices: LevelCosts) -> float:
    """What a transform does not take where others made with it do."""
    steps = shared.baby * prices.baby_step + shared.giant * prices.giant_step
    return steps + prices.linear * shared.ends


def operation_seconds(
    operation: Operation, context: Context, degree: Sequence[int], number: int, costs: Costs
) -> float:
    """What an operation takes by itself, relinearisations included; see `seconds_of`.

    Args:
        operation: The operation.
        context: Where it stands.
        degree: The degrees of all values of its program, by number.
        number: Its own.
        costs: What operations cost at each level.
    """
    if not any(state.level is not None for state in context.states):
        return 0.0
    taken = operation.seconds(context, costs)
    if isinstance(operation, Add | Sub | Neg):
        # Of as many polynomials as the value has.
        taken *= (degree[number] + 1) / 2
    if isinstance(operation, Mul):
        relinearises = degree[number] == 1 and not context.has_constant
    else:
        relinearises = operation.degree in ("relinearises", "relinearises once") and any(
            degree[operand] == 2 for operand in operation.operands
        )
    if relinearises:
        taken += costs.at(context.level).relinearisation
    return taken


def work_of(program: SlotProgram, scheme: Any) -> list[float]:
    """The part of a run's work that each operation is, by the model; together 1.

    Args:
        program: The program.
        scheme: The scheme on whose ciphertexts it runs.

    Example:
        >>> import cloakwork as cw
        >>> square = cw.compile(lambda x: x * x, (4,))
        >>> round(sum(work_of(square.body, square.scheme)), 9)
        1.0
    """
    if program.numbers == "real":
        costs = modelled_for(scheme.parameters).with_bootstrap(scheme.refreshing)
    else:
        # Of another prime they are the same to each other.
        costs = modelled_for(scheme.parameter_sets[0])
    seconds = seconds_of(program, costs)
    total = math.fsum(seconds)
    return [each / total for each in seconds] if total else seconds


def total_seconds(program: SlotProgram, costs: Costs) -> float:
    """What a run of a program takes; see `seconds_of`. One without work takes nothing."""
    operations = math.fsum(seconds_of(program, costs))
    return operations + costs.run if operations else 0.0
