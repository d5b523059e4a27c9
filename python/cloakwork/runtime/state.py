"""State: results that stay with the evaluator, encrypted, and are inputs of the next step."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import shown
from cloakwork.base.record import Fields, Limits, Record, Word
from cloakwork.errors import InvalidArgumentError, NoiseBudgetError, StepMismatchError
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.bounds import value_bounds
from cloakwork.programs.kept_bits import bits_are_renewed
from cloakwork.programs.packing.batch import BatchPacking
from cloakwork.programs.slots import Output, SlotProgram
from cloakwork.runtime.after import ROUNDING, After
from cloakwork.runtime.by_element import ByElement
from cloakwork.runtime.encrypted import Encrypted
from cloakwork.schemes.base import ReadLimits

if TYPE_CHECKING:
    from cloakwork.runtime.interface import Interface
    from cloakwork.runtime.program import Program

KIND = "state file"
# Of a program whose ranges or errors grow from step to step.
MAX_STEPS = 1 << 12
# A bound on errors that no step exceeds is looked for from that of fresh inputs on.
_DOUBLINGS = 24
# By how much errors of a state may be more than estimated before they are estimated again.
_SETTLED = 1.01
_MOST_STEP = 1 << 53


@dataclass(frozen=True, slots=True)
class Kept:
    """An input of a program that is, from the second step on, a result of the step before.

    Args:
        input: The name of the input.
        result: The name of the result.
        initial: Each of its numbers at first.
        steps: How many steps keep its range and the errors; 0 for any number of them.
    """

    input: Word
    result: Word
    initial: float | int
    steps: Annotated[int, Limits(0, MAX_STEPS)] = 0


class EncryptedState(Encrypted):
    """The state of a program between two steps, encrypted: what the next step's run takes.

    `Client.start` makes the first; `Evaluator.run` replaces it by the next as a whole, once the
    run has succeeded. It belongs to one key, one program and one step, and has files.

    Example:
        >>> import cloakwork as cw
        >>> total = lambda total, x: total + x
        >>> program = cw.compile(total, cw.state((2,), bound=50, steps=50), (2,))
        >>> client, evaluator = program.keygen()
        >>> state = client.start()
        >>> for _ in range(3):
        ...     made = evaluator.run(client.encrypt(x=[0.5, -1.0]), state=state)
        >>> client.decrypt(made).round(4).tolist(), state.step
        ([1.5, -3.0], 3)
    """

    _kind = KIND

    # Steps that led to it.
    step: int = 0

    def become(self, run: Mapping[int, Any], dump: Any) -> None:
        """Turn into the state of the next step."""
        self._dump, self._runs = dump, [dict(run)]
        self.step += 1
        self.__dict__.pop("nbytes", None)

    def described(self) -> Record:
        return {**super().described(), "step": self.step}

    @classmethod
    def _of(cls, fields: Fields, limits: ReadLimits) -> Self:
        made = super()._of(fields, limits)
        made.step = fields.integer("step", least=0, most=_MOST_STEP)
        if made.role != "inputs" or made.runs != 1 or made.count is not None:
            raise fields.wrong("runs", "the inputs of one run")
        return made


class OfStep(Protocol):
    """A state, wherever it is."""

    @property
    def step(self) -> int: ...


def require_state(
    program: Program | Interface,
    state: OfStep | None,
    step: object,
    kind: type[OfStep],
    action: str,
) -> None:
    """Refuse a run without its state, and a state where the program keeps none.

    Args:
        program: The program.
        state: What is given for its state.
        step: The step that it has to be of; None for any.
        kind: What it has to be.
        action: What is attempted.

    Raises:
        InvalidArgumentError: It is missing, or something else.
        StepMismatchError: It is of another step.
    """
    kept = program.kept if program.scheme.encrypts else ()
    if not kept and state is None and step is None:
        return
    if not kept:
        given = f"a step, {shown(step)}" if state is None else shown(state)
        raise InvalidArgumentError(
            f"cannot {action}: expected no state, as the program keeps none, got {given}; "
            "leave it out"
        )
    if not isinstance(state, kind):
        raise InvalidArgumentError(
            f"cannot {action}: expected the state that start() or the run before made, got "
            f"{shown(state)}; give it by state="
        )
    if step is not None and state.step != step:
        raise StepMismatchError(
            f"cannot {action}: expected the state of step {shown(step)}, got that of step "
            f"{state.step}; load the one that the run before left"
        )


def first_state(program: Program | Interface) -> dict[str, NDArray[Any]]:
    """The state before the first step, by the names of the inputs that it is."""
    ports = {port.name: port for port in program.inputs}
    found: dict[str, NDArray[Any]] = {}
    for each in program.kept:
        port = ports[each.input]
        within = {"bits": (port.width,), "bytes": (port.width // 8,)}.get(port.kind, ())
        found[each.input] = np.full(port.shape + within, each.initial)
    return found


def links_of(program: Program) -> list[After]:
    """The inputs that are kept, as results of the program itself."""
    kind = ByElement if isinstance(program.packing, BatchPacking) else After
    return [kind(each.input, program, each.result) for each in program.kept]


def next_run(program: Program, backend: Any, made: Mapping[int, Any], action: str) -> Any:
    """The values of kept inputs by number, of the results of a step."""
    taken: dict[int, Any] = {}
    for each in links_of(program):
        taken.update(each.taken(program, backend, made, action))
    return taken


def _added(deviation: float, before: float) -> float:
    """The deviation of what was added to numbers of one deviation for them to have another.

    Example:
        >>> _added(5.0, 3.0), _added(2.0, 3.0), _added(1e300, 1.0)
        (4.0, 0.0, 1e+300)
    """
    if deviation <= before:
        return 0.0
    return deviation * math.sqrt(1.0 - (before / deviation) ** 2)


def misfit(program: Program) -> str:
    """Why a program cannot keep its state; empty where it can."""
    body = program.body
    if isinstance(body, BootstrapProgram):
        return _misfit_of_bits(program, body)
    if body.numbers != "real":
        return "it is over integers, whose noise no step takes back; keep state over reals or bits"
    if program.after:
        names = ", ".join(link.input for link in program.after)
        return (
            f"it takes results of other programs, {names:.40}, beside its state; keep a state of "
            "what clients encrypt, and take its result and theirs by a program that follows"
        )
    is_network = isinstance(program.packing, BatchPacking)
    if not is_network and (program.ranges or program.error is not None):
        return (
            "it has functions, whose errors at each step depend on all numbers before; keep state "
            "by sums and products, and compute functions by a program that follows"
        )
    if len({each.steps for each in program.kept}) > 1:
        return "its states last for several numbers of steps; give all the same steps="
    read = {port.name for port in program.packing.inputs if program.packing.vectors_of([port.name])}
    for link in links_of(program):
        if link.input not in read:
            return (
                f"no step reads its state {link.input!r:.40}; leave that argument out, and return "
                "what it would become among the other results"
            )
        reason = link.misfit(program)
        if reason:
            return reason
        lacking = link.lacking_levels(program)
        if lacking > 0:
            return (
                f"the result {link.result!r:.40} stands {lacking} levels below where the step "
                f"reads {link.input!r:.40}; multiply state and what is added to it by nothing but "
                "whole numbers other than 0, or multiply in a program that follows"
            )
    # The ranges of a network's numbers are those of its samples, which are of all steps.
    return "" if is_network else _outgrown(program, body)


def _misfit_of_bits(program: Program, body: BootstrapProgram) -> str:
    """Why a program over bits cannot keep its state: its bits are renewed by no bootstrap."""
    links = links_of(program)
    for link, each in zip(links, program.kept, strict=True):
        reason = "it says a number of steps" if each.steps else link.misfit(program)
        if reason:
            return reason
    pairs = [pair for link in links for pair in link.pairs(program)]
    renewed = bits_are_renewed(body, pairs)
    return "" if renewed else "its state is not renewed; compile it with state="


def _outgrown(program: Program, body: SlotProgram) -> str:
    """Which range a state leaves, and when; empty where none does."""
    slots, whole = program.packing.input_bounds(), program.input_bounds
    assert slots is not None
    assert whole is not None
    pairs = [pair for link in links_of(program) for pair in link.pairs(program)]
    kept = {number: each for each, number in _numbers(program)}
    outputs = [n for n, each in enumerate(body.operations) if isinstance(each, Output)]
    filled = {number: slots[number] / whole[number] for number, _ in pairs}
    steps = program.steps
    reach = {number: abs(each.initial) for number, each in kept.items()}
    if steps is None:
        reach = {number: whole[number] for number, _ in pairs}
    for step in range(1, 1 + (steps or 1)):
        given = list(slots)
        for number, _ in pairs:
            given[number] = reach[number] * filled[number]
        found = value_bounds(body, given, {})
        reached = {number: found[outputs[result]] or 0.0 for number, result in pairs}
        for number, bound in reached.items():
            if bound > whole[number] * (1 + ROUNDING):
                return (
                    f"its state {kept[number].input!r:.40} may come to {bound:g} after "
                    f"{step} step(s) from {reach[number]:g}, and its bound is {whole[number]:g}; "
                    "give a larger bound=, or fewer steps=, or let each step shrink it"
                )
        if all(reached[number] <= reach[number] for number, _ in pairs):
            return ""
        reach = reached
    return ""


def _numbers(program: Program) -> Iterator[tuple[Kept, int]]:
    for each, link in zip(program.kept, links_of(program), strict=True):
        for number, _ in link.pairs(program):
            yield each, number


def worst_inputs(
    program: Program, backend: Any, inputs: list[Any], made: Any, action: str
) -> list[Any]:
    """Estimates of inputs that hold at every step.

    Args:
        program: The program.
        backend: What computes on estimates.
        inputs: Those of the first step.
        made: Gives the estimates of results, of those of inputs.
        action: What is attempted.

    Raises:
        NoiseBudgetError: Errors grow without an end, and no number of steps was said.
    """
    if not program.kept:
        return inputs
    if isinstance(program.packing, BatchPacking):
        return _worst_of_network(program, backend, inputs, made, action)
    inputs, steps = list(inputs), program.steps
    for _ in range(steps or _DOUBLINGS):
        before = dict(enumerate(made(inputs)))
        taken = next_run(program, backend, before, action)
        if all(value.deviation <= inputs[number].deviation for number, value in taken.items()):
            return inputs
        for number, value in taken.items():
            most = max(value.deviation, inputs[number].deviation)
            # Whatever no step takes above itself bounds all of them.
            inputs[number] = value.with_deviation(most if steps else 2 * most)
    if steps:
        return inputs
    raise NoiseBudgetError(
        f"cannot {action}: expected errors that no number of steps takes beyond a bound, got ones "
        "that grow with every step; say by steps= of cloakwork.state how many there will be, or "
        "let each step shrink the state"
    )


def _worst_of_network(
    program: Program, backend: Any, inputs: list[Any], made: Any, action: str
) -> list[Any]:
    """Estimates of a network's inputs that hold at every step.

    Each step adds as much noise to a state as any other, and what it adds depends on other states
    alone: to the keys of a layer on those of layers before.
    """
    first, inputs, steps = inputs, list(inputs), program.steps or 1
    for _ in program.kept:
        taken = next_run(program, backend, dict(enumerate(made(inputs))), action)
        grown = False
        for number, value in taken.items():
            before = inputs[number].deviation
            each = _added(value.deviation, before)
            most = math.hypot(first[number].deviation, math.sqrt(steps) * each)
            if most > before:
                grown = grown or most > before * _SETTLED
                # Estimates of deep networks come to the largest number there is.
                widened = min(most * _SETTLED, sys.float_info.max)
                inputs[number] = value.with_deviation(widened)
        if not grown:
            break
    return inputs
