"""Which products wait for their relinearisation."""

from __future__ import annotations

from collections import Counter

from cloakwork.programs.slots import (
    Add,
    Constant,
    DropLevel,
    Mul,
    Neg,
    Rescale,
    Rotate,
    RotateSum,
    SlotProgram,
    Sub,
    operands,
)


def degrees(program: SlotProgram) -> tuple[int, ...]:
    """The degree of every value as a ciphertext: 2 where it is not relinearised, else 1.

    A product of ciphertexts stays at degree 2, and so do sums of such and their products with
    constants, until a rescale or a rotation takes degree 1: a sum of many products is
    relinearised once. Products that meet in sums are treated alike: they are relinearised at
    once where that is less often, and where one of them is multiplied or dropped, which only
    integers are. One that is a result stays as it is.

    Args:
        program: The program.

    Example:
        >>> from cloakwork.programs.slots import Input
        >>> operations = (Input("x", 1), Mul(0, 0), Mul(0, 0), Add(1, 2), Rescale(3))
        >>> degrees(SlotProgram("", 8, operations, (None,) * 5))
        (1, 2, 2, 2, 1)
    """
    families = _families(program)
    products: Counter[int] = Counter()
    relinearisations: Counter[int] = Counter()
    # Rotations of one value are made together, after one relinearisation.
    rotated: set[int] = set()
    # These want degree 1 and have no relinearisation of their own.
    at_once: set[int] = set()
    for number, operation in enumerate(program.operations):
        match operation:
            case Mul() if _multiplies_ciphertexts(operation, program):
                products[families[number]] += 1
                at_once.update(families[each] for each in operands(operation) if each in families)
            case DropLevel(operand=operand) if operand in families:
                at_once.add(families[operand])
            case Rescale(operand=operand) if operand in families:
                relinearisations[families[operand]] += 1
            case Rotate(operand=operand) | RotateSum(operand=operand) if operand in families:
                rotated.add(operand)
            case _:
                pass
    relinearisations.update(families[operand] for operand in rotated)
    waiting = {
        family
        for family in products
        if relinearisations[family] <= products[family] and family not in at_once
    }
    return tuple(
        2 if families.get(number) in waiting else 1 for number in range(len(program.operations))
    )


def _multiplies_ciphertexts(product: Mul, program: SlotProgram) -> bool:
    factors = (program.operations[operand] for operand in operands(product))
    return not any(isinstance(factor, Constant) for factor in factors)


def _families(program: SlotProgram) -> dict[int, int]:
    """One name for all products of ciphertexts that meet in sums, and for these sums."""
    parents: dict[int, int] = {}

    def first(number: int) -> int:
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    for number, operation in enumerate(program.operations):
        match operation:
            case Mul() if _multiplies_ciphertexts(operation, program):
                parents[number] = number
            case Add() | Sub() | Neg() | Mul():
                for operand in operands(operation):
                    if operand in parents:
                        parents.setdefault(number, number)
                        parents[first(operand)] = first(number)
            case _:
                pass
    return {number: first(number) for number in parents}
