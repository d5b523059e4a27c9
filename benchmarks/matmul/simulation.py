"""Products on clusters by simulation: the actual tasks, each of what one was measured to cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import cloakwork as cw
from benchmarks.matmul.evaluate import Evaluation
from cloakwork.cluster.bundles import bundles
from cloakwork.cluster.forms import form_of
from cloakwork.cluster.simulation import best_cut
from cloakwork.cluster.simulation import simulated as simulated_cut
from cloakwork.cluster.work import Network, Work
from cloakwork.programs.operations import Operation, Rescale, RotatedProducts, SwitchProduct
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.schedule import schedule

WORKERS = (4, 16, 64, 256)
# Ten gigabits a second, and a scheduler on a machine of its own.
_NETWORK = Network(task_seconds=5e-4, message_seconds=2e-3, bytes_per_second=1.1e9)


@dataclass(frozen=True, slots=True)
class TaskCosts:
    """Seconds of tasks on one thread.

    Args:
        term: Of a pair of operands of rotated products, for each rotation.
        switch: Of one key switch.
    """

    term: float
    switch: float

    @classmethod
    def of(cls, evaluation: Evaluation) -> TaskCosts:
        """Those of a product that was measured."""
        plan, timing = evaluation.plan, evaluation.timing
        terms = plan.multiplications / (4 * plan.limbs * plan.n)
        return cls(timing.product_seconds / terms, timing.switch_seconds / plan.results)


@dataclass(frozen=True, slots=True)
class Simulation:
    """A product on a cluster that was not run.

    Args:
        job: Its name.
        workers: Workers of one thread each.
        seconds: What it is expected to take.
        efficiency: What part of that workers are at work.
        moved_bytes: Bytes that move from worker to worker.
    """

    job: str
    workers: int
    seconds: float
    efficiency: float
    moved_bytes: int


def simulations(size: int, costs: TaskCosts, workers: Sequence[int]) -> Iterator[Simulation]:
    """A product of square matrices on clusters of so many workers."""
    work = priced(cw.compile(lambda a, b: a @ b, (size, size), (size, size), precision=7), costs)
    for count in workers:
        found = simulated_cut(work, best_cut(work, count, _NETWORK), _NETWORK)
        efficiency = sum(work.seconds) / (found.seconds * count)
        yield Simulation(str(size), count, found.seconds, efficiency, found.moved_bytes)


def priced(program: cw.Program, costs: TaskCosts) -> Work:
    """The tasks of a product, at measured costs.

    Raises:
        ValueError: There are other tasks than those of a product.
    """
    body = program.body
    assert isinstance(body, SlotProgram)
    plan = schedule(body)
    seconds = [
        sum(_seconds(body, body.operations[number], costs) for number in task)
        for task in plan.tasks
    ]
    together = [sum(seconds[task] for task in each.tasks) for each in bundles(body, plan)]
    return replace(form_of(program).work, seconds=together)


def _seconds(body: SlotProgram, operation: Operation, costs: TaskCosts) -> float:
    match operation:
        case RotatedProducts(left=left, step=step):
            return costs.term * len(left) * (body.slots // step)
        case SwitchProduct():
            return costs.switch
        case Rescale():
            # Done with its switch.
            return 0.0
        case _:
            raise ValueError(f"expected the tasks of a product, got {operation.kind}")
