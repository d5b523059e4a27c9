"""What a cluster has to know of each form of programs: its work, and how to do some of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from cloakwork.programs.bootstrap_parts import part_of as part_of_bits
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.cluster.work import Work, bit_work, slot_work
from cloakwork.runtime.executor import run_part
from cloakwork.runtime.profile import Profile, bootstrap_measurements
from cloakwork.runtime.program import Program
from cloakwork.runtime.schedule import part_of, schedule


class Form(Protocol):
    """One form of programs.

    Attributes:
        work: What a run does.
    """

    work: Work

    def inputs_of(self, values: Sequence[int]) -> list[int]:
        """The numbers of the inputs, as clients encrypt them, that hold values of the work."""

    def opened(self, number: int, given: Any) -> dict[int, Any]:
        """The values of the work that an input holds, by number."""

    def made(
        self,
        holder: Any,
        tasks: Sequence[int],
        wanted: Sequence[int],
        values: Mapping[int, Any],
        threads: int,
        profile: Profile,
    ) -> dict[int, Any]:
        """Do tasks and give the values wanted of those that they make.

        Args:
            holder: A `runtime.evaluator.Evaluator`, which has the keys.
            tasks: The tasks, rising.
            wanted: The values.
            values: What the tasks work on.
            threads: How many threads they may take.
            profile: Filled with what they took.
        """

    def outputs(self, values: Mapping[int, Any]) -> list[Any]:
        """The outputs of the program, made of the results of the work."""


def form_of(program: Program) -> Form:
    """The form of a program; made once for each program."""
    made = _forms.get(program)
    if made is None:
        body = program.body
        if isinstance(body, SlotProgram):
            made = SlotForm(body, program.scheme, program.value_bounds)
        else:
            made = BitForm(body, program.scheme)
        _forms[program] = made
    return made


_forms: WeakKeyDictionary[Program, Form] = WeakKeyDictionary()


class SlotForm(Form):
    """Slot programs: a value is a ciphertext, a task what the executor does in one go."""

    def __init__(
        self, body: SlotProgram, scheme: Any, bounds: Sequence[float | None] | None
    ) -> None:
        self._body = body
        self._bounds = bounds
        self._plan = schedule(body)
        self.work = slot_work(body, scheme)

    def inputs_of(self, values: Sequence[int]) -> list[int]:
        wanted = set(values)
        return [number for number, value in enumerate(self._plan.inputs) if value in wanted]

    def opened(self, number: int, given: Any) -> dict[int, Any]:
        return {self._plan.inputs[number]: given}

    def made(
        self,
        holder: Any,
        tasks: Sequence[int],
        wanted: Sequence[int],
        values: Mapping[int, Any],
        threads: int,
        profile: Profile,
    ) -> dict[int, Any]:
        part = part_of(self._plan, tasks, wanted)
        made = run_part(
            self._body,
            part,
            holder._backend,
            [values[number] for number in part.inputs],
            threads=threads,
            profile=profile,
            bounds=self._bounds,
        )
        return dict(zip(wanted, made, strict=True))

    def outputs(self, values: Mapping[int, Any]) -> list[Any]:
        return [values[number] for number in self._plan.outputs]


class BitForm(Form):
    """Programs over bits: a value is an LWE ciphertext, a task a bootstrap or a sum."""

    def __init__(self, body: BootstrapProgram, scheme: Any) -> None:
        self._scheme = scheme
        self._body = body
        self.work = bit_work(body, scheme.value_bytes)

    def inputs_of(self, values: Sequence[int]) -> list[int]:
        wanted = set(values)
        return [
            port
            for port in range(len(self._body.inputs))
            if not wanted.isdisjoint(self._body.signals_of(port).tolist())
        ]

    def opened(self, number: int, given: Any) -> dict[int, Any]:
        signals = self._body.signals_of(number).tolist()
        return {signal: given.select([place]) for place, signal in enumerate(signals)}

    def made(
        self,
        holder: Any,
        tasks: Sequence[int],
        wanted: Sequence[int],
        values: Mapping[int, Any],
        threads: int,
        profile: Profile,
    ) -> dict[int, Any]:
        part = part_of_bits(self._body, tasks, wanted)
        first, *others = (values[signal] for signal in part.needs.tolist())
        inputs = first.concatenate(others) if others else first
        run = self._scheme.run_part(holder._key, part, inputs, threads=threads)
        profile.operations += bootstrap_measurements(
            self._body, run._replace(nodes=part.nodes[run.nodes]), self._scheme.value_bytes
        )
        return {signal: run.outputs[0].select([place]) for place, signal in enumerate(wanted)}

    def outputs(self, values: Mapping[int, Any]) -> list[Any]:
        found: list[Any] = []
        for own in self._body.output_slices:
            first, *others = (values[each] for each in self._body.output_signals[own].tolist())
            found.append(first.concatenate(others) if others else first)
        return found
