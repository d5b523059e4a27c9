"""Levels of programs over integers: the modulus is switched where noise asks for it.

From the inputs on, noise says how far each value is switched down before it is multiplied or
rotated: as far as that leaves more room for a product. From the outputs back, each operation is
given the lowest level from which its result can still be used, so that inputs are encrypted no
higher than needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from cloakwork.plan.integer_noise import Noise, NoiseModel
from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    DropLevel,
    Input,
    Mul,
    Operation,
    Output,
    Program,
    Rescale,
    Rotate,
    Sub,
    operands,
    with_operands,
)
from cloakwork.programs.vectors import uniform_integer


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
    """

    noises: tuple[Noise | None, ...]
    before_use: tuple[int, ...]


def switches(program: Program, model: NoiseModel, level_bits: float) -> Switches:
    """How often values are switched down, by the model of noise.

    Args:
        program: A program over integers of one level.
        model: The model.
        level_bits: By how many bits a switch shrinks the modulus.
    """
    noises: list[Noise | None] = []
    before_use: list[int] = []
    # How far below the top each value stands.
    depths: list[int] = []
    for operation in program.operations:
        noise: Noise | None
        used = [number for number in operands(operation) if noises[number] is not None]
        switched = _switches_operands(operation, program)
        depth = max((depths[n] + (before_use[n] if switched else 0) for n in used), default=0)
        at = [model.switched(_known(noises[n]), (depth - depths[n]) * level_bits) for n in used]
        match operation:
            case Input():
                noise = model.fresh
            case Constant():
                noise = None
            case Add() | Sub() if len(used) == 2:
                noise = at[0].plus(at[1])
            case Add() | Sub():
                noise = at[0].plus(Noise(model.message, model.message))
            case Mul() if len(used) == 2:
                noise = at[0].times(at[1]).plus(model.rotation)
            case Mul(left=left, right=right):
                constant = left if noises[left] is None else right
                noise = _scaled(at[0], program.operations[constant], model)
            case Rotate():
                noise = at[0].plus(model.rotation)
            case _:
                noise = at[0]
        noises.append(noise)
        depths.append(depth)
        before_use.append(0 if noise is None else model.switches(noise, level_bits))
    return Switches(tuple(noises), tuple(before_use))


def _known(noise: Noise | None) -> Noise:
    assert noise is not None
    return noise


def _switches_operands(operation: Operation, program: Program) -> bool:
    """Whether operands are switched down first: sums and outputs take them as they are."""
    match operation:
        case Rotate():
            return True
        case Mul(left=left, right=right):
            factors = (program.operations[left], program.operations[right])
            # A product with one number is as cheap as a sum.
            return not any(_uniform(factor) is not None for factor in factors)
        case _:
            return False


def _uniform(operation: Operation) -> int | None:
    return uniform_integer(operation.vector) if isinstance(operation, Constant) else None


def _scaled(noise: Noise, constant: Operation, model: NoiseModel) -> Noise:
    number = _uniform(constant)
    if number is None:
        return noise.embedded(model.mask)
    half = model.modulus // 2
    centred = abs((number + half) % model.modulus - half)
    return noise.scaled(math.log2(max(centred, 1)))


def levelled(program: Program, asked: Switches, model: NoiseModel, chain: Chain) -> Program:
    """The program with every operation at the lowest level from which its result can be used.

    Args:
        program: A program over integers of one level.
        asked: How often its values are switched.
        model: The model of noise.
        chain: The moduli.

    Example:
        >>> x = Input("x", 0)
        >>> operations = (x, Mul(0, 0), Mul(1, 1), Output(2))
        >>> program = Program("fourth power", 4, operations, (None,) * 4, numbers="integer")
        >>> model = NoiseModel(17, Noise(20, 10), Noise(20, 12), Noise(21, 13), 15, 9)
        >>> asked = switches(program, model, 20)
        >>> print(levelled(program, asked, model, Chain(20, 50)))
        fourth power, 4 slots of integers
          %0 = input x         level 1
          %1 = mul %0 %0       level 1
          %2 = rescale %1      level 0
          %3 = mul %2 %2       level 0
          %4 = output %3       level 0
    """
    levels = _lowest(program, asked, model, chain)
    builder = Builder(program.title, program.slots, "integer")
    new_of: dict[int, int] = {}
    lowered: dict[tuple[int, int], int] = {}

    def at(value: int, level: int) -> int:
        """The new number of an old value at a level, at or below its own."""
        if value not in levels or levels[value] == level:
            return new_of[value]
        if (value, level) not in lowered:
            switched = levels[value] - asked.before_use[value]
            if level >= switched:
                step: Operation = Rescale(at(value, level + 1))
            else:
                step = DropLevel(at(value, switched), level)
            builder.origin, builder.stage = program.origins[value], program.stages[value]
            lowered[value, level] = builder.append(step, program.layouts[value])
        return lowered[value, level]

    for number, operation in enumerate(program.operations):
        match operation:
            case Input(name=name):
                moved: Operation = Input(name, levels[number])
            case Constant():
                moved = operation
            case Output(operand=operand):
                moved = Output(new_of[operand])
            case _:
                used = [at(operand, levels[number]) for operand in operands(operation)]
                moved = with_operands(operation, used)
        builder.origin, builder.stage = program.origins[number], program.stages[number]
        new_of[number] = builder.append(moved, program.layouts[number])
    return builder.finish()


def _lowest(program: Program, asked: Switches, model: NoiseModel, chain: Chain) -> dict[int, int]:
    """The level of every encrypted value: what its uses want of it, and its noise."""
    wanted = [0] * len(program.operations)
    levels: dict[int, int] = {}
    for number in range(len(program.operations) - 1, -1, -1):
        operation, noise = program.operations[number], asked.noises[number]
        if noise is None:
            continue
        held = chain.level_for(model.needed_bits(noise))
        levels[number] = (
            wanted[number] if isinstance(operation, Output) else max(wanted[number], held)
        )
        switched = _switches_operands(operation, program)
        for operand in operands(operation):
            extra = asked.before_use[operand] if switched else 0
            wanted[operand] = max(wanted[operand], levels[number] + extra)
    return levels
