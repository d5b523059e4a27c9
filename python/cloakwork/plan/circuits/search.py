"""The search for the cheapest lane program of a circuit.

The circuit is written as products of forms in a few ways, each is laid out in many shapes, and
the cheapest schedules are improved by annealing. The circuit as it is written, one ciphertext
operation for each of its own, is the last resort, so no plan costs more than that.

The structure is that of Coyote (ASPLOS 2023, sections 4 and 5): which operations share a vector,
in which lanes, and what moves between them are settled together, by what the whole costs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

from cloakwork.errors import InvalidArgumentError, SlotMismatchError
from cloakwork.plan.circuits.adjoint import cut_forms
from cloakwork.plan.circuits.anneal import annealed
from cloakwork.plan.circuits.assemble import assemble
from cloakwork.plan.circuits.cost import LaneCosts, lane_cost
from cloakwork.plan.circuits.forms import Forms, SumNode, forms_of, written_forms
from cloakwork.plan.circuits.inputs import Spread
from cloakwork.plan.circuits.long_sums import with_short_sums
from cloakwork.plan.circuits.scalar import scalar_program
from cloakwork.plan.circuits.schedule import Shape, one_by_one, scheduled, stages
from cloakwork.plan.circuits.targets import LaneSchedule
from cloakwork.programs.ir.circuits import ScalarCircuit
from cloakwork.programs.ir.vectors import LaneProgram

# Terms of nodes that a search of effort 1 may go through, over all schedules that it tries: for
# shapes, and for each time of annealing. Together they take some seconds.
_SHAPE_VISITS = 60_000
_ANNEALING_VISITS = 80_000
_RESTARTS = 3
# Of the effort, what each of several searches for one circuit gets.
_SHARE = 0.5
# What rotations of one vector, masks and levels cost depends on the levels, which come later; so
# the search takes turns under several prices.
PRICES = (
    LaneCosts(mask=0.5, summed=0.35),
    LaneCosts(hoisted=0.3, summed=0.35, mask=0.8, product=0.2, level=0.3),
)
# Programs by one of the prices that levels are to decide among, and how much dearer than the
# cheapest they may be.
_MOST_CANDIDATES = 3
_DEAR = 1.5
# Operations of a circuit as it is written that levels can still decide for.
_LONGEST_SCALAR = 300
# Operations above which the circuit as it is written costs more than whatever else was found.
_LARGEST_SCALAR = 20_000
# Nodes up to which each is also tried in a vector of its own: of more the circuit as it is written
# costs as much.
_MOST_ALONE = 1000
# More steps than this for one node do not pay, and fewer than this in all do nothing.
_STEPS_PER_NODE = 220
_LEAST_STEPS = 20
_GAPS = (0, 1, 2, 3)
# Above this depth, levels go apart all together, or one at a time.
_ALL_SUBSETS = 4


@dataclass(frozen=True, slots=True)
class _Candidate:
    cost: float
    number: int
    forms: Forms
    schedule: LaneSchedule
    shape: Shape
    spread: Spread

    @property
    def rank(self) -> tuple[float, int]:
        return self.cost, self.number


def vectorise(
    circuit: ScalarCircuit,
    *,
    costs: LaneCosts | None = None,
    effort: float = 1.0,
    seed: int = 0,
    most_width: int = 4096,
    workers: int = 1,
) -> LaneProgram:
    """The cheapest lane program found for a circuit.

    Example:
        >>> from cloakwork.programs.ir.circuits import CircuitBuilder, CircuitInput
        >>> from cloakwork.programs.ir.circuits import ScalarProduct, Sum
        >>> builder = CircuitBuilder("dot")
        >>> a = builder.input(CircuitInput("a", (4,)))
        >>> b = builder.input(CircuitInput("b", (4,)))
        >>> total = builder.append(ScalarProduct(a[0], b[0]))
        >>> for x, y in zip(a[1:], b[1:]):
        ...     total = builder.append(Sum(total, builder.append(ScalarProduct(x, y))))
        >>> builder.output("y", (), (total,))
        >>> print(vectorise(builder.finish()))
        dot, 4 slots wide
          %0 = pack 0:a[0] 1:a[1] 2:a[2] 3:a[3]
          %1 = pack 0:b[0] 1:b[1] 2:b[2] 3:b[3]
          %2 = mul %0 %1
          %3 = rotate %2 by 2
          %4 = add %2 %3
          %5 = rotate %4 by 1
          %6 = add %4 %5
          output y = %6@0
    """
    costs = costs or LaneCosts()
    found = lane_programs(
        circuit,
        prices=(costs,),
        effort=effort,
        seed=seed,
        most_width=most_width,
        workers=workers,
    )
    return min(found, key=lambda program: lane_cost(program.operations, costs))


def lane_programs(
    circuit: ScalarCircuit,
    *,
    prices: Sequence[LaneCosts] = PRICES,
    effort: float = 1.0,
    seed: int = 0,
    most_width: int = 4096,
    workers: int = 1,
) -> list[LaneProgram]:
    """The cheapest lane programs found for a circuit, and the circuit as it is written.

    Levels decide among programs that cost about the same before they have any.

    """
    if not effort > 0 or workers < 1:
        raise InvalidArgumentError(
            f"cannot search with effort {effort} and {workers} workers: expected both positive"
        )
    # The ways in which it is written, each once.
    written = _different_forms(with_short_sums(each, most_width) for each in written_forms(circuit))
    cut = _different_forms(each for forms in written for each in cut_forms(forms))
    # Each way of writing gets its turn under each of the prices, as none tells which is best.
    turns = [(variants, costs) for variants in (written, cut) if variants for costs in prices]
    share = effort if len(turns) == 1 else effort * _SHARE
    # Different programs, in order.
    found: dict[tuple[object, ...], LaneProgram] = {}
    for variants, costs in turns:
        for program in _searched(variants, costs, share, seed, most_width, workers):
            found.setdefault((*program.operations, *program.places), program)
    if found and len(circuit.operations) > _LARGEST_SCALAR:
        return list(found.values())
    scalar = scalar_program(circuit)
    if not found and scalar.width > most_width:
        raise SlotMismatchError(
            f"cannot put {circuit.title} into {most_width} slots: its narrowest program takes "
            f"{scalar.width}; allow more slots, or let its inputs be ungrouped"
        )
    if scalar.width <= most_width and (
        len(scalar.operations) <= _LONGEST_SCALAR or _is_cheapest(scalar, found.values(), prices[0])
    ):
        found.setdefault((*scalar.operations, *scalar.places), scalar)
    return list(found.values())


def _is_cheapest(program: LaneProgram, others: Iterable[LaneProgram], costs: LaneCosts) -> bool:
    cost = lane_cost(program.operations, costs)
    return all(cost < lane_cost(other.operations, costs) for other in others)


def _searched(
    variants: Sequence[Forms],
    costs: LaneCosts,
    effort: float,
    seed: int,
    most_width: int,
    workers: int,
) -> list[LaneProgram]:
    """The cheapest programs by some prices, the cheapest first."""
    found = list(_shaped(variants, costs, effort, most_width))
    found.sort(key=lambda candidate: candidate.rank)
    tasks = [
        _Annealing(candidate, costs, effort, seed + number)
        for number, candidate in enumerate(_different(found))
    ]
    if workers > 1:
        with ProcessPoolExecutor(workers) as pool:
            improved = list(pool.map(_anneal, tasks))
    else:
        improved = [_anneal(task) for task in tasks]
    chosen: dict[float, LaneProgram] = {}
    is_large = _size(variants[0]) > _SHAPE_VISITS
    for candidate in sorted(improved + found, key=lambda each: each.cost):
        cost = round(candidate.cost, 6)
        dear = chosen and cost > _DEAR * min(chosen)
        if dear or len(chosen) == (1 if is_large else _MOST_CANDIDATES):
            break
        program = _program(candidate, costs)
        if cost not in chosen and program.width <= most_width:
            chosen[cost] = program
    return list(chosen.values())


def _program(candidate: _Candidate, costs: LaneCosts) -> LaneProgram:
    made = assemble(candidate.forms, candidate.schedule, candidate.spread, costs)
    return made.program(candidate.forms)


@dataclass(frozen=True, slots=True)
class _Annealing:
    candidate: _Candidate
    costs: LaneCosts
    effort: float
    seed: int


def _anneal(task: _Annealing) -> _Candidate:
    start = task.candidate
    forms, spread = start.forms, start.spread
    nodes = len(start.schedule.lanes)
    visits = task.effort * _ANNEALING_VISITS
    steps = min(int(visits / _size(forms)), int(task.effort * _STEPS_PER_NODE * nodes))
    if steps < _LEAST_STEPS:
        return start

    def cost(schedule: LaneSchedule) -> float:
        return assemble(forms, schedule, spread, task.costs).cost(task.costs)

    at = stages(forms, late=start.shape.late)
    schedule = annealed(forms, start.schedule, at, cost, steps, task.seed)
    return replace(start, cost=cost(schedule), schedule=schedule)


def _different(found: Iterable[_Candidate]) -> list[_Candidate]:
    """The cheapest candidates of different cost."""
    chosen: dict[float, _Candidate] = {}
    for candidate in found:
        chosen.setdefault(round(candidate.cost, 6), candidate)
        if len(chosen) == _RESTARTS:
            break
    return list(chosen.values())


def _shaped(
    variants: Sequence[Forms], costs: LaneCosts, effort: float, most_width: int
) -> Iterator[_Candidate]:
    """Candidates of all shapes that the effort allows, the plainest first."""
    visits = effort * _SHAPE_VISITS
    spreads: list[Spread] = ["beside"]
    inputs = variants[0].circuit.inputs
    if any(not each.grouped and not each.replicated for each in inputs):
        spreads.append("alone")
    is_together = all(each.count <= most_width for each in inputs)
    if is_together and any(not each.grouped for each in inputs):
        spreads.append("together")
    tried: set[tuple[int, tuple[tuple[int, ...], ...], tuple[tuple[int, int], ...], Spread]] = set()
    shapes = [_shapes(forms) for forms in variants]
    for row in itertools.zip_longest(*shapes):
        for (number, forms), shape in zip(enumerate(variants), row, strict=True):
            if shape is None:
                continue
            schedules = [_fitted(forms, shape, most_width)]
            if shape == Shape() and len(forms.live) <= _MOST_ALONE:
                schedules.append(one_by_one(forms, late=False))
            for schedule, spread in itertools.product(schedules, spreads):
                key = (number, schedule.packs, tuple(sorted(schedule.lanes.items())), spread)
                if key in tried:
                    continue
                tried.add(key)
                cost = assemble(forms, schedule, spread, costs).cost(costs)
                yield _Candidate(cost, len(tried), forms, schedule, shape, spread)
                visits -= _size(forms)
        if visits < 0:
            return


def _different_forms(made: Iterable[Forms]) -> list[Forms]:
    variants: dict[tuple[object, ...], Forms] = {}
    for forms in made:
        variants.setdefault((*forms.nodes, *forms.outputs), forms)
    return list(variants.values())


def _shapes(forms: Forms) -> Iterator[Shape]:
    depth = max(forms.levels, default=0)
    levels = range(1, depth + 1)
    places = (True, False) if _most_sums(forms) <= _MOST_ALONE else (False,)
    if depth <= _ALL_SUBSETS:
        subsets = [
            frozenset(chosen)
            for count in range(depth + 1)
            for chosen in itertools.combinations(levels, count)
        ]
    else:
        subsets = [frozenset(), frozenset(levels), *(frozenset((level,)) for level in levels)]
    for gap in _GAPS:
        for apart in subsets:
            for late, sums_apart in itertools.product((False, True), places):
                yield Shape(late, apart, sums_apart, gap)


def _most_sums(forms: Forms) -> int:
    """The most sums that one node is made of."""
    made = [isinstance(node, SumNode) for node in forms.nodes]
    return max(
        (
            sum(made[term] for form in forms_of(forms.nodes[node]) for term, _ in form.terms)
            for node in forms.live
        ),
        default=0,
    )


def _fitted(forms: Forms, shape: Shape, most_width: int) -> LaneSchedule:
    """A schedule of the shape, cut into blocks where its vectors would be too long."""
    schedule = scheduled(forms, shape)
    if _span(schedule) <= most_width:
        return schedule
    levels = frozenset(range(1, max(forms.levels) + 1))
    block = max(len(form.terms) for node in forms.nodes for form in forms_of(node))
    while block > 1 and _span(schedule) > most_width:
        block = -(-block // 2)
        schedule = scheduled(forms, replace(shape, apart=levels, block=block))
    return _folded(schedule, _whole_rows(forms, most_width))


def _span(schedule: LaneSchedule) -> int:
    lanes = schedule.lanes.values()
    return max(lanes, default=0) - min(lanes, default=0) + 1


def _whole_rows(forms: Forms, most_width: int) -> int:
    """The most slots that hold whole rows of the widest result."""
    shapes = [output.shape for output in forms.circuit.outputs if output.shape]
    row = max((shape[-1] for shape in shapes), default=1)
    return most_width - most_width % row if row <= most_width else most_width


def _folded(schedule: LaneSchedule, width: int) -> LaneSchedule:
    """The schedule with vectors that are too long cut into several."""
    if all(0 <= lane < width for lane in schedule.lanes.values()):
        return schedule
    packs: list[tuple[int, ...]] = []
    for pack in schedule.packs:
        parts: dict[int, list[int]] = {}
        for node in pack:
            parts.setdefault(schedule.lanes[node] // width, []).append(node)
        packs += [tuple(parts[part]) for part in sorted(parts)]
    lanes = {node: lane % width for node, lane in schedule.lanes.items()}
    return replace(schedule, packs=tuple(packs), lanes=lanes)


def _size(forms: Forms) -> int:
    terms = (len(form.terms) for node in forms.live for form in forms_of(forms.nodes[node]))
    return 1 + len(forms.live) + sum(terms)
