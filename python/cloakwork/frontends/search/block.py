"""The program that searches a block of rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from cloakwork.errors import ActivationFitError
from cloakwork.frontends.search.asked import Search
from cloakwork.frontends.search.parameters import Block, search_parameters
from cloakwork.plan.fitting.sign import Stages
from cloakwork.plan.fitting.step import step_error, step_stages
from cloakwork.plan.parameters.rings import RINGS, at_first, cheapest_of
from cloakwork.plan.passes.levels import lowest_levels
from cloakwork.plan.passes.simplify import drop_dead
from cloakwork.programs.packing.rows import RowsPacking
from cloakwork.programs.port import Port
from cloakwork.programs.rows import RowSlots
from cloakwork.programs.slots import (
    Add,
    Builder,
    DropLevel,
    Input,
    Mul,
    Neg,
    Output,
    Polynomial,
    Rescale,
    Rotate,
    SlotProgram,
    Sub,
    TimesI,
    TwiceReal,
)
from cloakwork.runtime.program import Program
from cloakwork.schemes.ckks import Ckks

# Above every level that a program can end up with.
_TOP = 100
# Coordinates of each share with which errors are simulated.
_WIDTH_TRIED = 4


def block_program(search: Search, meaning: str, log_n: int | None, *, insecure: bool) -> Program:
    """The program that searches a block, in the smallest ring that has one.

    Raises:
        ActivationFitError: The gap is too small.
        InvalidParametersError: No ring has levels and scales enough.
    """

    def attempt(log_n: int) -> Program:
        rows = search.rows_in(1 << (log_n - 1))
        stages = _stages(search, rows)
        block = _block(search, rows, stages)
        # Errors do not grow with coordinates, as vectors are not longer.
        width = min(search.width, _WIDTH_TRIED * rows.shares)
        narrow = _block(replace(search, width=width), rows, stages)
        error = 2.0**-search.precision
        noise = error - _error(search, rows, stages)
        parameters = search_parameters(search, block, narrow, noise, log_n, insecure)
        return Program(
            Ckks(parameters),
            block.program,
            block.packing,
            error=error,
            error_bound=error,
            meaning=meaning,
        )

    rings = RINGS if log_n is None else (log_n,)
    return cheapest_of(rings, attempt, lambda _: 0.0, at_first)


def _block(search: Search, rows: RowSlots, stages: Sequence[Stages]) -> Block:
    packing = _packing(search, rows)
    return Block(lowest_levels(drop_dead(_body(search, stages, packing))), packing)


def _stages(search: Search, rows: RowSlots) -> list[Stages]:
    """The polynomials of each threshold, half of the error of what is added up being theirs."""
    precision = 2.0 ** -(search.precision + 1 + math.ceil(math.log2(search.times(rows))))
    found: list[Stages] = []
    for cut, gap in search.steps:
        stages = step_stages(cut, gap, precision)
        if stages is None:
            raise ActivationFitError(
                f"cannot search: no polynomials tell scores apart that differ by {search.gap:g}; "
                "give a larger gap, or less precision"
            )
        found.append(stages)
    return found


def _error(search: Search, rows: RowSlots, stages: Sequence[Stages]) -> float:
    """How far results are off by polynomials, which come nearer than they have to."""
    errors = [step_error(each, *step) for each, step in zip(stages, search.steps, strict=True)]
    return search.times(rows) * max(errors, default=0.0)


def _packing(search: Search, rows: RowSlots) -> RowsPacking:
    """How a block lies in ciphertexts."""
    width, size = search.width, rows.size
    of_rows, of_query = search.lengths
    inputs = [
        Port("columns", "real", 0, (width, size), -1.0, 1.0, length=of_rows),
        Port("live", "real", 0, (size,), 0.0, 1.0),
        Port("query", "real", 0, (width,), -1.0, 1.0, length=of_query),
    ]
    if search.answer == "payloads":
        payloads = (search.payload_width, size)
        inputs.append(Port("payloads", "real", 0, payloads, -search.bound, search.bound))
    outputs = [Port(name, "real", 0, shape) for name, shape in _shapes(search, size).items()]
    factor = 1.0
    if search.cuts:
        # Twice the real parts are taken.
        low, high = search.interval
        factor = 1 / (high - low)
    penalty = factor * search.penalty
    return RowsPacking(
        tuple(inputs), tuple(outputs), rows.slots, rows.half, rows.shares, factor, penalty
    )


def _shapes(search: Search, size: int) -> dict[str, tuple[int, ...]]:
    """The names and the shapes of what comes out."""
    match search.answer:
        case "count":
            return {f"count {number + 1}": () for number in range(len(search.cuts))}
        case "payloads":
            return {"matches": (size,), "payloads": (search.payload_width, size)}
        case answer:
            return {answer: (size,)}


def _body(search: Search, stages: Sequence[Stages], packing: RowsPacking) -> SlotProgram:
    """The operations on one block."""
    made = Builder(f"search for {search.answer}", packing.slots)
    given = {
        port.name: [made.append(Input(port.name, _TOP)) for _ in range(place.ciphertexts)]
        for port, place in packing.tensors_in
    }
    pairs = zip(given["columns"], given["query"], strict=True)
    products = made.append(Rescale(_sum(made, (made.append(Mul(*pair)) for pair in pairs))))
    products = _with_rotations(made, products, packing.half, packing.shares)
    live = made.append(DropLevel(given["live"][0], made.level(products)))
    products = made.append(Sub(products, live))
    if search.answer == "scores":
        made.append(Output(products))
        return made.finish()
    turned = made.append(TimesI(made.append(Neg(products))))
    halves = [made.append(TwiceReal(each)) for each in (products, turned)]
    low, high = search.interval
    shift = made.constant(np.full(packing.slots, -(low + high) / (high - low)))
    halves = [made.append(Add(each, shift)) for each in halves]
    for of_cut in stages:
        matches = [_composition(made, each, of_cut) for each in halves]
        if search.answer == "count":
            count = _with_rotations(made, _sum(made, matches), 1, packing.half)
            made.append(Output(count))
        else:
            imaginary = made.append(TimesI(matches[1]))
            made.append(Output(made.append(Add(matches[0], imaginary))))
    if search.answer == "payloads":
        numbers = np.split(np.array(given["payloads"]), 2)
        for match, of_half in zip(matches, numbers, strict=True):
            for number in of_half.tolist():
                dropped = made.append(DropLevel(number, made.level(match)))
                weighted = made.append(Rescale(made.append(Mul(match, dropped))))
                made.append(Output(weighted))
    return made.finish()


def _sum(made: Builder, values: Iterable[int]) -> int:
    """The sum of values, each added as soon as it is there."""
    left = iter(values)
    total = next(left)
    for each in left:
        total = made.append(Add(total, each))
    return total


def _with_rotations(made: Builder, value: int, step: int, count: int) -> int:
    """The sum of so many rotations of a value, a power of two, by multiples of a step."""
    while count > 1:
        value = made.append(Add(value, made.append(Rotate(value, step))))
        step, count = 2 * step, count // 2
    return value


def _composition(made: Builder, value: int, stages: Stages) -> int:
    """Polynomials of a value, one after the other."""
    for coefficients in stages:
        value = made.append(Polynomial(value, coefficients, "chebyshev"))
    return value
