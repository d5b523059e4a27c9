"""The values of a run while they live, and how many bytes they take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from cloakwork.errors import MemoryBudgetError
from cloakwork.programs.slots import SlotProgram, State
from cloakwork.runtime.schedule import Schedule, schedule


def require_memory(needed: int, budget: int, action: str, advice: str) -> None:
    """Refuse what would take more memory than it may.

    Args:
        needed: Bytes.
        budget: Bytes that are allowed.
        action: What the caller is about to do, for the message of an error.
        advice: What to do, for the message, too.

    Raises:
        MemoryBudgetError: The bytes needed exceed the budget.

    Example:
        >>> require_memory(100, 100, "run", "set memory_limit")
    """
    if needed > budget:
        raise MemoryBudgetError(
            f"cannot {action}: expected its ciphertexts to take up to {budget} bytes at once, and "
            f"they take {needed}; {advice}"
        )


class Stored(Protocol):
    """What takes memory."""

    @property
    def nbytes(self) -> int: ...


S = TypeVar("S", bound=Stored)


class LiveValues(Generic[S]):
    """The values of a run from when they are made until their last user has finished.

    Inputs and results stay to the end.

    Args:
        plan: The tasks, which say who uses what.

    Attributes:
        nbytes: Bytes of the values that live now.
        peak_bytes: The most that it was.
        sizes: Bytes of every value so far, by number.

    Example:
        >>> from cloakwork.programs.slots import Input, Neg, Output
        >>> operations = (Input("x", 1), Neg(0), Neg(1), Output(2))
        >>> live = LiveValues(schedule(SlotProgram("", 8, operations, (None,) * 4)))
        >>> for number in range(3):
        ...     live.add([number], [Size(64)])
        >>> live.finish(1)
        >>> live.peak_bytes, live.nbytes
        (192, 128)
    """

    def __init__(self, plan: Schedule) -> None:
        self._plan = plan
        self._values: dict[int, S] = {}
        self.sizes: dict[int, int] = {}
        self._users_left = Counter({value: len(users) for value, users in plan.users.items()})
        # Results stay to the end, and inputs are held by whoever runs the program.
        for value in (*plan.outputs, *plan.inputs):
            self._users_left[value] += 1
        self.nbytes = 0
        self.peak_bytes = 0

    def __getitem__(self, number: int) -> S:
        return self._values[self._plan.sources[number]]

    def add(self, numbers: Sequence[int], values: Sequence[S]) -> None:
        """Take in the values that these operations have made."""
        for number, value in zip(numbers, values, strict=True):
            self._values[number] = value
            self.sizes[number] = nbytes = value.nbytes
            self.nbytes += nbytes
            self.peak_bytes = max(self.peak_bytes, self.nbytes)
            # Of products that are switched and rescaled at once one value stands for both.
            if not self._users_left[number]:
                self._free(number)

    def finish(self, task: int) -> None:
        """Free the operands of a task that no other task needs."""
        for number in self._plan.operands[task]:
            self._users_left[number] -= 1
            if not self._users_left[number]:
                self._free(number)

    def clear(self) -> None:
        """Free every value."""
        self._values.clear()
        self.nbytes = 0

    def _free(self, number: int) -> None:
        del self._values[number]
        self.nbytes -= self.sizes[number]


@dataclass(frozen=True, slots=True)
class Size:
    """What stands for a value where only its size counts.

    Args:
        nbytes: Bytes of the value.
    """

    nbytes: int


def predicted_peak_bytes(program: SlotProgram, bytes_at: Callable[[State], int]) -> int:
    """The most bytes that the values of a program take at once, run in program order.

    Inputs count from the start and, as whoever runs the program holds them, to the end, as results
    do; what an operation takes while it works, keys and constants do not count.

    Args:
        program: The program.
        bytes_at: Bytes of a ciphertext of degree 1, of two polynomials, in a state; one of
            degree 2 has three, see `runtime.schedule`.

    Example:
        >>> from cloakwork.programs.slots import Add, Input, Output
        >>> operations = (Input("x", 1), Add(0, 0), Add(1, 0), Output(2))
        >>> predicted_peak_bytes(SlotProgram("", 4, operations, (None,) * 4), lambda state: 100)
        300
    """
    plan = schedule(program)
    sizes = [Size(nbytes) for nbytes in value_bytes(program, bytes_at)]
    live: LiveValues[Size] = LiveValues(plan)
    live.add(plan.inputs, [sizes[number] for number in plan.inputs])
    for task, numbers in enumerate(plan.tasks):
        live.add(numbers, [sizes[number] for number in numbers])
        live.finish(task)
    return live.peak_bytes


def value_bytes(program: SlotProgram, bytes_at: Callable[[State], int]) -> list[int]:
    """Bytes of the value of every operation; see `predicted_peak_bytes`.

    Example:
        >>> from cloakwork.programs.slots import Input, Mul, Output, Rescale
        >>> operations = (Input("x", 1), Mul(0, 0), Rescale(1), Output(2))
        >>> value_bytes(SlotProgram("", 4, operations, (None,) * 4), lambda state: 100)
        [100, 150, 100, 100]
    """
    return [
        _bytes(state, degree, bytes_at)
        for state, degree in zip(program.states, schedule(program).degrees, strict=True)
    ]


def _bytes(state: State, degree: int, bytes_at: Callable[[State], int]) -> int:
    if state.level is None:
        return 0
    if state.products:
        # Four polynomials each, for the two of a ciphertext.
        return 2 * state.products * bytes_at(state)
    if state.sums:
        return state.sums * bytes_at(state)
    return bytes_at(state) * (degree + 1) // 2
