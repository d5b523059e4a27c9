"""The parameters by which the results of a block are precise, by simulated noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork._native import Parameters
from cloakwork.errors import InsecureParametersError, InvalidParametersError
from cloakwork.frontends.search.asked import Search
from cloakwork.plan.parameters.bootstrapping import (
    LEVELS_OF_COEFFICIENTS,
    ThinLevels,
    refreshing_of_coefficients,
)
from cloakwork.plan.parameters.ckks import SCALE_BITS
from cloakwork.plan.parameters.rings import at_first, cheapest_of
from cloakwork.plan.parameters.scales import Scaled, raised_scale, without_spare_bits
from cloakwork.plan.passes.levels import depth_of
from cloakwork.plan.reals.expected import OUTGROWN, ClearRun, expected_error
from cloakwork.programs.bounds import largest_bound, polynomial_ceilings
from cloakwork.programs.packing.rows import RowsPacking
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import Output, SlotProgram, Vector
from cloakwork.runtime.program import bounds_of_values
from cloakwork.runtime.simulate import results as clear_results
from cloakwork.schemes.ckks_noise import NoiseModel, noise_of

Array: TypeAlias = NDArray[np.float64]

# Bits above the largest result: sign, noise, and some by which one that is wrong is seen.
_HEADROOM_BITS = 4
# Bits for the blocks that tables get later whose results are added up.
_GROWTH_BITS = 3
# Rows with which errors are simulated, and blocks of them at most.
_ROWS_TRIED, _MOST_TRIED = 1 << 7, 8
# Bits of a scale with fewer of which noise takes numbers beyond the ranges of polynomials, and by
# how many it is made longer at once, as errors say little there.
_FIRST_SCALE, _LONGEST_STEP = 24, 6


@dataclass(frozen=True, slots=True)
class Block:
    """A program that searches a block, whose results are read; see `plan.reals.expected`.

    Args:
        program: The program.
        packing: How the block lies in ciphertexts.
    """

    program: SlotProgram
    packing: RowsPacking

    def unpack(self, vectors: Sequence[Array], width: int) -> Array:
        """All results of a run in a row."""
        assert width == 1
        found = self.packing.unpack([vectors], None)
        parts = found if isinstance(found, tuple) else (found,)
        return np.concatenate([np.ravel(part) for part in parts])[np.newaxis]

    @property
    def largest(self) -> float:
        """What no result exceeds."""
        inputs = self.packing.input_bounds() or []
        bounds = bounds_of_values(self.program, inputs, (), polynomial_ceilings(self.program))
        pairs = zip(self.program.operations, bounds, strict=True)
        return largest_bound(bound for each, bound in pairs if isinstance(each, Output))


@dataclass(frozen=True, slots=True)
class Precise:
    """How precise the results of a block are to be, and how errors of others tell.

    Args:
        search: What is searched for.
        noise: How far noise may take results off.
    """

    search: Search
    noise: float

    def headroom(self, block: Block) -> int:
        """Bits above 1 that results, and their sums, need."""
        summed = self.search.blocks(block.packing.rows)
        growth = _GROWTH_BITS if self.search.is_total else 0
        return _HEADROOM_BITS + math.ceil(math.log2(block.largest * summed)) + growth

    def runs(self, narrow: Block) -> list[ClearRun]:
        """Runs of a block of fewer coordinates in the clear."""
        return [
            ClearRun(given, narrow.unpack(clear_results(narrow.program, given), 1), copies=1)
            for given in _blocks(self.search, narrow.packing)
        ]

    def lacking(self, narrow: Block, runs: Sequence[ClearRun], noise: NoiseModel) -> float:
        """Bits that results lack under some noise."""
        summed = self.search.blocks(narrow.packing.rows)
        error = expected_error(narrow, runs, noise)
        # Noise of one block is not that of another.
        bits = math.log2(summed) / 2 - math.log2(self.noise)
        return math.log2(np.nan_to_num(error, nan=OUTGROWN, posinf=OUTGROWN)) + bits


def search_parameters(
    precise: Precise, block: Block, narrow: Block, log_n: int, insecure: bool
) -> Parameters:
    """Those of the least scale by which results are precise.

    Args:
        precise: How precise they are to be.
        block: The program.
        narrow: The same of fewer coordinates, with which errors are simulated.
        log_n: The base-2 logarithm of the ring's degree.
        insecure: Whether it may be less secure than 128 bits.
    """
    headroom, runs = precise.headroom(block), precise.runs(narrow)

    def attempt(scale_bits: int) -> Scaled[Parameters]:
        parameters = _of_scale(depth_of(block.program), scale_bits, headroom, log_n, insecure)
        lacking = precise.lacking(narrow, runs, noise_of(parameters))
        return Scaled(round(parameters.scale_bits), parameters, lacking)

    least, found = raised_scale(attempt, _FIRST_SCALE, longest_step=_LONGEST_STEP)
    return without_spare_bits(attempt, least, found, (InvalidParametersError,)).made


def search_refreshing(
    precise: Precise,
    made: Callable[[Refreshing], tuple[Block, Block]],
    depth: int,
    log_n: int,
    insecure: bool,
) -> tuple[Refreshing, Block]:
    """What refreshes scores whose table stands in coefficients, by the thinnest levels that do.

    Args:
        precise: How precise results are to be.
        made: The program, and the same of fewer coordinates, for what refreshes their scores.
        depth: Levels that it takes after that.
        log_n: The base-2 logarithm of the ring's degree.
        insecure: Whether it may be less secure than 128 bits.

    Raises:
        InvalidParametersError: With none are results precise, or of the ring there is none.
    """

    def attempt(like: ThinLevels) -> tuple[Refreshing, Block]:
        refreshing = refreshing_of_coefficients(log_n, depth, like, insecure=insecure)
        block, narrow = made(refreshing)
        floor = max(0, precise.headroom(block) - refreshing.chain.headroom_bits)
        if floor:
            levels = depth + math.ceil(floor / refreshing.chain.scale_bits)
            refreshing = refreshing_of_coefficients(log_n, levels, like, insecure=insecure)
            block, narrow = made(refreshing)
        noise = noise_of(refreshing.chain, refreshing=refreshing)
        lacking = precise.lacking(narrow, precise.runs(narrow), noise)
        if lacking > 0:
            raise InvalidParametersError(
                f"cannot search: results of scores that are refreshed in a ring of degree 2^{log_n}"
                f" lack {lacking:.1f} bits; ask for less precision, or fewer rows"
            )
        return refreshing, block

    return cheapest_of(LEVELS_OF_COEFFICIENTS, attempt, lambda _: 0.0, at_first)


def _of_scale(levels: int, bits: int, headroom: int, log_n: int, insecure: bool) -> Parameters:
    """Those of a scale, or of the next for which the ring has primes."""
    while True:
        try:
            return Parameters(
                levels=levels,
                scale_bits=bits,
                headroom_bits=headroom,
                log_n=log_n,
                insecure=insecure,
            )
        except InsecureParametersError:
            raise
        except InvalidParametersError:
            bits += 1
            if bits not in SCALE_BITS:
                raise


def _blocks(search: Search, packing: RowsPacking) -> Iterator[list[Vector]]:
    """What goes in for blocks whose scores lie all over, but not within the gap.

    Every other row does not count.
    """
    rng = np.random.default_rng(0)
    size, (low, high) = packing.rows.size, search.ends
    (width, _) = packing.inputs[0].shape
    blocks = min(_MOST_TRIED, -(-_ROWS_TRIED // size))
    all_scores = np.linspace(low, high, blocks * size)
    for cut in search.cuts:
        near = np.abs(all_scores - cut) < search.gap
        all_scores[near] = np.where(cut - search.gap > low, cut - search.gap, high)
    for scores in all_scores.reshape(size, blocks).T:
        query = _unit(rng.normal(size=(width, 1)))
        beside = rng.normal(size=(width, size))
        beside = _unit(beside - query * (query * beside).sum(axis=0))
        arguments = {
            "columns": scores * query + np.sqrt(1 - scores**2) * beside,
            "live": np.arange(size) % 2.0,
            "query": query[:, 0],
            "payloads": rng.uniform(-search.bound, search.bound, (search.payload_width, size)),
        }
        given = {port.name: arguments[port.name] for port in packing.inputs}
        yield [*packing.unranged().pack(given, "plan a search").runs[0].values()]


def _unit(columns: Array) -> Array:
    """Columns divided by their lengths, zeros left as they are."""
    lengths = np.linalg.norm(columns, axis=0)
    return np.asarray(columns / np.where(lengths > 0, lengths, 1.0))
