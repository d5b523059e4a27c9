"""One sparse transform as a product of sparser ones.

A map that gives each target slot one source slot may be done in steps: every
element rests in some slot between two steps, and each step is a transform whose
diagonals are the distances its elements go. A route is a list of such resting
places that may be visited; a product is the source, a few of them, and the target.
Any of them may be skipped, which costs diagonals and saves a level, so the
cheapest product along a route is a shortest path over its places.

Routes tried, after what they know of the map:

- the digits of the distance that each element goes, lowest or highest first;
- where the map is affine in a few indices, the digits of each index: a transpose of a
  square exchanges the same digit of row and column in each step, another rectangle's
  exchanges digits until all are in order (Ma et al., "New permutation decomposition
  techniques for efficient homomorphic permutation", arXiv 2410.21840);
- for any map, ever higher powers of some spacing: each step ends near where it began,
  in the next free slot that is a multiple of the power from the target;
- for any permutation, the columns of a Benes network (Halevi and Shoup, "Algorithms
  in HElib", CRYPTO 2014);
- for any replication, sources packed together, each spread over as many slots as
  it has targets, and the columns of a Benes network.

A random permutation of 4096 slots has about 2600 diagonals alone, about 650 as two factors
and 255 as three; a transpose of 128 by 128 has 255, 46 and 29.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import LevelExhaustedError
from cloakwork.plan.cost.price import DIAGONAL
from cloakwork.programs.bsgs import cheapest_split
from cloakwork.programs.diagonals import SparseDiagonals

Slots: TypeAlias = NDArray[np.int64]

_RADICES = (2, 3)
_SPLITS_VARY = 3
_MOST_INDICES = 4


def product_of_sparser(diagonals: SparseDiagonals, levels: int) -> list[SparseDiagonals]:
    """The product with the least rotations and diagonals, within so many levels.

    Example:
        >>> rows, columns = np.divmod(np.arange(4096), 64)
        >>> transpose = SparseDiagonals(4096, 64 * rows + columns, 64 * columns + rows)
        >>> [len(factor) for factor in product_of_sparser(transpose, 2)]
        [15, 15]
    """
    content = diagonals.sources.tobytes(), diagonals.targets.tobytes(), diagonals.weights.tobytes()
    return list(_product(diagonals.slots, *content, levels))


@lru_cache(maxsize=64)
def _product(
    slots: int, sources: bytes, targets: bytes, weights: bytes, levels: int
) -> tuple[SparseDiagonals, ...]:
    diagonals = SparseDiagonals(
        slots,
        np.frombuffer(sources, dtype=np.int64),
        np.frombuffer(targets, dtype=np.int64),
        np.frombuffer(weights, dtype=np.float64),
    )

    def cost(numbers: NDArray[np.int64]) -> float:
        return cheapest_split(numbers, slots).cost + DIAGONAL * len(numbers)

    return tuple(cheapest_factors(diagonals, levels, cost))


def cheapest_factors(
    transform: SparseDiagonals,
    levels: int,
    cost_of: Callable[[NDArray[np.int64]], float],
    level_cost: float = 0.0,
) -> list[SparseDiagonals]:
    """The product of least cost that does what the transform does, first applied first.

    Example:
        >>> from cloakwork.programs.bsgs import cheapest_split
        >>> rows, columns = np.divmod(np.arange(4096), 64)
        >>> transpose = SparseDiagonals(4096, 64 * rows + columns, 64 * columns + rows)
        >>> cost = lambda numbers: cheapest_split(numbers, 4096).cost
        >>> product = cheapest_factors(transpose, 3, cost)
        >>> [len(factor) for factor in product]
        [7, 7, 7]
    """

    def cost(product: list[SparseDiagonals]) -> float:
        work = sum(cost_of(factor.numbers) for factor in product)
        return work + level_cost * (len(product) - 1)

    return min(factorizations(transform, levels), key=cost)


def factorizations(transform: SparseDiagonals, most_stages: int) -> list[list[SparseDiagonals]]:
    """Products that do what the transform does, each of at most so many factors.

    The transform alone comes first; then, for each number of factors, the products with
    few diagonals. The first factor of a product is applied first. Every factor masks what
    it does not move, so nothing enters from slots that the transform does not read. A
    transform that both reads a slot twice and adds several into one is returned alone.

    Example:
        >>> spread = SparseDiagonals(16, np.zeros(16, dtype=np.int64), np.arange(16))
        >>> [[len(factor) for factor in p] for p in factorizations(spread, 2)][:2]
        [[16], [4, 4]]
    """
    if most_stages < 1:
        raise LevelExhaustedError(
            "cannot factor a transform: expected at least one level for it, "
            f"got {most_stages}; refresh the ciphertext or give the program more depth"
        )
    if _repeats(transform.targets):
        if _repeats(transform.sources):
            return [[transform]]
        # A sum is a replication seen from the other side, factor by factor.
        return [
            [_transpose(factor) for factor in reversed(product)]
            for product in factorizations(_transpose(transform), most_stages)
        ]
    products = [[transform]]
    if len(transform) > 1:
        weights = np.zeros(transform.slots)
        weights[transform.targets] = transform.weights
        order = np.argsort(transform.targets)
        sources, targets = transform.sources[order], transform.targets[order]
        for places in _fewest_diagonals(sources, targets, transform.slots, most_stages):
            *first, last = _steps(places, transform.slots)
            products.append([*first, last.weighted(weights[last.targets])])
    return products


def _repeats(slots: Slots) -> bool:
    return len(np.unique(slots)) < len(slots)


def _transpose(transform: SparseDiagonals) -> SparseDiagonals:
    return SparseDiagonals(transform.slots, transform.targets, transform.sources, transform.weights)


def _fewest_diagonals(
    sources: Slots, targets: Slots, slots: int, most_stages: int
) -> list[list[Slots]]:
    """Places to rest in, per number of stages those of few diagonals, least first.

    Which of them is cheapest depends on how well their diagonals split too, so those of
    up to `_SPLITS_VARY` times the fewest are kept.
    """
    alone = len(np.unique((sources - targets) % slots))
    found: dict[int, list[tuple[int, list[Slots]]]] = {}
    for route in _routes(sources, targets, slots):
        for count, places in _shortest_paths(route, slots, most_stages):
            if count < alone:
                found.setdefault(len(places), []).append((count, places))
    kept = []
    for same_length in found.values():
        same_length.sort(key=operator.itemgetter(0))
        fewest = same_length[0][0]
        kept += [places for count, places in same_length if count <= _SPLITS_VARY * fewest]
    return kept


def _steps(places: Sequence[Slots], slots: int) -> list[SparseDiagonals]:
    """One transform from each place to the next, with only what the last place needs."""
    needed = np.arange(len(places[-1]))
    steps = []
    for there, here in itertools.pairwise(reversed(places)):
        # Copies that meet here are one from here on, wherever each came from.
        needed = needed[np.unique(there[needed], return_index=True)[1]]
        steps.append(SparseDiagonals(slots, here[needed], there[needed]))
    return steps[::-1]


def _shortest_paths(
    route: Sequence[Slots], slots: int, most_stages: int
) -> Iterator[tuple[int, list[Slots]]]:
    """Per number of stages from two on, the fewest diagonals and the places on the way."""
    last = len(route) - 1
    hops = np.full((last + 1, last + 1), len(route) * slots)
    for here, there in itertools.combinations(range(last + 1), 2):
        touched = np.zeros(slots, dtype=np.bool_)
        touched[(route[here] - route[there]) % slots] = True
        hops[here, there] = np.count_nonzero(touched)
    reached = hops[0]
    before: list[NDArray[np.intp]] = []
    for _ in range(2, min(most_stages, last) + 1):
        through = reached[:, np.newaxis] + hops
        before.append(through.argmin(axis=0))
        reached = through.min(axis=0)
        path = [last]
        for choice in reversed(before):
            path.append(int(choice[path[-1]]))
        yield int(reached[last]), [route[place] for place in (0, *reversed(path))]


def _routes(sources: Slots, targets: Slots, slots: int) -> Iterator[list[Slots]]:
    """Lists of resting places from sources to targets, in each of which no two elements meet.

    Elements meet where one slot would hold two different sources.
    """
    ways = [_digit_routes(sources, targets, slots), _parking_routes(sources, targets, slots)]
    if indices := _indices(sources, targets):
        ways += [_index_routes(sources, indices), _exchange_routes(sources, indices)]
    if _repeats(sources):
        ways.append(_replication_routes(sources, targets, slots))
    else:
        ways.append(iter([_benes(sources, targets)]))
    seen: set[int] = set()
    for places in itertools.chain.from_iterable(ways):
        route = [sources]
        for place in (place % slots for place in places):
            if _hold_one_each(place, sources, slots) and not np.array_equal(place, route[-1]):
                route.append(place)
        if not np.array_equal(route[-1], targets):
            route.append(targets)
        name = hash(np.concatenate(route).tobytes())
        if len(route) > 2 and name not in seen:
            seen.add(name)
            yield route


def _hold_one_each(place: Slots, sources: Slots, slots: int) -> bool:
    held = np.empty(slots, dtype=np.int64)
    held[place] = sources
    return bool(np.array_equal(held[place], sources))


def _digit_routes(sources: Slots, targets: Slots, slots: int) -> Iterator[list[Slots]]:
    """Every element goes the digits of its distance, in units of the distances' spacing."""
    around = (sources - targets) % slots
    nearest = np.where(around > slots // 2, around - slots, around)
    for distances in (around, around - slots * (around > 0), nearest, sources - targets):
        for base in sorted({0, int(distances.min())}):
            spacing = int(np.gcd.reduce(distances - base))
            steps = (distances - base) // spacing
            for radix in _RADICES:
                powers = _powers(radix, int(np.abs(steps).max()))
                low = [spacing * np.sign(steps) * (np.abs(steps) % power) for power in powers]
                yield [sources - moved for moved in low]
                yield [sources - spacing * steps + left for left in reversed(low)]


def _powers(radix: int, most: int) -> list[int]:
    powers = [1]
    while powers[-1] <= most:
        powers.append(powers[-1] * radix)
    return powers


@dataclass(frozen=True, slots=True)
class _Index:
    """One index of an affine map: its extent, its stride at source and target, its values."""

    size: int
    come: int
    go: int
    values: Slots

    def digits(self, radices: Sequence[int]) -> Iterator[_Index]:
        """Its digits in a mixed radix, lowest first, each an index of its own."""
        weight = 1
        for radix in radices:
            digit = self.values // weight % radix
            yield _Index(radix, self.come * weight, self.go * weight, digit)
            weight *= radix


def _indices(sources: Slots, targets: Slots) -> list[_Index]:
    """The indices that the map is affine in, the fastest first; none if it is not affine."""
    count = len(sources)
    found: list[_Index] = []
    inner = 1
    while inner < count:
        outer = sources[::inner], targets[::inner]
        strides = np.stack([np.diff(slots) for slots in outer])
        breaks = np.flatnonzero((strides != strides[:, :1]).any(axis=0))
        size = int(breaks[0]) + 1 if len(breaks) else len(outer[0])
        if size == 1 or len(outer[0]) % size:
            return []
        come, go = (int(stride) for stride in strides[:, 0])
        for slots, stride in zip(outer, (come, go), strict=True):
            rows = slots.reshape(-1, size)
            if (rows != rows[:, :1] + stride * np.arange(size)).any():
                return []
        found.append(_Index(size, come, go, np.arange(count) // inner % size))
        inner *= size
    return found


def _index_routes(sources: Slots, indices: Sequence[_Index]) -> Iterator[list[Slots]]:
    """Move by the digits of one index after the other, or by one digit of all at once."""
    moving = [index for index in indices if index.come != index.go]
    if len(moving) > _MOST_INDICES:
        return
    for radix in _RADICES:
        split = [
            list(index.digits([radix] * (len(_powers(radix, index.size - 1)) - 1)))
            for index in moving
        ]
        side_by_side = itertools.chain.from_iterable(itertools.zip_longest(*split))
        orders = [[digit for digit in side_by_side if digit is not None]]
        orders += [list(itertools.chain(*order)) for order in itertools.permutations(split)]
        for order in orders:
            for digits in (order, order[::-1]):
                moves = ((digit.come - digit.go) * digit.values for digit in digits)
                yield [sources - moved for moved in itertools.accumulate(moves)]


def _exchange_routes(sources: Slots, indices: Sequence[_Index]) -> Iterator[list[Slots]]:
    """Bring the digits of an array's dense index into the target's order one by one.

    Each digit, of prime radix, takes its final place either by changing places with the
    digit that is there or by pushing aside those between; from the highest place down
    or from the lowest up.
    """
    extents = _padded_extents(indices)
    if extents is None:
        return
    digits = [
        digit
        for index, extent in zip(indices, extents, strict=True)
        for digit in index.digits(_prime_factors(extent))
    ]
    unit, base = min(digit.come for digit in digits), int(sources.min())
    come = sorted(range(len(digits)), key=lambda which: digits[which].come)
    go = sorted(range(len(digits)), key=lambda which: digits[which].go)
    for places in (range(len(digits)), reversed(range(len(digits)))):
        exchanged, pushed = list(come), list(come)
        routes: tuple[list[Slots], list[Slots]] = ([], [])
        for place in places:
            other = exchanged.index(go[place])
            exchanged[place], exchanged[other] = exchanged[other], exchanged[place]
            pushed.remove(go[place])
            pushed.insert(place, go[place])
            for route, order in zip(routes, (exchanged, pushed), strict=True):
                radices = (digits[which].size for which in order[:-1])
                weights = itertools.accumulate(radices, operator.mul, initial=unit)
                held = (w * digits[which].values for w, which in zip(weights, order, strict=True))
                route.append(base + sum(held, np.zeros_like(sources)))
        yield from routes


def _padded_extents(indices: Sequence[_Index]) -> list[int] | None:
    """What each index would count to if the array had no gaps at source and at target."""
    bounds: list[int | None] = [None] * len(indices)
    units = []
    for strides in ([index.come for index in indices], [index.go for index in indices]):
        order = sorted(range(len(indices)), key=strides.__getitem__)
        units.append(strides[order[0]])
        for low, high in itertools.pairwise(order):
            if strides[low] <= 0 or strides[high] % strides[low]:
                return None
            extent = strides[high] // strides[low]
            if extent < indices[low].size or bounds[low] not in (None, extent):
                return None
            bounds[low] = extent
    if units[0] != units[1]:
        return None
    return [bound or index.size for bound, index in zip(bounds, indices, strict=True)]


def _prime_factors(number: int) -> list[int]:
    factors = []
    divisor = 2
    while number > 1:
        if number % divisor:
            divisor += 1
        else:
            factors.append(divisor)
            number //= divisor
    return factors


def _replication_routes(sources: Slots, targets: Slots, slots: int) -> Iterator[list[Slots]]:
    """Pack the sources in use, spread each over neighbouring slots, permute these.

    Distances of packing and of spreading grow along the slots, so their digits never
    make elements meet: lowest first where elements come together, highest first where
    they move apart.
    """
    order = np.argsort(sources, kind="stable")
    spread = np.empty_like(sources)
    spread[order] = np.arange(len(sources))
    packed = np.unique(sources, return_inverse=True)[1]
    powers = _powers(2, slots)
    packing = [sources - (sources - packed) % power for power in powers]
    spreading = [spread - (spread - packed) % power for power in reversed(powers)]
    yield [*packing, *spreading, *_benes(spread, targets)]


def _benes(sources: Slots, targets: Slots) -> list[Slots]:
    """Where each element rests between the columns of a Benes network, ends included.

    Column t chooses bit t, highest first, of the slot in which an element crosses the
    middle; the columns after the middle put right one bit each, lowest first. Two
    elements whose slots differ in that bit alone, before or after, must choose
    differently: a two-colouring of cycles, found for all cycles at once by doubling the
    distance over which the least number on a cycle is known.

    Source: Benes, "Optimal rearrangeable multistage connecting networks", BSTJ 1964.
    """
    width = max(int(sources.max()), int(targets.max())).bit_length()
    front = np.arange(1 << width)
    back = _completed(sources, targets, 1 << width)
    fronts, backs = [front[sources]], [back[sources]]
    for bit in range(width - 1, 0, -1):
        half = 1 << bit
        beside_in = _inverse(front)[front ^ half]
        beside_out = _inverse(back)[back ^ half]
        least, step = np.arange(1 << width), beside_out[beside_in]
        for _ in range(bit):
            least = np.minimum(least, least[step])
            step = step[step]
        leader = np.minimum(least, least[beside_in])
        choice = (front[leader] & half) ^ np.where(least == leader, 0, half)
        front, back = (front & ~half) | choice, (back & ~half) | choice
        fronts.append(front[sources])
        backs.append(back[sources])
    return [*fronts, *reversed(backs)]


def _parking_routes(sources: Slots, targets: Slots, slots: int) -> Iterator[list[Slots]]:
    """Come nearer to the target's residue modulo the powers of some spacing, one by one."""
    for spacing in _powers(2, slots)[1:]:
        places = [sources]
        while slots % spacing ** len(places) == 0 and slots > spacing ** len(places):
            places.append(_parked(places[-1], targets, slots, spacing ** len(places)))
        yield places


def _parked(sources: Slots, targets: Slots, slots: int, spacing: int) -> Slots:
    """A slot near each source and a multiple of the spacing from the target.

    Those whose targets are congruent share the slots congruent to them; each takes the
    first free one from its source on, as drivers park along a ring road. From random
    sources nobody goes much further than the square root of the road's length, and
    where a part of the road stays free only a few slots.

    Source: Konheim and Weiss, "An occupancy discipline and applications", SIAM J. Appl.
    Math. 14, 1966.
    """
    rows = slots // spacing
    columns = targets % spacing
    drivers, copies = np.unique(columns * slots + (sources - columns) % slots, return_inverse=True)
    columns, entries = np.divmod(drivers, slots)
    # Those who drive past the end push others on: only the second round sees them all.
    arrivals = columns * 4 * rows + entries // spacing
    rounds = np.sort(np.concatenate([arrivals, arrivals + rows]))
    turn = np.arange(len(rounds))
    parked = turn + np.maximum.accumulate(rounds - turn)
    parked = parked[rounds % (4 * rows) >= rows]
    return (columns + spacing * (parked % rows))[copies]


def _completed(sources: Slots, targets: Slots, width: int) -> Slots:
    """The target of every slot, of those that have none so that it becomes a permutation."""
    slots = np.arange(width)
    completed = np.empty(width, dtype=np.int64)
    completed[np.setdiff1d(slots, sources)] = np.setdiff1d(slots, targets)
    completed[sources] = targets
    return completed


def _inverse(permutation: Slots) -> Slots:
    inverse = np.empty_like(permutation)
    inverse[permutation] = np.arange(len(permutation))
    return inverse
