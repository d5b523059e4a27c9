"""The slot programs of a job: planned eagerly or compiled, with all keys or powers of two."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import cloakwork as cw
from benchmarks.einsum.jobs import Job
from cloakwork._native import Parameters
from cloakwork.errors import LevelExhaustedError
from cloakwork.explain.work_levels_keys import counted_operations
from cloakwork.frontends.tensors.eager import computed, refreshed
from cloakwork.plan.functions.intervals import Interval
from cloakwork.plan.passes.key_budget import powers_of_two_only
from cloakwork.plan.passes.levels import depth_of
from cloakwork.programs.bounds import value_bounds
from cloakwork.programs.ir.tensors import Node
from cloakwork.programs.keys import KeyRequirements, required_keys
from cloakwork.programs.slots import Constant, Mul, Rescale, Rotate, SlotProgram, SwitchProduct
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.schedule import degrees
from cloakwork.schemes.base import SlotScheme
from cloakwork.schemes.device.devices import CPU

Fit: TypeAlias = Callable[[SlotProgram], SlotProgram]

SLOTS = 16384
PRECISION = 24

_DEPTHS = range(9)
# No element of a result exceeds it; the bound that a session needs follows from the plan.
_ENOUGH = float(SLOTS)


def as_planned(program: SlotProgram) -> SlotProgram:
    """The program itself, which has a key for each of its rotations."""
    return program


KEYS: Mapping[str, Fit] = {"all keys": as_planned, "power-of-two keys": powers_of_two_only}


@dataclass(frozen=True, slots=True)
class Step:
    """A program that was run, and on what."""

    program: SlotProgram
    inputs: Sequence[Any]
    bounds: Sequence[float | None] | None


@dataclass(slots=True, eq=False)
class Recorder:
    """Runs programs on a session, fitted to keys, and keeps them so as to run them again.

    Args:
        session: Where they run.
        fit: What fits a program to keys.
        device: Where programs are to run in the end, which they are planned for.
        steps: The programs that were run, in order.
        seconds: What running them took.
    """

    session: cw.Session
    fit: Fit
    device: str = CPU
    steps: list[Step] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def parameters(self) -> Parameters:
        """The session's."""
        return self.session.parameters

    @property
    def scheme(self) -> SlotScheme:
        """The session's."""
        return self.session.scheme

    @property
    def precision(self) -> int:
        """The session's."""
        return self.session.precision

    @property
    def memory_limit(self) -> int:
        """The session's."""
        return self.session.memory_limit

    def result(self, job: Job, arrays: Sequence[NDArray[np.float64]]) -> cw.Tensor:
        """Encrypt the operands of a job, plan it and run the plan."""
        operands = [replace(self.session.encrypt(each, bound=1), runner=self) for each in arrays]
        result: cw.Tensor = job.compute(*operands)
        # What the session decrypts is its own.
        return replace(result, runner=self.session)

    def compute(self, node: Node, title: str) -> cw.Tensor:
        """Plan what tensors ask for and run it."""
        return computed(self, node, title)

    def interval_of(self, node: Node) -> Interval:
        """The session's answer."""
        return self.session.interval_of(node)

    def refreshed(self, tensor: cw.Tensor) -> cw.Tensor:
        """Bootstrap a tensor."""
        return refreshed(self, tensor)

    def fitted(self, program: SlotProgram) -> SlotProgram:
        """The program, fitted to the keys that it is measured with."""
        return self.fit(program)

    def run(
        self,
        program: SlotProgram,
        inputs: Sequence[Any],
        *,
        profile: Profile | None = None,
        bounds: Sequence[float | None] | None = None,
    ) -> list[Any]:
        """Run a program and keep it; see `cloakwork.Session.run`."""
        step = Step(program, inputs, bounds)
        start = time.perf_counter()
        values = self.session.run(step.program, inputs, profile=profile, bounds=bounds)
        self.seconds += time.perf_counter() - start
        self.steps.append(step)
        return values

    def run_again(self) -> None:
        """Run all programs again, each on what it was run on."""
        for step in self.steps:
            self.session.run(step.program, step.inputs, bounds=step.bounds)

    def profile_again(self) -> list[Profile]:
        """Run all programs again, and measure each."""
        profiles: list[Profile] = []
        for step in self.steps:
            profiles.append(Profile())
            self.session.run(step.program, step.inputs, profile=profiles[-1], bounds=step.bounds)
        return profiles


@dataclass(frozen=True, slots=True)
class EagerPlan:
    """The programs of a job, and the least depth and bound of a session that serve them."""

    programs: Sequence[SlotProgram]
    depth: int
    bound: float


def eager_plan(job: Job, fit: Fit, device: str = CPU) -> EagerPlan:
    """Plan a job step by step, at the smallest depth that it can do with.

    Raises:
        LevelExhaustedError: No depth will do.
    """
    # Where every element is at its bound, what the slots come to are bounds, too.
    largest = [np.ones(shape) for shape in job.shapes]
    steps = _planned(job, fit, device, largest).steps
    bounds = [
        bound
        for step in steps
        for bound in value_bounds(step.program, [value.slots for value in step.inputs])
        if bound is not None
    ]
    programs = [step.program for step in steps]
    return EagerPlan(programs, steps[0].inputs[0].level, max(bounds))


def _planned(job: Job, fit: Fit, device: str, arrays: Sequence[NDArray[np.float64]]) -> Recorder:
    for depth in _DEPTHS:
        session = cw.Session(
            depth=depth,
            precision=PRECISION,
            slots=SLOTS,
            bound=_ENOUGH,
            backend="clear",
        )
        recorder = Recorder(session, fit, device)
        try:
            recorder.result(job, arrays)
        except LevelExhaustedError:
            if depth == _DEPTHS[-1]:
                raise
        else:
            return recorder
    raise AssertionError("the last depth returns or raises")


def compiled_plan(job: Job, fit: Fit, device: str = CPU) -> tuple[cw.Program, SlotProgram]:
    """Plan a job as a whole: the program, and its operations."""
    made = cw.compile(job.compute, *job.shapes, precision=PRECISION, device=device)
    assert isinstance(made.body, SlotProgram)
    body = fit(made.body)
    return cw.Program(made.scheme, body, made.packing, device=device), body


def rotations(programs: Iterable[SlotProgram]) -> int:
    """How often ciphertexts are rotated."""
    return sum(counted_operations(program)["rotation"] for program in programs)


def relinearisations(programs: Iterable[SlotProgram]) -> int:
    """How often products are relinearised or switched, which many of them may be together."""
    return sum(map(_relinearisations, programs))


def _relinearisations(program: SlotProgram) -> int:
    degree = degrees(program)
    found = 0
    rotated: set[int] = set()
    for number, operation in enumerate(program.operations):
        match operation:
            case Mul(left=left, right=right) if degree[number] == 1:
                factors = (program.operations[left], program.operations[right])
                found += not any(isinstance(factor, Constant) for factor in factors)
            case Rescale(operand=operand) if degree[operand] == 2:
                found += 1
            case Rotate(operand=operand) if degree[operand] == 2:
                rotated.add(operand)
            case SwitchProduct():
                found += 1
            case _:
                pass
    return found + len(rotated)


def levels_used(programs: Iterable[SlotProgram]) -> int:
    """Levels that programs which run one after the other take."""
    return sum(map(depth_of, programs))


def key_demand(programs: Iterable[SlotProgram]) -> KeyRequirements:
    """The keys that serve all programs."""
    demand = KeyRequirements()
    for program in programs:
        demand = demand.joined(required_keys(program))
    return demand
