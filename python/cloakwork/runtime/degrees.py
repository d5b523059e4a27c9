"""Which products wait for their relinearisation."""

from __future__ import annotations

from collections import Counter

from cloakwork.programs.slots import Mul, Output, SlotProgram


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
        >>> from cloakwork.programs.slots import Add, Input, Rescale
        >>> operations = (Input("x", 1), Mul(0, 0), Mul(0, 0), Add(1, 2), Rescale(3))
        >>> degrees(SlotProgram("", 8, operations, (None,) * 5))
        (1, 2, 2, 2, 1)
    """
    families = _families(program)
    products: Counter[int] = Counter()
    relinearisations: Counter[int] = Counter()
    # Rotations of one value are made together, after one relinearisation.
    rotated: set[int] = set()
    # These need degree 1 and have no relinearisation of their own.
    at_once: set[int] = set()
    for number, operation in enumerate(program.operations):
        own = [families[operand] for operand in operation.operands if operand in families]
        if multiplies_ciphertexts(program, number):
            products[families[number]] += 1
            at_once.update(own)
        elif operation.degree == "needs 1":
            at_once.update(own)
        elif operation.degree == "relinearises":
            relinearisations.update(own)
        elif operation.degree == "relinearises once":
            rotated.update(operand for operand in operation.operands if operand in families)
    relinearisations.update(families[operand] for operand in rotated)
    waiting = {
        family
        for family in products
        if relinearisations[family] <= products[family] and family not in at_once
    }
    return tuple(
        2 if families.get(number) in waiting else 1 for number in range(len(program.operations))
    )


def multiplies_ciphertexts(program: SlotProgram, number: int) -> bool:
    """Whether an operation is a product of two ciphertexts."""
    if not isinstance(program.operations[number], Mul):
        return False
    return not program.context(number).has_constant


def _families(program: SlotProgram) -> dict[int, int]:
    """One name for all products of ciphertexts that meet in sums, and for these sums."""
    parents: dict[int, int] = {}

    def first(number: int) -> int:
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    for number, operation in enumerate(program.operations):
        if multiplies_ciphertexts(program, number):
            parents[number] = number
        elif operation.degree == "keeps" and not isinstance(operation, Output):
            for operand in operation.operands:
                if operand in parents:
                    parents.setdefault(number, number)
                    parents[first(operand)] = first(number)
    return {number: first(number) for number in parents}
