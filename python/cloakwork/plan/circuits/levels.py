"""Levels of programs over integers: the modulus is switched where noise asks for it.

From the inputs on, noise says how far each value is switched down before it is multiplied or
rotated: as far as that leaves more headroom for a product. From the outputs back, each operation is
given the lowest level from which its result can still be used, so that inputs are encrypted no
higher than needed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TypeAlias

from cloakwork._native import BgvNoise, BgvNoiseModel
from cloakwork.programs.bsgs import split
from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    DropLevel,
    Input,
    Linear,
    Mul,
    Operation,
    Output,
    Rescale,
    Rotate,
    RotateSum,
    SlotProgram,
    Sub,
)
from cloakwork.programs.vectors import uniform_integer

# What is switched down is held for so many operations, and then made anew where it is needed: to
# make it takes little, and a ciphertext that hundreds of others wait for takes megabytes.
_FAR = 2000
# Noises that differ by less are the same.
_SAME_BITS = 0.1


@dataclass(frozen=True, slots=True)
class Switching:
    """A way in which values are switched down.

    Args:
        before: The operations whose operands are switched down first.
        canonical: The operations whose operands take the canonical correction factor of their new
            level even where they only drop primes; divided operands take it anyway. Sums of
            values of one factor add no noise, but rounding to the factor does.
        early: Whether sums that are switched before each use are made of operands that are, one
            switch for several.
    """

    before: tuple[type[Operation], ...]
    canonical: tuple[type[Operation], ...]
    early: bool


_MOVING = (Rotate, RotateSum, Linear)
# Rotations are cheaper further down, but then ask for a level of their own. No way is best for
# all programs.
SWITCHINGS = (
    Switching((Mul, *_MOVING), canonical=(), early=False),
    Switching((Mul, *_MOVING), canonical=(Add, Sub), early=True),
    Switching((Mul, *_MOVING), canonical=(Add, Sub, Mul, *_MOVING), early=False),
    Switching((Mul,), canonical=(), early=False),
)


@dataclass(frozen=True, slots=True)
class Chain:
    """The moduli of the levels.

    Args:
        level_bits: What each level adds.
        base_bits: The modulus of level 0.
        spare_bits: Of each modulus, what noise is kept away from.
    """

    level_bits: float
    base_bits: float
    spare_bits: float = 0.0

    def level_for(self, bits: float) -> int:
        """The lowest level whose modulus has so many bits.

        Example:
            >>> Chain(30, 50).level_for(50), Chain(30, 50).level_for(81)
            (0, 2)
        """
        return max(0, math.ceil((bits + self.spare_bits - self.base_bits) / self.level_bits))


@dataclass(frozen=True, slots=True, eq=False)
class Switches:
    """What noise asks for, from the inputs on.

    Args:
        noises: Of every value before it is switched; None for constants.
        before_use: How often every value is switched before it is multiplied or rotated.
        of_operands: How often each operand of an operation has to be switched at least, for the
            noises to be these.
        canonical: The operations whose operands take the canonical factor of their new level.
    """

    noises: tuple[BgvNoise | None, ...]
    before_use: tuple[int, ...]
    of_operands: tuple[tuple[int, ...], ...]
    canonical: tuple[type[Operation], ...]


# Powers of symbols.
Factor: TypeAlias = tuple[tuple[int, int], ...]

# Of a sum of values of unlike factors: no other value has it.
_NO_OTHERS: Factor = ((-1, 0),)


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a value, from the inputs on.

    Args:
        noise: Its noise.
        depth: How far below the top it stands.
        factor: Its correction factor, as powers of the canonical factors of depths and of the
            factors that divisions bring in. Only values with one factor can be added directly.
    """

    noise: BgvNoise
    depth: int = 0
    factor: Factor = ()


def switches(
    program: SlotProgram,
    model: BgvNoiseModel,
    level_bits: float,
    switching: Switching = SWITCHINGS[0],
) -> Switches:
    """How often values are switched down, by the model of noise."""
    asked = _switches(program, model, level_bits, switching, frozenset())
    early = _early(program, asked, switching) if switching.early else frozenset()
    return _switches(program, model, level_bits, switching, early) if early else asked


def _early(program: SlotProgram, asked: Switches, switching: Switching) -> frozenset[int]:
    """Sums of which every use is of a value switched down."""
    switched = [count > 0 for count in asked.before_use]
    for number in range(len(program.operations) - 1, -1, -1):
        operation = program.operations[number]
        is_sum = isinstance(operation, Add | Sub) and switched[number]
        if not is_sum and not _switches_operands(operation, program, switching.before):
            for operand in operation.operands:
                switched[operand] = False
    return frozenset(
        number
        for number, operation in enumerate(program.operations)
        if isinstance(operation, Add | Sub) and switched[number]
    )


def _switches(
    program: SlotProgram,
    model: BgvNoiseModel,
    level_bits: float,
    switching: Switching,
    early: Set[int],
) -> Switches:
    known: list[_Known | None] = []
    before_use: list[int] = []
    of_operands: list[tuple[int, ...]] = []
    for number, operation in enumerate(program.operations):
        operation_switches = number in early or _switches_operands(
            operation, program, switching.before
        )
        used = [
            (value, before_use[operand] if operation_switches else 0)
            for operand in operation.operands
            if (value := known[operand]) is not None
        ]
        depth = max((value.depth + count for value, count in used), default=0)
        canonical = isinstance(operation, switching.canonical)
        lowered_to = _canonically_lowered if canonical else _lowered
        at = [lowered_to(value, depth, model, level_bits) for value, _ in used]
        made = None if isinstance(operation, Constant) else _made(operation, at, program, model)
        if made is not None and made.factor == _NO_OTHERS:
            made = _Known(made.noise, depth, ((-1 - number, 1),))
        known.append(None if made is None else _Known(made.noise, depth, made.factor))
        before_use.append(0 if made is None else model.switches(made.noise, level_bits))
        of_operands.append(
            tuple(
                _least(value, lowered.noise, depth - value.depth, model, level_bits)
                for (value, _), lowered in zip(used, at, strict=True)
            )
        )
    noises = tuple(None if value is None else value.noise for value in known)
    return Switches(noises, tuple(before_use), tuple(of_operands), switching.canonical)


def _lowered(value: _Known, depth: int, model: BgvNoiseModel, level_bits: float) -> _Known:
    noise = model.switched(value.noise, (depth - value.depth) * level_bits)
    if noise == value.noise:
        return _Known(noise, depth, value.factor)
    return _canonically_lowered(value, depth, model, level_bits)


def _canonically_lowered(
    value: _Known, depth: int, model: BgvNoiseModel, level_bits: float
) -> _Known:
    """Lowered, with the canonical factor of the depth where that adds little noise."""
    steps = depth - value.depth
    if not steps:
        return value
    noise = model.switched(value.noise, steps * level_bits)
    divides = noise != value.noise
    if divides and steps == 1 and value.factor == _canonical_factor(value.depth, 2):
        return _Known(noise, depth, _canonical_factor(depth))
    # The engine multiplies before it divides, for the canonical factor, where that is cheap.
    like = model.divided(
        value.noise.scaled(math.log2(model.plaintext_modulus) - 1), steps * level_bits
    )
    if like.length <= noise.length + model.canonical_factor_bits:
        return _Known(like, depth, _canonical_factor(depth))
    if not divides:
        return _Known(noise, depth, value.factor)
    divided = tuple((2 * step + 1, 1) for step in range(value.depth, depth))
    return _Known(noise, depth, _product(value.factor, divided))


def _canonical_factor(depth: int, power: int = 1) -> Factor:
    """The canonical factor of values of a depth, to a power."""
    return ((2 * depth, power),) if depth else ()


def _least(
    value: _Known, wanted: BgvNoise, most: int, model: BgvNoiseModel, level_bits: float
) -> int:
    """The fewest switches after which a value has no more noise than is wanted."""
    for count in range(most):
        noise = model.switched(value.noise, count * level_bits)
        more = max(noise.norm - wanted.norm, noise.length - wanted.length)
        if more <= _SAME_BITS:
            return count
    return most


def _made(
    operation: Operation, at: Sequence[_Known], program: SlotProgram, model: BgvNoiseModel
) -> _Known:
    """What an operation makes of operands that stand at its own depth."""
    match operation:
        case Input():
            return _Known(model.fresh)
        case Add() | Sub() if len(at) == 2:
            return _total(at[0], at[1], model)
        case Add() | Sub():
            noise = at[0].noise.plus(model.message)
        case Mul() if len(at) == 2:
            noise = at[0].noise.times(at[1].noise).plus(model.rotation)
            return _Known(noise, 0, _product(at[0].factor, at[1].factor))
        case Mul(left=left, right=right):
            constants = (program.operations[each] for each in (left, right))
            constant = next(each for each in constants if isinstance(each, Constant))
            noise = _scaled(at[0].noise, constant, model)
        case Rotate():
            noise = at[0].noise.plus(model.rotation)
        case RotateSum(added=added, subtracted=subtracted, moving=moving):
            terms = math.log2(len(added) + len(subtracted))
            switched = model.rotation.scaled(math.log2(len(moving)))
            noise = at[0].noise.scaled(terms).plus(switched)
        case Linear(diagonals=diagonals, baby_steps=baby_steps):
            steps = split(diagonals, program.slots, baby_steps)
            rotated = at[0].noise.plus(model.rotation).times(model.mask)
            moved = model.rotation.scaled(math.log2(max(len(steps.giant), 1)))
            noise = rotated.scaled(math.log2(len(diagonals))).plus(moved)
        case _:
            noise = at[0].noise
    return _Known(noise, 0, at[0].factor)


def _total(left: _Known, right: _Known, model: BgvNoiseModel) -> _Known:
    if left.factor == right.factor:
        return _Known(left.noise.plus(right.noise), 0, left.factor)
    # Multipliers that bring two factors together are the modulus, multiplied with each other;
    # the quieter side takes the larger.
    quiet, loud = sorted((left, right), key=lambda value: value.noise.length)
    bits = math.log2(model.plaintext_modulus)
    rest = max(0.0, bits - (loud.noise.length - quiet.noise.length)) / 2
    noise = loud.noise.scaled(rest).plus(quiet.noise.scaled(bits - rest))
    return _Known(noise, 0, _NO_OTHERS if rest else loud.factor)


def _product(left: Factor, right: Factor) -> Factor:
    powers = Counter(dict(left))
    powers.update(dict(right))
    return tuple(sorted(powers.items()))


def _switches_operands(
    operation: Operation, program: SlotProgram, before: tuple[type[Operation], ...]
) -> bool:
    """Whether operands are switched down first: sums and outputs take them as they are."""
    match operation:
        case Mul(left=left, right=right) if Mul in before:
            factors = (program.operations[left], program.operations[right])
            # A product with one number is as cheap as a sum.
            return not any(_uniform(factor) is not None for factor in factors)
        case _:
            return isinstance(operation, before)


def _uniform(operation: Operation) -> int | None:
    return uniform_integer(operation.vector) if isinstance(operation, Constant) else None


def _scaled(noise: BgvNoise, constant: Operation, model: BgvNoiseModel) -> BgvNoise:
    number = _uniform(constant)
    if number is None:
        return noise.times(model.mask)
    half = model.plaintext_modulus // 2
    centred = abs((number + half) % model.plaintext_modulus - half)
    return noise.scaled(math.log2(max(centred, 1)))


def levelled(program: SlotProgram, asked: Switches, levels: Mapping[int, int]) -> SlotProgram:
    """The program with every operation at its level.

    Example:
        >>> x = Input("x", 0)
        >>> operations = (x, Mul(0, 0), Mul(1, 1), Output(2))
        >>> program = SlotProgram("fourth power", 4, operations, (None,) * 4, numbers="integer")
        >>> model = BgvNoiseModel(12, 65537)
        >>> asked = switches(program, model, 30)
        >>> print(levelled(program, asked, lowest_lane_levels(program, asked, Chain(30, 60))))
        fourth power, 4 slots of integers
          %0 = input x         level 1
          %1 = mul %0 %0       level 1
          %2 = rescale %1      level 0
          %3 = mul %2 %2       level 0
          %4 = output %3       level 0
    """
    builder = Builder(program.title, program.slots, "integer")
    new_of: dict[int, int] = {}
    lowered: dict[tuple[int, int, bool], int] = {}

    def is_near(key: tuple[int, int, bool]) -> bool:
        return key in lowered and len(builder) - lowered[key] <= _FAR

    def at(value: int, level: int, canonical: bool) -> int:
        """The new number of an old value at a level, at or below its own."""
        if value not in levels or levels[value] == level:
            return new_of[value]
        switched = levels[value] - asked.before_use[value]
        key = value, level, canonical and level < switched
        if not is_near(key):
            if level >= switched or (canonical and level == switched - 1):
                step: Operation = Rescale(at(value, level + 1, canonical))
            elif canonical:
                dropped = DropLevel(at(value, switched, canonical), level + 1)
                step = Rescale(appended(dropped, value))
            else:
                step = DropLevel(at(value, switched, canonical), level)
            lowered[key] = appended(step, value)
        return lowered[key]

    def appended(step: Operation, value: int) -> int:
        builder.origin, builder.stage = program.origins[value], program.stages[value]
        return builder.append(step, program.layouts[value])

    for number, operation in enumerate(program.operations):
        match operation:
            case Input(name=name):
                moved: Operation = Input(name, levels[number])
            case Constant():
                moved = operation
            case Output(operand=operand):
                moved = Output(new_of[operand])
            case _:
                canonical = isinstance(operation, asked.canonical)
                used = [at(operand, levels[number], canonical) for operand in operation.operands]
                moved = operation.with_operands(used)
        builder.origin, builder.stage = program.origins[number], program.stages[number]
        new_of[number] = builder.append(moved, program.layouts[number])
    return builder.finish()


def lowest_lane_levels(program: SlotProgram, asked: Switches, chain: Chain) -> dict[int, int]:
    """The level of every encrypted value: the lowest that its uses and its noise allow."""
    wanted = [0] * len(program.operations)
    levels: dict[int, int] = {}
    for number in range(len(program.operations) - 1, -1, -1):
        operation, noise = program.operations[number], asked.noises[number]
        if noise is None:
            continue
        held = chain.level_for(noise.needed_bits)
        levels[number] = (
            wanted[number] if isinstance(operation, Output) else max(wanted[number], held)
        )
        encrypted = [each for each in operation.operands if asked.noises[each] is not None]
        for operand, count in zip(encrypted, asked.of_operands[number], strict=True):
            wanted[operand] = max(wanted[operand], levels[number] + count)
    return levels
