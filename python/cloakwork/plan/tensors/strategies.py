"""Choosing how to contract: the best arrangements are written out, and the cheapest is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.progress import progress_bar
from cloakwork.errors import LevelExhaustedError
from cloakwork.plan.cost import price
from cloakwork.plan.tensors.arrangement import (
    ClearOperand,
    EncryptedOperand,
    Free,
    Operand,
    candidates,
    score,
)
from cloakwork.plan.tensors.contraction import ContractionWay, UnpackedInput, contract
from cloakwork.plan.tensors.placed import (
    Placed,
    level_of,
)
from cloakwork.programs.layout import Layout
from cloakwork.programs.slots import Builder, Input

# Arrangements whose operations are written out, of all that are scored.
_TRIED = 6
_MOST_STAGES = 2
# Levels that a scratch program starts above its operands', so that it never runs out.
_LIFT = 64


@lru_cache(maxsize=4096)
def ways(
    operands: tuple[Operand, ...],
    output: str,
    slots: int,
    count: int = 1,
    level_price: float = price.LEVEL,
) -> tuple[ContractionWay, ...]:
    """The cheapest ways found to contract one or two operands, cheapest first.

    Example:
        >>> from cloakwork.programs.layout import default_layout
        >>> x = EncryptedOperand("ij", default_layout((3, 4), 16), level=3)
        >>> ways((x,), "ji", 16)
        (ContractionWay(axes=(), copies_first=True, stages=1),)
    """
    tried = list(dict.fromkeys(candidates(operands, output, slots)))
    if len(tried) > _TRIED * count:
        tried.sort(key=lambda way: score(operands, output, way, slots))
        del tried[_TRIED * count :]
    # What a way takes does not depend on how high its operands stand.
    low = _lowest(operands)
    found: list[tuple[float, int, ContractionWay]] = []

    def add(way: ContractionWay) -> None:
        # Axes of other names are equal.
        names = "".join(axis.name for axis in way.axes)
        cost, used = _tried(low, output, way, slots, names)
        found.append((cost + level_price * used, used, way))

    stages_tried = range(2, _MOST_STAGES + 1 if len(operands) > 1 else 2)
    total = len(tried) + len(stages_tried)
    with progress_bar(f"planning a contraction to {output!r}", total=total, unit="plan") as bar:
        for way in tried:
            add(way)
            bar.update()
        _, _, best = min(found, key=lambda each: each[0])
        for stages in stages_tried:
            add(replace(best, stages=stages))
            bar.update()
    least = min(used for _, used, _ in found)
    levels = [each.level for each in operands if isinstance(each, EncryptedOperand)]
    available = min(levels) if levels else _LIFT
    affordable = [(cost, way) for cost, used, way in found if used <= available]
    if not affordable:
        raise LevelExhaustedError(
            f"needs {least} level(s), the operands have {available}; make the session deeper"
        )
    affordable.sort(key=lambda each: each[0])
    return tuple(way for _, way in affordable[:count])


def _lowest(operands: Sequence[Operand]) -> tuple[Operand, ...]:
    """The operands with the lowest of their levels at 0."""
    least = min((each.level for each in operands if isinstance(each, EncryptedOperand)), default=0)
    return tuple(
        replace(each, level=each.level - least) if isinstance(each, EncryptedOperand) else each
        for each in operands
    )


@lru_cache(maxsize=4096)
def _tried(
    operands: tuple[Operand, ...], output: str, way: ContractionWay, slots: int, _names: str
) -> tuple[float, int]:
    """Price and levels of a way, from its operations; levels themselves have no price here."""
    builder = Builder("", slots)
    stand_ins: list[Placed | UnpackedInput | NDArray[np.float64]] = []
    levels: list[int] = []
    for each in operands:
        match each:
            case EncryptedOperand(layout=layout, level=level):
                values = tuple(
                    builder.append(Input("", level + _LIFT)) for _ in range(layout.ciphertexts)
                )
                stand_ins.append(Placed(values, layout))
                levels.append(level + _LIFT)
            case ClearOperand(shape=shape):
                stand_ins.append(np.ones(shape))
            case Free(shape=shape):
                stand_ins.append(_ScratchInput(shape))
    before = len(builder.operations)
    result = contract(builder, stand_ins, [each.labels for each in operands], output, way)
    start = min(levels) if levels else 2 * _LIFT
    used = start - level_of(builder, result)
    results = price.RESULT * len(result.values)
    return price.price(builder.operations, slots, before) + results, used


@dataclass(frozen=True, slots=True)
class _ScratchInput:
    shape: tuple[int, ...]

    def packed(self, builder: Builder, layout: Layout) -> Placed:
        values = tuple(builder.append(Input("", 2 * _LIFT)) for _ in range(layout.ciphertexts))
        return Placed(values, layout)


def contracted(
    builder: Builder,
    operands: Sequence[Placed | UnpackedInput | NDArray[np.float64]],
    labels: Sequence[str],
    output: str,
    choice: int = 0,
    level_price: float = price.LEVEL,
) -> Placed:
    """Plan a contraction and append it."""
    described = tuple(
        _described(builder, each, names) for names, each in zip(labels, operands, strict=True)
    )
    found = ways(described, output, builder.slots, choice + 1, level_price)
    return contract(builder, operands, labels, output, found[-1])


def _described(
    builder: Builder, operand: Placed | UnpackedInput | NDArray[np.float64], labels: str
) -> Operand:
    if isinstance(operand, np.ndarray):
        return ClearOperand(labels, operand.shape)
    if isinstance(operand, Placed):
        return EncryptedOperand(labels, operand.layout, level_of(builder, operand))
    return Free(labels, operand.shape)
