"""What a run of a program does, as tasks that several workers may share: seconds and bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from cloakwork.cluster.bundles import Bundle
from cloakwork.programs.bootstraps import BootstrapProgram, counts_between
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.costs import comparable, seconds_of
from cloakwork.runtime.memory import value_bytes
from cloakwork.runtime.schedule import schedule

# The unit of modelled costs, and a bootstrap and a term of a sum over bits: seconds on one thread
# of a Zen 3. They are no measurements of this machine, so that the cut, which names files, is the
# same everywhere.
_UNIT_SECONDS = 1.35e-10
_BOOTSTRAP_SECONDS = 0.008
_TERM_SECONDS = 2e-7
# A task's work by what the scheduler takes for it: at 20 a twentieth is lost.
_WORTH = 20


@dataclass(frozen=True, slots=True)
class Network:
    """Costs of a cluster of Dask beside the work itself.

    The defaults were measured on one machine, between two processes.

    Args:
        task_seconds: What the scheduler takes for a task.
        message_seconds: What a message takes, however short.
        bytes_per_second: How fast values move, from one process's memory to another's.
    """

    task_seconds: float = 1.5e-3
    message_seconds: float = 2e-3
    bytes_per_second: float = 4.5e8

    @property
    def least_work(self) -> float:
        """Seconds of work that are worth a task of their own."""
        return _WORTH * self.task_seconds

    def moving(self, nbytes: int) -> float:
        """Seconds of a message of so many bytes.

        Example:
            >>> Network().moving(900_000)
            0.004
        """
        return self.message_seconds + nbytes / self.bytes_per_second

    def crossing(self, nbytes: int) -> float:
        """Seconds of a value that one lane makes and another needs, with the task that sends it."""
        return self.task_seconds + self.moving(nbytes)


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """Tasks in an order in which they can be done, and the values between them.

    Args:
        seconds: What each task takes on one thread, by the model.
        needs: The values that each task works on, rising.
        gives: The values that each task makes.
        sizes: Bytes of every value by its number.
        inputs: The values that are there before any task.
        results: The values that the program is run for, in the order of its outputs.
        blocks: For tasks that multiply blocks of matrices the block of rows, that of columns, and
            the part of the inner dimension.
    """

    seconds: Sequence[float]
    needs: Sequence[tuple[int, ...]]
    gives: Sequence[tuple[int, ...]]
    sizes: Sequence[int]
    inputs: frozenset[int]
    results: tuple[int, ...]
    blocks: Mapping[int, tuple[int, int, int]] = field(default_factory=dict)
    makers: Mapping[int, int] = field(init=False)

    def __post_init__(self) -> None:
        makers = {value: task for task, made in enumerate(self.gives) for value in made}
        object.__setattr__(self, "makers", makers)

    def needed_tasks(self) -> list[int]:
        """The tasks that results depend on, in order.

        Example:
            >>> work = Work([1.0] * 2, [(0,), (0,)], [(1,), (2,)], [8] * 3, frozenset({0}), (2,))
            >>> work.needed_tasks()
            [1]
        """
        needed: set[int] = set()
        left = self.makers_of(self.results)
        while left:
            task = left.pop()
            if task not in needed:
                needed.add(task)
                left += self.makers_of(self.needs[task])
        return sorted(needed)

    def makers_of(self, values: Iterable[int]) -> list[int]:
        """The tasks that make values; nothing makes inputs."""
        return [self.makers[value] for value in values if value in self.makers]

    def peak_bytes(self, tasks: Sequence[int], kept: Iterable[int]) -> int:
        """The most bytes that values take while tasks are done, one after the other.

        What the tasks need of others is there from the start to the end, the values kept are there
        from when they are made.

        Example:
            >>> work = Work([1.0] * 2, [(0,), (1,)], [(1,), (2,)], [8] * 3, frozenset({0}), (2,))
            >>> work.peak_bytes([0, 1], [2])
            24
        """
        last = {value: task for task in tasks for value in self.needs[task]}
        made = {value for task in tasks for value in self.gives[task]}
        given = last.keys() - made
        staying = given.union(kept)
        live = peak = self.bytes_of(given)
        for task in tasks:
            live += self.bytes_of(self.gives[task])
            peak = max(peak, live)
            gone = {value for value in self.needs[task] if last[value] == task}
            gone.update(value for value in self.gives[task] if value not in last)
            live -= self.bytes_of(gone - staying)
        return peak

    def bytes_of(self, values: Iterable[int]) -> int:
        """Bytes of values."""
        return sum(self.sizes[value] for value in values)


def slot_work(
    body: SlotProgram,
    scheme: Any,
    of_program: Sequence[Bundle],
    blocks: Mapping[int, tuple[int, int, int]],
) -> Work:
    """The bundles of a slot program; its values are those of its operations.

    Args:
        body: The program.
        scheme: What it runs on, a `schemes.base.SlotScheme`.
        of_program: Its bundles; see `bundles`.
        blocks: The blocks that each rotated products multiplies.
    """
    plan = schedule(body)
    seconds = [0.0] * len(body.operations)
    for parameters in scheme.parameter_sets:
        costs = comparable(parameters).scaled(_UNIT_SECONDS).with_bootstrap(scheme.refreshing)
        seconds = [sum(pair) for pair in zip(seconds, seconds_of(body, costs), strict=True)]
    return Work(
        [sum(seconds[number] for number in bundle.values) for bundle in of_program],
        [bundle.needs for bundle in of_program],
        [bundle.gives for bundle in of_program],
        value_bytes(body, scheme.bytes_at),
        frozenset(plan.inputs),
        plan.outputs,
        {
            place: blocks[number]
            for place, bundle in enumerate(of_program)
            for number in bundle.gives
            if number in blocks
        },
    )


def bit_work(body: BootstrapProgram, bytes_of_bit: int) -> Work:
    """The nodes of a program over bits; its values are its signals.

    Args:
        body: The program.
        bytes_of_bit: Bytes of an LWE ciphertext.
    """
    starts, made = body.term_starts.tolist(), body.output_starts.tolist()
    terms, first = body.term_signals.tolist(), body.input_count
    tables = body.table_counts.tolist()
    return Work(
        [
            _BOOTSTRAP_SECONDS * (count > 0) + _TERM_SECONDS * summed
            for count, summed in zip(tables, counts_between(body.term_starts).tolist(), strict=True)
        ],
        [tuple(sorted(set(terms[start:end]))) for start, end in pairwise(starts)],
        [tuple(range(first + start, first + end)) for start, end in pairwise(made)],
        [bytes_of_bit] * body.signal_count,
        frozenset(range(first)),
        tuple(body.output_signals.tolist()),
    )
