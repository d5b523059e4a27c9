"""The ring, the scale and the packings with which a network costs least."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork._native import Parameters
from cloakwork.base.arguments import shown
from cloakwork.errors import (
    InsecureParametersError,
    InvalidArgumentError,
    InvalidParametersError,
    LevelExhaustedError,
)
from cloakwork.plan.analysis.headroom import require_headroom
from cloakwork.plan.cost.table import Costs
from cloakwork.plan.networks.calibration import Calibration
from cloakwork.plan.networks.lower import (
    Lowered,
    Staged,
    chosen_packings,
    lowered,
)
from cloakwork.plan.networks.stages import stages_of
from cloakwork.plan.parameters.ckks import SCALE_BITS
from cloakwork.programs.ir import layers as g
from cloakwork.programs.layout import power_of_two
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.program import bounds_of_values
from cloakwork.runtime.simulate import results

# Bits above the bounds within which a result that breaks them is still seen for what it is.
_WATCH_BITS = 14
# Those of them that there are at the least, where numbers are very large.
_LEAST_WATCH_BITS = 3
# Above the scale: of networks of small numbers too, results far out of bounds should be seen.
_MIN_HEADROOM = 20
# What the engine has.
_MAX_HEADROOM = 60
# Bits of a scale below which noise lies in a network of a few layers; corrected by what is seen.
_NOISE_BITS = 16
# What errors may come to, of those told from the noise of single operations, which is modelled
# roughly: 1.4 times in some hundred networks.
_ROUGH = 2.0
# How likely any result of a run may have an error that exceeds the largest to expect.
_EXCESS = 2.0**-20
_ATTEMPTS = 4
# Batches of inputs whose errors are seen.
_RUNS = 2
# Errors that are drawn for each of their results.
_DRAWS = 4
# Errors that a deviation is told from: of a few, all may be small by chance.
_NOISY_RESULTS = 16

_Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked of a compiled network.

    Args:
        title: What it is called.
        precision: Bits after the binary point that results should have.
        batch: Inputs for each run.
        insecure: Whether parameters below 128-bit security are allowed.
        costs: What operations cost under given parameters, in one unit for all of them.
    """

    title: str
    precision: int
    batch: int
    insecure: bool
    costs: Callable[[Parameters], Costs]

    @property
    def width(self) -> int:
        """Inputs that a ciphertext has room for."""
        return power_of_two(self.batch)


@dataclass(frozen=True, slots=True)
class Planned:
    """A network's program and what it runs under.

    Args:
        lowered: The program.
        parameters: The parameters.
        bounds: For each operation the largest absolute value of its result, None for constants.
        error: The largest error to expect of an accepted input, told from what is seen in the
            clear with modelled noise.
    """

    lowered: Lowered
    parameters: Parameters
    bounds: tuple[float | None, ...]
    error: float


def planned(
    graph: g.Graph,
    calibration: Calibration,
    furthest: g.Array,
    wish: Wish,
    rings: Sequence[int],
) -> Planned:
    """The cheapest program of a network among several rings.

    Args:
        graph: A network whose activations are polynomials.
        calibration: Inputs such as it is to be run on.
        furthest: Other inputs that are accepted, those first that errors grow most by.
        wish: What is asked of it.
        rings: Base-2 logarithms of the ring degrees that may be taken, upwards.

    Raises:
        LevelExhaustedError: No ring has as many levels; the message names the layer.
        InvalidParametersError: No ring has the precision, or room for numbers as large.
        BoundOverflowError: Powers of a layer's numbers outgrow the moduli.
        InvalidArgumentError: A batch does not fit a ciphertext.
    """
    network = Staged(graph, stages_of(graph))
    usual = _usual(calibration, wish.width)
    extreme = _batches(furthest, wish.width)[:_RUNS]
    best: tuple[float, Planned] | None = None
    refusal: InvalidParametersError | None = None
    for log_n in rings:
        slots = (1 << (log_n - 1)) // wish.width
        if not slots:
            continue
        try:
            found = _in_ring(
                network, usual, extreme, wish, log_n, slots, best[0] if best else math.inf
            )
        except InvalidParametersError as error:
            refusal = error
            continue
        if found is None:
            break
        best = found
    if best is not None:
        return best[1]
    if refusal is None:
        raise InvalidArgumentError(
            f"cannot compile {wish.title}: a batch of {wish.batch} has more inputs than the "
            f"largest ring has slots; ask for fewer"
        )
    raise _refused(network, wish, rings[-1], refusal)


def _usual(calibration: Calibration, width: int) -> list[_Array]:
    """Batches of a ciphertext's width: of the outermost inputs, and of some of all kinds."""
    runs = min(_RUNS, -(-len(calibration.spread) // width))
    kinds = np.linspace(0, len(calibration.spread) - 1, runs * width).round().astype(np.int64)
    return _batches(calibration.outermost, width) + _batches(calibration.spread[kinds], width)


def _batches(inputs: _Array, width: int) -> list[_Array]:
    """All of some inputs, flat, in batches of a ciphertext's width."""
    numbers = np.arange(-(-len(inputs) // width) * width) % len(inputs)
    return list(inputs[numbers].reshape(-1, width, math.prod(inputs.shape[1:])))


def _in_ring(
    network: Staged,
    usual: Sequence[_Array],
    extreme: Sequence[_Array],
    wish: Wish,
    log_n: int,
    slots: int,
    limit: float,
) -> tuple[float, Planned] | None:
    """The plan for one ring and its price; None where that is no lower than a limit."""
    scale_bits = max(SCALE_BITS.start, wish.precision + _NOISE_BITS)
    parameters = _parameters(network, scale_bits, _MIN_HEADROOM, log_n, wish.insecure)
    costs = wish.costs(parameters)
    if not isinstance(costs, Costs):
        raise InvalidArgumentError(
            f"cannot compile {wish.title}: expected costs to be a function that gives Costs, got "
            f"one that gives {shown(costs)}"
        )
    costs = costs.kept()
    packings, price = chosen_packings(network, slots, costs)
    if price >= limit:
        return None
    program = lowered(wish.title, network, packings, slots * wish.width, costs)
    bound = network.graph.input.bound
    inputs = program.input.pack(np.full((wish.width, len(program.input.places)), bound))
    bounds = bounds_of_values(program.program, inputs, program.ranges)
    headroom = _headroom(bounds)
    # Errors are largest where numbers are, more often than not.
    runs = sorted(_exact(program, usual), key=lambda run: np.abs(run.results).max())[-_RUNS:]
    for _ in range(_ATTEMPTS):
        try:
            parameters = _parameters(network, scale_bits, headroom, log_n, wish.insecure)
        except InvalidParametersError as refusal:
            largest = _largest(program.program, bounds)
            raise InvalidParametersError(f"{largest}: {refusal}") from refusal
        error = _error(program, runs, parameters)
        if not math.isfinite(error):
            largest = _largest(program.program, bounds)
            raise InvalidParametersError(f"{largest}, and noise outgrows them")
        lacking = math.ceil(math.log2(error) + wish.precision)
        if lacking <= 0:
            break
        scale_bits += lacking
    require_headroom(program.program, bounds, parameters)
    error = _ROUGH * max(error, _error(program, _exact(program, extreme), parameters))
    return price, Planned(program, parameters, bounds, error)


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """Packed inputs and what is exactly their result, an input's in a row."""

    inputs: list[_Array]
    results: _Array


def _exact(program: Lowered, batches: Sequence[_Array]) -> list[_Run]:
    packed = [(program.input.pack(batch), len(batch)) for batch in batches]
    return [
        _Run(inputs, program.output.unpack(results(program.program, inputs), width))
        for inputs, width in packed
    ]


def _error(program: Lowered, runs: Sequence[_Run], parameters: Parameters) -> float:
    """The largest error to expect of any of some runs."""
    repeats = max(_DRAWS, -(-_NOISY_RESULTS // sum(run.results.size for run in runs)))
    drawn = [
        [
            program.output.unpack(
                results(program.program, run.inputs, parameters, seed), len(run.results)
            )
            - run.results
            for run in runs
        ]
        for seed in range(repeats)
    ]
    # What outgrows a double is refused by its infinite deviation.
    with np.errstate(over="ignore", invalid="ignore"):
        found = _largest_error(np.reshape(drawn, (repeats, -1)), runs[0].results.size)
    return max(found, 2.0**-52)


def _largest_error(drawn: _Array, results: int) -> float:
    """What no error of a run exceeds, as good as never.

    Args:
        drawn: Errors, those of one number in a column.
        results: Numbers that a run results in.
    """
    # Of some numbers the errors are larger than of others: these are found by half of the
    # draws, and their deviation is seen in the other half, which they were not chosen by.
    found, fresh = drawn[::2], drawn[1::2]
    few = -(-_NOISY_RESULTS // len(fresh))
    largest = fresh[:, np.argsort(np.mean(found**2, axis=0))[-few:]]
    deviation = math.sqrt(max(np.mean(drawn**2), np.mean(largest**2)))
    # The tail of a Gaussian is below exp(-x^2 / 2) on either side.
    return deviation * math.sqrt(2 * math.log(2 * results / _EXCESS))


@lru_cache(maxsize=256)
def _built(levels: int, scale_bits: int, headroom: int, log_n: int, insecure: bool) -> Parameters:
    return Parameters(
        levels=levels,
        scale_bits=scale_bits,
        headroom_bits=headroom,
        log_n=log_n,
        insecure=insecure,
    )


def _headroom(bounds: Sequence[float | None]) -> int:
    """Bits above the scale that leave room for all values."""
    largest = max(bound for bound in bounds if bound is not None)
    bits = math.ceil(math.log2(max(largest, 1.0)))
    watched = min(max(bits + _WATCH_BITS, _MIN_HEADROOM), _MAX_HEADROOM)
    return max(bits + _LEAST_WATCH_BITS, watched)


def _largest(program: SlotProgram, bounds: Sequence[float | None]) -> str:
    """The layer that makes the largest numbers, in words."""
    largest, stage = max(
        (bound, stage)
        for bound, stage in zip(bounds, program.stages, strict=True)
        if bound is not None
    )
    return f"layer {stage.partition(' | ')[0]!r} makes numbers up to {largest:.2g}"


def _parameters(
    network: Staged, scale_bits: int, headroom: int, log_n: int, insecure: bool
) -> Parameters:
    if scale_bits not in SCALE_BITS:
        raise InvalidParametersError(
            f"a scale of {scale_bits} bits is needed, at most {SCALE_BITS[-1]} work"
        )
    if headroom > _MAX_HEADROOM:
        raise InvalidParametersError(
            f"{headroom} bits of room above the scale are needed, at most {_MAX_HEADROOM} work"
        )
    return _built(network.levels[0], scale_bits, headroom, log_n, insecure)


def _refused(
    network: Staged, wish: Wish, log_n: int, refusal: InvalidParametersError
) -> InvalidParametersError | LevelExhaustedError:
    """Why there is no plan: too deep at a layer, too precise, or of too large numbers."""
    depth = network.levels[0]
    scale_bits = max(SCALE_BITS.start, wish.precision + _NOISE_BITS)
    for levels in range(depth, -1, -1):
        try:
            _built(levels, scale_bits, _MIN_HEADROOM, log_n, wish.insecure)
        except InsecureParametersError:
            continue
        except InvalidParametersError:
            break
        for number, stage in enumerate(network.stages):
            taken = depth - network.levels[number]
            if taken > levels:
                return LevelExhaustedError(
                    f"cannot compile {wish.title}: layer {stage.name!r} ends {taken} levels below "
                    f"the input and the network takes {depth}, but at log_n={log_n} and a "
                    f"precision of {wish.precision} bits there are {levels}; use activations of "
                    "lower degree, fewer layers, less precision, or a larger ring"
                )
        # As many levels as it takes can be had, but not for numbers as large.
        break
    return InvalidParametersError(
        f"cannot compile {wish.title} at a precision of {wish.precision} bits: {refusal}; ask for "
        "less precision, or scale weights or inputs down"
    )
