"""Nearest neighbours on slots: a slot for every two points.

Which of two points is nearer is the sign of a difference of squared distances, and that is a sum of
features: the square of the row itself falls out. So one linear transform of the features fills slot
j * m + i with the distance of point i less that of point j, a steep composition of polynomials
takes its sign, and sums over j say how many points are nearer than point i. Whether these are fewer
than vote is a step, and votes are sums of points of each class.

Integers that are equally far are half apart, in the order of classes, so that every sign is one of
numbers beyond a gap. Errors are bounded throughout: those of polynomials by their fits, and noise
is kept below what the gaps leave.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork._native import Parameters
from cloakwork.errors import InvalidArgumentError, InvalidParametersError
from cloakwork.frontends.models.coding import INPUT
from cloakwork.frontends.models.neighbours import IntegerNeighbours, Neighbours
from cloakwork.plan.analysis.headroom import require_headroom
from cloakwork.plan.analysis.precision import predicted_precision
from cloakwork.plan.fitting.sign import Stages, steep_stages
from cloakwork.plan.fitting.step import step_stages
from cloakwork.plan.parameters.ckks import SCALE_BITS
from cloakwork.plan.parameters.rings import at_first, cheapest_of, same_kind
from cloakwork.plan.parameters.scales import Scaled, raised_scale
from cloakwork.plan.reals.expected import OUTGROWN, ROUGH, ClearRun, expected_error
from cloakwork.plan.reals.options import RealOptions
from cloakwork.programs.activation_range import ActivationRange
from cloakwork.programs.bsgs import cheapest_split
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.layout import power_of_two
from cloakwork.programs.operations.polynomials import polynomial_depth
from cloakwork.programs.packing.batch import BatchPacking
from cloakwork.programs.packing.results import Leaf
from cloakwork.programs.places import Places
from cloakwork.programs.port import Port
from cloakwork.programs.slots import (
    Add,
    Builder,
    Input,
    Linear,
    Mul,
    Output,
    Polynomial,
    Rescale,
    Rotate,
    SlotProgram,
)
from cloakwork.runtime.program import Program, bounds_of_values
from cloakwork.runtime.self_check import require_agreement
from cloakwork.runtime.simulate import results
from cloakwork.schemes.ckks import Ckks

_ACTION = "compile nearest neighbours on slots"
_OPTIONS = ("log_n", "insecure", "public_inputs")
# Every two points have a slot, and every feature a diagonal.
_MOST_POINTS, _MOST_FEATURES = 128, 256
_RINGS = range(13, 17)
# Equally far points are so far apart, and what noise may take of it.
_HALF, _NOISE_OF_HALF = 0.5, 0.05
# Of ranks, whose gap is a half on either side: what signs are off by in all, and noise.
_RANK_ERROR, _NOISE_OF_RANKS = 1 / 16, 1 / 32
# Of votes, which the client rounds.
_VOTE_ERROR, _NOISE_OF_VOTES = 1 / 8, 1 / 8
# Bits above the scale, and those of the scale that is tried first.
_HEADROOM_BITS, _FIRST_BITS = 20, 32
# By how much it is raised at once, and how often noise is drawn.
_LONGEST_STEP, _DRAWS = 4, 2


def fits_slots(model: Neighbours | IntegerNeighbours) -> bool:
    """Whether slots compute it: every two of its points have one, and not all of them vote.

    Example:
        >>> fits_slots(IntegerNeighbours([[0], [4], [5]], [0, 1, 1], 2, 1))
        True
    """
    points, features = len(model.points), len(model.points[0])
    return model.count < points <= _MOST_POINTS and features <= _MOST_FEATURES


def neighbours_on_slots(
    title: str,
    model: IntegerNeighbours,
    greatest: int,
    rows: NDArray[np.int64],
    **options: Any,
) -> Program:
    """A program of the votes of the nearest points, off by less than a half.

    Args:
        title: Its title.
        model: The points.
        greatest: Features are integers from 0 up to it.
        rows: Some rows of features, on which the program is tried in the clear.
        options: What `compile` of a circuit takes for slots.

    Raises:
        InvalidParametersError: No parameters are as deep, or as precise.
        InsecureParametersError: The ring asked for falls short of 128-bit security.
        InvalidArgumentError: An option is for other models, or out of range; or there are more
            points or features than slots compute with, or bits are so many that no composition of
            polynomials is as steep.
    """
    others = sorted(options.keys() - {*_OPTIONS})
    if others:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected none but {', '.join(f'{each}=' for each in _OPTIONS)}, "
            f"got {', '.join(f'{each}=' for each in others)}; leave it out, or say on='bits'"
        )
    points, features = np.shape(model.points)
    if not fits_slots(model):
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected up to {_MOST_POINTS} points of up to {_MOST_FEATURES} "
            f"features, more of them than vote, got {points} points of {features} features, "
            f"{model.count} of which vote; store fewer points, or say on='bits'"
        )
    if not np.ptp(model.points, axis=0).any():
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected points that differ, got {points} in the same steps; ask "
            "for more bits= of features, or store others"
        )
    asked = RealOptions(title=title, **options)
    fitted = _Fitted.of(model, greatest)
    rings = _RINGS if asked.log_n is None else asked.asked_rings
    return cheapest_of(rings, partial(_in_ring, fitted, rows, asked), lambda _: 0.0, at_first)


@dataclass(frozen=True, slots=True, eq=False)
class _Fitted:
    """Points with the polynomials that compare them.

    Args:
        model: The points.
        greatest: Features are integers from 0 up to it.
        weights: Of the differences of distances, by point i, point j and feature.
        constants: Likewise, but for the feature.
        reach: No difference is larger.
        signs: The composition that is the sign of a difference by its reach.
        steps: The one that is 1 for ranks of those that vote, and 0 for others.
    """

    model: IntegerNeighbours
    greatest: int
    weights: NDArray[np.float64]
    constants: NDArray[np.float64]
    reach: float
    signs: Stages
    steps: Stages

    @classmethod
    def of(cls, model: IntegerNeighbours, greatest: int) -> _Fitted:
        points = np.array(model.points, dtype=np.float64)
        count, squares = len(points), (points**2).sum(axis=1)
        weights = 2 * (points[np.newaxis] - points[:, np.newaxis])
        constants = squares[:, np.newaxis] - squares
        # As votes are counted: of points that are equally near the lowest class is nearer.
        order = np.empty(count)
        order[np.argsort(model.labels, kind="stable")] = np.arange(count)
        constants += np.where(order < order[:, np.newaxis], _HALF, -_HALF)
        most = np.maximum(weights, 0).sum(axis=2) * greatest + constants
        reach = float(most.max())
        signs = steep_stages((_HALF - _NOISE_OF_HALF) / reach, 2 * _RANK_ERROR / (count - 1))
        gap = 2 * (_HALF - _RANK_ERROR - _NOISE_OF_RANKS) / count
        steps = step_stages(1 - 2 * model.count / count, gap, _VOTE_ERROR / count)
        if signs is None or steps is None:
            raise InvalidArgumentError(
                f"cannot {_ACTION}: expected differences of squared distances up to fewer than "
                f"2^{math.log2(reach):.0f}; ask for fewer bits="
            )
        return cls(model, greatest, weights, constants, reach, signs, steps)

    @property
    def places(self) -> tuple[Places, Places]:
        """Where features lie, again and again, and where votes come out."""
        side = power_of_two(len(self.constants))
        features = Places(side * side, np.arange(self.weights.shape[2]), "features")
        return features, Places(side * side, side * np.arange(self.model.classes), "votes")


def _in_ring(fitted: _Fitted, rows: NDArray[np.int64], options: RealOptions, log_n: int) -> Program:
    """The program in a ring, with the least scale that keeps noise within what is left to it."""
    features, votes = fitted.places
    count = len(fitted.constants)
    width = (1 << log_n - 1) // features.slots
    if not width:
        raise InvalidParametersError(
            f"cannot {_ACTION}: expected {features.slots} slots or more, a ring of log_n={log_n} "
            f"has {1 << log_n - 1}; leave log_n= out"
        )
    writer = _VotesWriter(fitted, options.title, width)
    bound = float(fitted.greatest)
    inputs = [each * bound for each in features.pack(np.ones((width, fitted.weights.shape[2])))]
    bounds = bounds_of_values(writer.program, inputs, writer.ranges)
    packed = features.pack(np.resize(rows, (width, rows.shape[1])).astype(np.float64))

    def tried(bits: int) -> Scaled[Parameters]:
        if bits not in SCALE_BITS:
            raise InvalidParametersError(
                f"cannot {_ACTION}: a scale of {bits} bits is needed, at most {SCALE_BITS[-1]} "
                "work; ask for fewer bits="
            )
        try:
            parameters = Parameters(
                levels=writer.program.top_level,
                scale_bits=bits,
                headroom_bits=_HEADROOM_BITS,
                log_n=log_n,
                insecure=options.insecure,
            )
        except InvalidParametersError as refusal:
            text = f"cannot {_ACTION}: {refusal}; ask for fewer bits= of features, or fewer points"
            raise same_kind(refusal, text) from refusal
        noise = options.noise(parameters)
        differences = writer.up_to(writer.differences)
        allowed = _NOISE_OF_HALF / fitted.reach
        lacking = [
            -predicted_precision(differences, [*bounds[: writer.differences + 1], None], noise)
            - math.log2(allowed)
        ]
        for value, place, most in (
            (writer.ranks, Places(features.slots, np.arange(count)), 2 * _NOISE_OF_RANKS / count),
            (writer.votes, votes, _NOISE_OF_VOTES),
        ):
            if max(lacking) <= 0:
                part = _Part(writer.up_to(value), place)
                run = ClearRun(packed, part.unpack(results(part.program, packed), width), 1)
                error = ROUGH * expected_error(part, [run], noise, _DRAWS)
                lacking.append(math.log2(min(error, OUTGROWN) / most))
        return Scaled(bits, parameters, max(lacking))

    _, found = raised_scale(tried, _FIRST_BITS, longest_step=_LONGEST_STEP)
    require_headroom(writer.program, bounds, found.made)
    off = _VOTE_ERROR + _NOISE_OF_VOTES
    program = Program(
        Ckks(found.made, public_inputs=options.public_inputs),
        writer.program,
        BatchPacking(
            (Port(INPUT, "real", 0, (fitted.weights.shape[2],), 0, fitted.greatest),),
            (Port("votes", "real", 0, (fitted.model.classes,), -off, fitted.model.count + off),),
            (features,),
            (votes,),
            Leaf(0),
            width,
            width,
        ),
        ranges=writer.ranges,
        error=off,
        error_bound=off,
        way=(
            f"on slots, a slot for every two of {len(fitted.constants)} points, for {width} rows "
            "at once"
        ),
    )
    draws = [{INPUT: row.astype(np.float64)} for row in rows]
    require_agreement(program, partial(_in_clear, fitted.model), error=off, draws=draws)
    return program


def _in_clear(model: IntegerNeighbours, given: Mapping[str, Any]) -> NDArray[np.float64]:
    row = [round(each) for each in np.asarray(given[INPUT]).tolist()]
    return np.array(model.votes(row), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Part:
    """A program whose one result lies in places."""

    program: SlotProgram
    places: Places

    def unpack(self, vectors: Sequence[NDArray[np.float64]], width: int) -> NDArray[np.float64]:
        return self.places.unpack(vectors, width)


class _VotesWriter:
    """Writes the program of so many rows beside one another.

    Attributes:
        program: The program.
        ranges: What its polynomials are meant for.
        differences: The value that holds differences of distances, by their reach.
        ranks: The one that holds ranks: 1 of the nearest, about -1 of the furthest.
        votes: The one that holds votes.
    """

    def __init__(self, fitted: _Fitted, title: str, width: int) -> None:
        self._fitted, self._width = fitted, width
        self._count = len(fitted.constants)
        self._side = power_of_two(self._count)
        self._builder = Builder(title, self._side**2 * width)
        self._places = Places(self._side**2, np.arange(self._side**2), "two points")
        self._ranges: list[ActivationRange] = []
        depths = [polynomial_depth(each) for each in (*fitted.signs, *fitted.steps)]
        value = self._builder.append(Input(INPUT, sum(depths) + 2))
        self.differences = value = self._differences(value)
        # The last one takes signs to parts of ranks, which are between -1 and 1.
        *signs, last = fitted.signs
        parts = tuple(-each / self._count for each in last)
        value = self._composed(value, (*signs, parts), "signs")
        self.ranks = value = self._ranks(value)
        value = self._composed(value, fitted.steps, "steps")
        self.votes = self._votes(value)
        self._builder.append(Output(self.votes))
        self.program = self._builder.finish()
        self.ranges = tuple(self._ranges)

    def up_to(self, value: int) -> SlotProgram:
        """The program of a value on the way."""
        operations = (*self.program.operations[: value + 1], Output(value))
        return SlotProgram(
            self.program.title, self.program.slots, operations, (None,) * len(operations)
        )

    def _repeated(self, vector: NDArray[np.float64]) -> int:
        """The constant of a vector for each of the rows."""
        return self._builder.constant(np.repeat(vector.ravel(), self._width))

    def _differences(self, value: int) -> int:
        """In slot j * side + i by how much point i is further than point j; -1 of no points."""
        fitted, side, width, count = self._fitted, self._side, self._width, self._count
        self._builder.stage = "differences of distances"
        slots = self._builder.slots
        features = fitted.weights.shape[2]
        period = power_of_two(features)
        points_i, points_j, own = np.indices((count, count, features)).reshape(3, -1)
        targets = points_j * side + points_i
        weights = fitted.weights[points_i, points_j, own] / fitted.reach
        is_one = weights != 0
        targets, own, weights = targets[is_one], own[is_one], weights[is_one]
        sources = targets + (own - targets) % period
        rows = np.arange(width)[:, np.newaxis]
        diagonals = SparseDiagonals(
            slots,
            ((sources * width + rows) % slots).ravel(),
            (targets * width + rows).ravel(),
            np.tile(weights, width),
        )
        split = cheapest_split(diagonals, slots)
        counted = diagonals.counted(np.array(split.numbers))
        value = self._builder.append(Linear(value, counted, split.baby_steps))
        value = self._builder.append(Rescale(value))
        offsets = np.full((side, side), -1.0)
        offsets[:count, :count] = fitted.constants.T / fitted.reach
        return self._builder.append(Add(value, self._repeated(offsets)))

    def _composed(self, value: int, stages: Stages, name: str) -> int:
        self._builder.stage = name
        for coefficients in stages:
            self._ranges.append(ActivationRange(name, (value,), self._places, -1.0, 1.0))
            value = self._builder.append(Polynomial(value, coefficients, "chebyshev"))
        return value

    def _ranks(self, value: int) -> int:
        """Sums over j: from nearer to further, between 1 and -1."""
        self._builder.stage = "ranks"
        value = self._summed(value, self._side)
        shift = 1 - (self._side + 1) / self._count
        return self._builder.append(Add(value, self._repeated(np.full(self._side**2, shift))))

    def _votes(self, value: int) -> int:
        """In slot side * c how many points of class c vote."""
        self._builder.stage = "votes"
        is_of = np.zeros((self._side, self._side))
        is_of[self._fitted.model.labels, np.arange(self._count)] = 1.0
        value = self._builder.append(Mul(value, self._repeated(is_of)))
        return self._summed(self._builder.append(Rescale(value)), 1)

    def _summed(self, value: int, stride: int) -> int:
        """The sum of as many slots as a side has, so far from one another."""
        for power in range(self._side.bit_length() - 1):
            step = (stride << power) * self._width
            value = self._builder.append(Add(value, self._builder.append(Rotate(value, step))))
        return value
