"""The program that searches a block of rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cloakwork.errors import ActivationFitError, TableBudgetError
from cloakwork.frontends.search.asked import Search
from cloakwork.frontends.search.parameters import (
    Block,
    Precise,
    search_parameters,
    search_refreshing,
)
from cloakwork.plan.fitting.sign import Stages
from cloakwork.plan.fitting.step import step_error, step_stages
from cloakwork.plan.parameters.bootstrapping import USUAL_RINGS
from cloakwork.plan.parameters.rings import RINGS, at_first, cheapest_of
from cloakwork.plan.passes.levels import lowest_levels
from cloakwork.plan.passes.simplify import drop_dead
from cloakwork.programs.packing.rows import RowsPacking, Stored
from cloakwork.programs.port import Port
from cloakwork.programs.refreshing import Refreshing
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
    polynomial_depth,
)
from cloakwork.runtime.program import Program
from cloakwork.schemes.ckks import Ckks
from cloakwork.schemes.encoded_cache import ciphertext_bytes

# Above every level that a program can end up with.
_TOP = 100
# Coordinates of each share with which errors are simulated.
_WIDTH_TRIED = 4


def program_within(
    search: Search, meaning: str, budget: int | None, log_n: int | None, *, insecure: bool
) -> Program:
    """The fastest program that searches a block of a table of so many bytes at most; None for any.

    Raises:
        TableBudgetError: None is.
        ActivationFitError: The gap is too small.
        InvalidParametersError: No ring has levels and scales enough.
    """
    made = block_program(search, meaning, log_n, insecure=insecure)
    if budget is None or (least := table_bytes(search, made)) <= budget:
        return made
    if search.cuts:
        made = compact_program(search, meaning, log_n, insecure=insecure)
        least = min(least, table_bytes(search, made))
        if least <= budget:
            return made
    raise TableBudgetError(
        f"cannot search: expected a table within {budget} bytes, it takes {least} at least; allow "
        f"table_budget={least}, or make vectors shorter",
        least,
    )


def table_bytes(search: Search, program: Program) -> int:
    """Bytes of a table on disk, of each of whose vectors one polynomial is stored, and a seed."""
    assert isinstance(program.body, SlotProgram)
    assert isinstance(program.packing, RowsPacking)
    of_block = sum(
        ciphertext_bytes(program.scheme.parameters, each.level) // 2
        for each in program.body.operations
        if isinstance(each, Input) and each.name != "query"
    )
    return -(-search.rows // program.packing.rows.size) * of_block


def block_program(search: Search, meaning: str, log_n: int | None, *, insecure: bool) -> Program:
    """The program that searches a block, in the smallest ring that has one.

    Raises:
        ActivationFitError: The gap is too small.
        InvalidParametersError: No ring has levels and scales enough.
    """

    def attempt(log_n: int) -> Program:
        rows = search.rows_in(1 << (log_n - 1))
        plan = _Plan(search, rows, _stages(search, rows))
        block, narrow = plan.blocks(None)
        parameters = search_parameters(plan.precise, block, narrow, log_n, insecure)
        return plan.program(Ckks(parameters), block, meaning)

    rings = RINGS if log_n is None else (log_n,)
    return cheapest_of(rings, attempt, lambda _: 0.0, at_first)


def compact_program(search: Search, meaning: str, log_n: int | None, *, insecure: bool) -> Program:
    """The program that searches a block with a threshold whose rows stand in coefficients.

    There they take two levels' bits alone: the scores are refreshed before the threshold.

    Raises:
        ActivationFitError: The gap is too small.
        InvalidParametersError: No ring has levels and scales enough.
    """

    def attempt(log_n: int) -> Program:
        rows = replace(search.rows_in(1 << (log_n - 1)), shares=1)
        plan = _Plan(search, rows, _stages(search, rows))
        refreshing, block = search_refreshing(
            plan.precise, plan.blocks, plan.depth, log_n, insecure
        )
        return plan.program(Ckks(refreshing.chain, refreshing), block, meaning)

    rings = USUAL_RINGS if log_n is None else (log_n,)
    return cheapest_of(rings, attempt, lambda _: 0.0, at_first)


@dataclass(frozen=True)
class _Plan:
    """What is planned in a ring, whatever the scheme's levels are.

    Args:
        search: What is searched for.
        rows: How the rows of a block lie.
        stages: The polynomials of each threshold.
    """

    search: Search
    rows: RowSlots
    stages: Sequence[Stages]

    @property
    def depth(self) -> int:
        """Levels that polynomials and payloads take."""
        polynomials = (sum(map(polynomial_depth, of_cut)) for of_cut in self.stages)
        return max(polynomials) + (self.search.answer == "payloads")

    @property
    def precise(self) -> Precise:
        """How precise results are to be."""
        error = 2.0**-self.search.precision
        return Precise(self.search, error - _error(self.search, self.rows, self.stages))

    def blocks(self, refreshing: Refreshing | None) -> tuple[Block, Block]:
        """The program, and one of fewer coordinates, with which errors are simulated."""
        # Errors do not grow with coordinates, as vectors are not longer.
        width = min(self.search.width, _WIDTH_TRIED * self.rows.shares)
        narrow = replace(self.search, width=width)
        return self._block(self.search, refreshing), self._block(narrow, refreshing)

    def _block(self, search: Search, refreshing: Refreshing | None) -> Block:
        packing = _packing(search, self.rows, "slots" if refreshing is None else "coefficients")
        body = drop_dead(_body(search, self.stages, packing, refreshing))
        return Block(lowest_levels(body) if refreshing is None else body, packing)

    def program(self, scheme: Ckks, block: Block, meaning: str) -> Program:
        """The program of a block on a scheme."""
        error = 2.0**-self.search.precision
        return Program(
            scheme, block.program, block.packing, error=error, error_bound=error, meaning=meaning
        )


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


def _packing(search: Search, rows: RowSlots, stored: Stored) -> RowsPacking:
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
        tuple(inputs), tuple(outputs), rows.slots, rows.half, rows.shares, factor, penalty, stored
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


def _body(
    search: Search,
    stages: Sequence[Stages],
    packing: RowsPacking,
    refreshing: Refreshing | None,
) -> SlotProgram:
    """The operations on one block, whose scores are refreshed where they stand in coefficients."""
    made = Builder(f"search for {search.answer}", packing.slots)
    level = _TOP if refreshing is None else 1
    places = {port.name: place for port, place in packing.tensors_in}

    def inputs(name: str, level: int) -> list[int]:
        return [made.append(Input(name, level)) for _ in range(places[name].ciphertexts)]

    columns, (live,), query = (inputs(name, level) for name in ("columns", "live", "query"))
    pairs = zip(columns, query, strict=True)
    products = _sum(made, (made.append(Mul(*pair)) for pair in pairs))
    if refreshing is None:
        products = made.append(Rescale(products))
        products = _with_rotations(made, products, packing.half, packing.shares)
        live = made.append(DropLevel(live, made.level(products)))
        products = made.append(Sub(products, live))
    else:
        live = made.append(Mul(live, made.constant(np.ones(packing.slots))))
        products = made.append(Rescale(made.append(Sub(products, live))))
        products = made.append(refreshing.operation(products))
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
        numbers = np.split(np.array(inputs("payloads", made.level(matches[0]))), 2)
        for match, of_half in zip(matches, numbers, strict=True):
            for number in of_half.tolist():
                weighted = made.append(Rescale(made.append(Mul(match, number))))
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
