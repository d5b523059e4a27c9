"""The memory that the engine works in, by the operations of a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import ceil, isqrt

from cloakwork._native import WORD_BYTES, Parameters, cached_bytes, threads
from cloakwork.programs.bsgs import Split, split
from cloakwork.programs.equal_diagonals import different_by_giant, period_of
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import (
    Bootstrap,
    Linear,
    Mul,
    Polynomial,
    Rotate,
    SlotProgram,
    State,
    WeightedSums,
)
from cloakwork.runtime.memory import predicted_peak_bytes
from cloakwork.runtime.schedule import sharing_transforms
from cloakwork.runtime.transform_groups import sums_among, transform_groups
from cloakwork.schemes.encoded_cache import ciphertext_bytes, diagonal_limbs

# Polynomials of two operands, a result and what is between.
_OPERANDS = 8
# Rotations that the engine makes before it puts them side by side.
_AT_ONCE = 16
# Of a linear transform, what is not rotated: operand, first sum and result.
_UNROTATED = 3


@dataclass(frozen=True, slots=True)
class _TransformTask:
    """With what others a transform is made.

    Args:
        task: A number of the task, the same for all that are made in it.
        shared_by: Transforms that share its baby rotations, itself among them.
        held: Giant steps of the sums of the task that are not yet rotated.
    """

    task: int
    shared_by: int
    held: int


class Workspace:
    """The polynomials that the engine keeps, by their number of limbs.

    It keeps the memory of polynomials for polynomials of the same length to come. So of each length
    there are in the end as many as any operation takes at once.

    Args:
        parameters: What it runs under.
        slots: Those of the program.

    Example:
        >>> parameters = Parameters(levels=1, log_n=10, insecure=True)
        >>> workspace = Workspace(parameters, parameters.slots)
        >>> workspace.switch(1)
        >>> workspace.nbytes // (parameters.n * WORD_BYTES)
        52
    """

    def __init__(self, parameters: Parameters, slots: int) -> None:
        self._parameters = parameters
        self._slots = slots
        self._special = parameters.key_prime_count - parameters.prime_count(parameters.levels)
        self._kept: Counter[int] = Counter()
        self._transforms: dict[int, dict[int, int]] = {}
        self._in_use = 0
        self._of_values = 0

    @property
    def in_use(self) -> int:
        """Bytes that an operation uses at once, at the most."""
        return self._in_use

    @property
    def nbytes(self) -> int:
        """Bytes of all that is kept, or of what is in use at once if that is more."""
        kept = self._bytes_of(self._kept) + self._of_values
        return min(kept, max(cached_bytes(), self._in_use))

    def values(self, program: SlotProgram) -> None:
        """The memory of values that is not that of others once they are no longer in use.

        Polynomials of one length take that of each other.
        """

        def bytes_at(state: State) -> int:
            return ciphertext_bytes(self._parameters, state.level or 0)

        def peak_bytes_at(level: int) -> int:
            return predicted_peak_bytes(
                program, lambda state: bytes_at(state) if state.level == level else 0
            )

        levels = {state.level for state in program.states if state.level is not None}
        self._of_values = sum(map(peak_bytes_at, levels)) - predicted_peak_bytes(program, bytes_at)

    def kept_transform(self, operation: Linear, level: int, together: _TransformTask) -> None:
        """Two polynomials for each step of a transform that stays encoded between runs.

        Rotations that are shared are put side by side in memory a few at once.
        """
        steps, limbs = self._steps(operation, level, together.shared_by)
        beside = 2 * min(_AT_ONCE, len(steps.baby) + 1) if together.shared_by > 1 else 0
        self._apply(limbs, level, together, _polynomials(steps), beside)

    def streamed_transform(self, operation: Linear, level: int, together: _TransformTask) -> None:
        """Two polynomials for each step, and the diagonals of a giant step, encoded for it.

        Rotations are put side by side in memory a few at once.
        """
        steps, limbs = self._steps(operation, level, together.shared_by)
        most = max(different_by_giant(operation.diagonals, steps.baby_steps).values())
        words = most * self._parameters.diagonal_words(period_of(operation.diagonals))
        beside = 2 * min(_AT_ONCE, len(steps.baby) + 1)
        polynomials = _polynomials(steps) + ceil(words / self._parameters.n)
        self._apply(limbs, level, together, polynomials, beside)

    def _steps(self, operation: Linear, level: int, shared_by: int) -> tuple[Split, int]:
        """The steps of a transform, and the limbs of an encoded diagonal, which theirs are too."""
        steps = split(operation.diagonals, self._slots, operation.baby_steps)
        return steps, diagonal_limbs(self._parameters, steps, level, shared_by)

    def _apply(
        self, limbs: int, level: int, together: _TransformTask, polynomials: int, beside: int
    ) -> None:
        """Tasks of transforms of so many limbs may run beside each other, one on each thread."""
        tasks = self._transforms.setdefault(limbs, {})
        needed_by_task = polynomials + 2 * together.held
        tasks[together.task] = max(tasks.get(together.task, 0), needed_by_task)
        needed = self._switching(level, threads())
        needed[limbs] += beside + sum(sorted(tasks.values())[-threads() :])
        # Sums of giant steps, one on each thread.
        needed[self._extended(level)] += 2 * (threads() + 1)
        self._use(needed)

    def bootstrap(self, refreshing: Refreshing) -> None:
        """Raise the modulus, transform to coefficients and back, and evaluate a cosine."""
        for level, _, rotations in refreshing.transforms:
            needed = self._switching(level)
            needed[self._extended(level)] += 2 * (rotations + _UNROTATED)
            self._use(needed)
        level = refreshing.reduction_level
        # Of two values at once the first is there in full while the second is reduced.
        needed = self._switching(level)
        needed[self._parameters.prime_count(level)] += 2 * refreshing.reduction_products + 2
        self._use(needed)

    def weighted_sums(self, operation: WeightedSums, level: int) -> None:
        """Two polynomials for each sum, before they are divided."""
        self._use(Counter({self._parameters.prime_count(level): 2 * len(operation.offsets)}))

    def switch(self, level: int) -> None:
        """Switch keys: operand and result, two sums, and every digit modulo all primes."""
        self._use(self._switching(level))

    def powers(self, operation: Polynomial, level: int) -> None:
        """The powers that are held while a polynomial is evaluated, about the root of its degree.

        Paterson and Stockmeyer, SIAM Journal on Computing 1973.
        """
        needed = self._switching(level)
        needed[self._parameters.prime_count(level)] += 4 * isqrt(len(operation.coefficients))
        self._use(needed)

    def _switching(self, level: int, at_once: int = 1) -> Counter[int]:
        """The polynomials of a key switch, by their number of limbs."""
        own, extended = self._parameters.prime_count(level), self._extended(level)
        polynomial = self._parameters.n * WORD_BYTES
        key = self._parameters.evaluation_key_bytes(level)
        digits = max(1, round(key / (2 * extended * polynomial)))
        needed = Counter({own: _OPERANDS})
        needed[extended] += 2 * at_once
        needed[extended - own // digits] += digits * at_once
        return needed

    def _extended(self, level: int) -> int:
        return self._parameters.prime_count(level) + self._special

    def _use(self, needed: Counter[int]) -> None:
        self._kept |= needed
        self._in_use = max(self._in_use, self._bytes_of(needed))

    def _bytes_of(self, needed: Counter[int]) -> int:
        polynomial = self._parameters.n * WORD_BYTES
        return sum(polynomial * limbs * count for limbs, count in needed.items())


def _polynomials(steps: Split) -> int:
    """Two for each step, for the operand and for the sum."""
    return 2 * (len(steps.baby) + len(steps.giant) + 2)


def _together(program: SlotProgram) -> dict[int, _TransformTask]:
    """For each transform with what others it is made."""
    found = {
        number: _TransformTask(number, shared_by, 0)
        for number, shared_by in sharing_transforms(program).items()
    }
    for group in transform_groups(program):
        sums = sums_among(program, group)
        held = sum(_giants(program, each.transforms) for each in sums if len(each.transforms) > 1)
        for number in {*group} & found.keys():
            found[number] = _TransformTask(group[0], found[number].shared_by, held)
    return found


def _giants(program: SlotProgram, transforms: Sequence[int]) -> int:
    """How many giant steps a sum of transforms has at the most."""
    giants = {0}
    for number in transforms:
        linear = program.operations[number]
        assert isinstance(linear, Linear)
        giants.update(split(linear.diagonals, program.slots, linear.baby_steps).giant)
    return len(giants)


def workspace_of(
    program: SlotProgram,
    parameters: Parameters,
    refreshing: Refreshing | None,
    kept: Collection[int] = (),
) -> Workspace:
    """What the engine works in while a program runs.

    Args:
        program: The program, whose operations name levels.
        parameters: What it runs under.
        refreshing: What bootstraps do; None where the parameters have none.
        kept: The numbers of the linear transforms that stay encoded between runs.

    Example:
        >>> from cloakwork.programs.slots import Input, Neg, Output
        >>> parameters = Parameters(levels=1, log_n=10, insecure=True)
        >>> operations = (Input("x", 1), Neg(0), Output(1))
        >>> program = SlotProgram("", parameters.slots, operations, (None,) * 3)
        >>> workspace_of(program, parameters, None).nbytes
        0
    """
    workspace = Workspace(parameters, program.slots)
    workspace.values(program)
    together = _together(program)
    for number, operation in enumerate(program.operations):
        # A constant stands at no level.
        levels = [state.level for state in program.context(number).states]
        match operation:
            case Bootstrap() if refreshing is not None:
                workspace.bootstrap(refreshing)
            case Linear() if number in kept:
                workspace.kept_transform(operation, levels[0] or 0, together[number])
            case Linear():
                workspace.streamed_transform(operation, levels[0] or 0, together[number])
            case Polynomial():
                workspace.powers(operation, levels[0] or 0)
                workspace.switch(levels[0] or 0)
            case WeightedSums():
                workspace.weighted_sums(operation, levels[0] or 0)
            case Rotate() | Mul() if None not in levels:
                workspace.switch(levels[0] or 0)
    return workspace
