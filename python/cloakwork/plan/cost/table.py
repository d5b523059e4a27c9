"""What operations cost: a table by level, and the price of a program under it.

The table is data: modelled from the parameters alone, in units of one transform
(NTT) of one limb, or measured in seconds by `plan.cost.measure`. Only ratios
matter to a planner, so it takes either.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from cloakwork.errors import InvalidArgumentError, MalformedBytesError
from cloakwork.programs.slots import Add, Mul, Neg, Rotate, SlotProgram, Sub
from cloakwork.runtime.degrees import degrees

# What a diagonal takes that is encoded already, of one that is not.
_KEPT_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class LevelCosts:
    """What each kind of operation costs whose operands stand at one level.

    Args:
        rotation: The first rotation of a value.
        hoisted_rotation: Each further rotation of the same value.
        product: A product of two ciphertexts, not relinearised.
        relinearisation: The way of a product, or of a sum of products, back to degree 1.
        rescale: A rescale.
        encoding: The encoding of a constant by itself.
        plaintext_product: A product with a constant, its encoding included.
        addition: A sum of two ciphertexts of degree 1.
        linear: A linear transform without its rotations and diagonals.
        baby_step: Each rotation of the operand of a linear transform.
        giant_step: Each rotation of a sum of its diagonals.
        diagonal: Each diagonal of a linear transform, its encoding included.
        drop_level: The way to a lower level.
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


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of every level, from 0 up, all in one unit.

    Args:
        levels: The costs of operations.
        run: What every run of a program costs besides its operations.

    Example:
        >>> costs = modelled([2, 4], special_limbs=2)
        >>> costs.hoisted(1) / costs.rotation(1)
        0.5
        >>> Costs.from_dict(costs.to_dict()) == costs
        True
    """

    levels: tuple[LevelCosts, ...]
    run: float = 0.0

    def at(self, level: int) -> LevelCosts:
        """The costs at a level.

        Raises:
            InvalidArgumentError: The table has no such level.
        """
        if not 0 <= level < len(self.levels):
            raise InvalidArgumentError(
                f"cannot price an operation at level {level}: expected a level from 0 up to "
                f"{len(self.levels) - 1}; take the costs of the parameters that the program runs on"
            )
        return self.levels[level]

    def rotation(self, level: int) -> float:
        """The first rotation of a value at a level; see `at` for errors."""
        return self.at(level).rotation

    def hoisted(self, level: int) -> float:
        """Each further rotation of the same value at a level; see `at` for errors."""
        return self.at(level).hoisted_rotation

    def scaled(self, factor: float) -> Costs:
        """The costs in another unit.

        Example:
            >>> modelled([2], special_limbs=1).scaled(0.5).rotation(0)
            15.0
        """
        return Costs(
            tuple(
                LevelCosts(**{kind: factor * cost for kind, cost in asdict(level).items()})
                for level in self.levels
            ),
            factor * self.run,
        )

    def kept(self) -> Costs:
        """The costs where diagonals of linear transforms stay encoded between runs.

        A diagonal is then one inner product, about a tenth of its encoding.

        Example:
            >>> costs = modelled([2], special_limbs=1)
            >>> costs.at(0).diagonal, costs.kept().at(0).diagonal
            (12.0, 1.2000000000000002)
        """
        levels = (replace(each, diagonal=_KEPT_SHARE * each.diagonal) for each in self.levels)
        return Costs(tuple(levels), self.run)

    def to_dict(self) -> dict[str, Any]:
        """The table as JSON holds it."""
        return {"run": self.run, "levels": [asdict(level) for level in self.levels]}

    @classmethod
    def from_dict(cls, data: Any) -> Costs:
        """Read what `to_dict` made.

        Raises:
            MalformedBytesError: The data are something else.
        """
        match data:
            case {"run": run, "levels": [_, *_] as rows} if _is_finite(run) and run >= 0:
                return cls(tuple(_level_costs(row) for row in rows), float(run))
            case _:
                raise MalformedBytesError(
                    "cannot read costs: expected what a run costs and a table of levels"
                )


_KINDS = tuple(field.name for field in fields(LevelCosts))


def _is_finite(number: Any) -> bool:
    real = isinstance(number, int | float) and not isinstance(number, bool)
    # An integer may be too large for a double, which isfinite would raise for.
    return real and abs(number) <= sys.float_info.max


def _level_costs(row: Any) -> LevelCosts:
    if not isinstance(row, Mapping) or set(row) != set(_KINDS):
        raise MalformedBytesError(
            f"cannot read costs: expected a row with the numbers {', '.join(_KINDS)}"
        )
    for kind, number in row.items():
        if not (_is_finite(number) and number > 0):
            raise MalformedBytesError(f"cannot read costs: expected a positive number of {kind}")
    return LevelCosts(**{kind: float(row[kind]) for kind in _KINDS})


def modelled(limbs: Sequence[int], special_limbs: int) -> Costs:
    """Costs in units of one transform (NTT) of one limb, by counting limbs.

    Key switching works on the limbs of a level and the special ones. The factors are the
    engine's, rounded: a rotation is 10 transforms per limb, and half of that is shared with
    further rotations of the same value.

    Args:
        limbs: Limbs of a ciphertext at each level, from level 0 up.
        special_limbs: Limbs of the key-switching modulus alone.

    Example:
        >>> modelled([2, 4], special_limbs=2).rotation(1)
        60.0
    """
    return Costs(tuple(_modelled_level(count, count + special_limbs) for count in limbs))


def _modelled_level(limbs: int, key_limbs: int) -> LevelCosts:
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
    )


def seconds_of(program: SlotProgram, costs: Costs) -> list[float]:
    """What each operation of a program takes, in the unit of the costs.

    The first rotation of a value pays for what further rotations of it share. Products pay
    for their relinearisation where it is due; see `runtime.degrees`. Inputs, constants and
    outputs take nothing: a constant is paid for where it is used.

    Raises:
        InvalidArgumentError: The program has a level that the costs lack.

    Example:
        >>> from cloakwork.programs.slots import Input
        >>> program = SlotProgram("", 4, (Input("x", 0), Rotate(0, 1), Rotate(0, 2)), (None,) * 3)
        >>> seconds_of(program, modelled([2], special_limbs=1))
        [0.0, 30.0, 15.0]
    """
    degree = degrees(program)
    rotated: set[int] = set()
    seconds: list[float] = []
    for number, operation in enumerate(program.operations):
        context = program.context(number)
        if not any(state.level is not None for state in context.states):
            seconds.append(0.0)
            continue
        if isinstance(operation, Rotate) and operation.operand in rotated:
            seconds.append(costs.hoisted(context.level))
            continue
        taken = operation.seconds(context, costs)
        if isinstance(operation, Add | Sub | Neg):
            # Of as many polynomials as the value has.
            taken *= (degree[number] + 1) / 2
        if _relinearises(program, number, degree):
            taken += costs.at(context.level).relinearisation
        seconds.append(taken)
        if isinstance(operation, Rotate):
            rotated.add(operation.operand)
    return seconds


def _relinearises(program: SlotProgram, number: int, degree: Sequence[int]) -> bool:
    operation = program.operations[number]
    if isinstance(operation, Mul):
        return degree[number] == 1 and not program.context(number).has_constant
    if operation.degree in ("relinearises", "relinearises once"):
        return any(degree[operand] == 2 for operand in operation.operands)
    return False


def total_seconds(program: SlotProgram, costs: Costs) -> float:
    """What a run of a program takes, in the unit of the costs; see `seconds_of`.

    A program without work takes nothing.

    Example:
        >>> from cloakwork.programs.slots import Input
        >>> program = SlotProgram("", 4, (Input("x", 0), Rotate(0, 1), Rotate(0, 2)), (None,) * 3)
        >>> total_seconds(program, modelled([2], special_limbs=1))
        45.0
    """
    operations = math.fsum(seconds_of(program, costs))
    return operations + costs.run if operations else 0.0
