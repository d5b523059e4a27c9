"""What a cluster has to know of each form of programs: its work, and how to do some of it.

The inner dimension of products of matrices may be cut into parts, whose sums are added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from cloakwork.base.record import Fields
from cloakwork.cluster.bundles import bundles, product_blocks
from cloakwork.cluster.work import Work, bit_work, slot_work
from cloakwork.programs.bootstrap_parts import part_of as part_of_bits
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.keys import KeyRequirements
from cloakwork.programs.slots import AddProducts, Builder, RotatedProducts, SlotProgram
from cloakwork.runtime.executor import estimated_results, run_part
from cloakwork.runtime.profile import Profile, bootstrap_measurements
from cloakwork.runtime.program import Program
from cloakwork.runtime.schedule import part_of_schedule, schedule
from cloakwork.schemes.base import ALL_KEYS


class Form(Protocol):
    """One form of programs.

    Attributes:
        work: What a run does.
        scheme: The program's scheme.
        operations: How many operations a run measures at most.
    """

    work: Work
    scheme: Any
    operations: int

    def read(self, value: int, fields: Fields) -> Any:
        """A value of the work, of its record.

        Raises:
            MalformedBytesError: The record is of another kind.
        """

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

    def keys_of(self, tasks: Sequence[int]) -> frozenset[str]:
        """What the evaluation keys are called that tasks use; see `KeyRequirements.names`."""

    def key_bytes(self, names: Collection[str]) -> int:
        """Bytes of the keys of these names."""

    def outputs(self, values: Mapping[int, Any]) -> list[Any]:
        """The outputs of the program, made of the results of the work."""

    def outputs_of(self, value: int) -> list[int]:
        """The numbers of the outputs that a result of the work is, as it is."""


def form_of(program: Program, inner_parts: int = 1) -> Form:
    """The form of a program; made once for each program.

    Args:
        program: The program.
        inner_parts: How many parts the inner dimension of products of matrices is cut into.

    Raises:
        NoiseExhaustedError: Noise would destroy results, so cut.
    """
    forms = _forms.setdefault(program, {})
    if inner_parts not in forms:
        body = program.body
        if isinstance(body, SlotProgram):
            forms[inner_parts] = SlotForm(program, body, inner_parts)
        else:
            forms[inner_parts] = BitForm(body, program.scheme)
    return forms[inner_parts]


_forms: WeakKeyDictionary[Program, dict[int, Form]] = WeakKeyDictionary()


class SlotForm(Form):
    """Slot programs: a value is what an operation makes, a task a bundle; see `bundles`."""

    def __init__(self, program: Program, body: SlotProgram, inner_parts: int) -> None:
        self.scheme = program.scheme
        cut = InnerParts(body, tuple(range(len(body.operations))))
        if inner_parts > 1:
            cut = with_inner_parts(body, inner_parts)
        self._body, self._sources = cut.program, cut.sources
        self.operations = len(body.operations)
        bounds = program.value_bounds
        self._bounds = None if bounds is None else [bounds[number] for number in self._sources]
        if inner_parts > 1:
            # Sums of parts have more noise, by the bound on it, than products of all at once.
            estimated_results(self.scheme, self._body, program.input_bounds, self._bounds)
        self._plan = schedule(self._body)
        self._bundles = bundles(self._body, self._plan)
        blocks = product_blocks(body)
        parts: Counter[int] = Counter()
        places: dict[int, tuple[int, int, int]] = {}
        for number, source in enumerate(self._sources):
            if source in blocks and isinstance(self._body.operations[number], RotatedProducts):
                places[number] = *blocks[source], parts[source]
                parts[source] += 1
        self.work = slot_work(self._body, self.scheme, self._bundles, places)
        self._outputs: dict[int, list[int]] = {}
        for output, value in enumerate(self._plan.outputs):
            self._outputs.setdefault(value, []).append(output)

    def read(self, value: int, fields: Fields) -> Any:
        if self._body.states[value].products:
            return self.scheme.read_products(fields)
        return self.scheme.read_ciphertext(fields)

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
        in_order = sorted(task for bundle in tasks for task in self._bundles[bundle].tasks)
        part = part_of_schedule(self._plan, in_order, wanted)
        made = run_part(
            self._body,
            part,
            holder._backend,
            [values[number] for number in part.inputs],
            threads=threads,
            profile=profile,
            bounds=self._bounds,
        )
        profile.operations[:] = [
            each._replace(number=self._sources[each.number]) for each in profile.operations
        ]
        return dict(zip(wanted, made, strict=True))

    def keys_of(self, tasks: Sequence[int]) -> frozenset[str]:
        values = [value for task in tasks for value in self._bundles[task].values]
        needed: KeyRequirements = self.scheme.required_keys(self._body, values)
        return needed.names()

    def key_bytes(self, names: Collection[str]) -> int:
        return int(self.scheme.bytes_of(self.scheme.required_keys(self._body).named(names)))

    def outputs(self, values: Mapping[int, Any]) -> list[Any]:
        return [values[number] for number in self._plan.outputs]

    def outputs_of(self, value: int) -> list[int]:
        return self._outputs.get(value, [])


class BitForm(Form):
    """Programs over bits: a value is an LWE ciphertext, a task a bootstrap or a sum."""

    def __init__(self, body: BootstrapProgram, scheme: Any) -> None:
        self.scheme = scheme
        self._body = body
        self.work = bit_work(body, scheme.value_bytes)
        self.operations = len(self.work.seconds)

    def read(self, _: int, fields: Fields) -> Any:
        return self.scheme.read_ciphertext(fields)

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
        run = self.scheme.run_part(holder._key, part, inputs, threads=threads)
        profile.operations += bootstrap_measurements(
            self._body, run._replace(nodes=part.nodes[run.nodes]), self.scheme.value_bytes
        )
        return {signal: run.outputs[0].select([place]) for place, signal in enumerate(wanted)}

    def keys_of(self, _: Sequence[int]) -> frozenset[str]:
        return frozenset((ALL_KEYS,))

    def key_bytes(self, names: Collection[str]) -> int:
        return int(self.scheme.key_bytes(self._body)) if ALL_KEYS in names else 0

    def outputs(self, values: Mapping[int, Any]) -> list[Any]:
        found: list[Any] = []
        for own in self._body.output_slices:
            first, *others = (values[each] for each in self._body.output_signals[own].tolist())
            found.append(first.concatenate(others) if others else first)
        return found

    def outputs_of(self, _: int) -> list[int]:
        # An output is the ciphertexts of several signals.
        return []


@dataclass(frozen=True, slots=True)
class InnerParts:
    """A program whose rotated products are cut.

    Args:
        program: The program.
        sources: For each of its operations the one of the whole program that it is, or a part of.
    """

    program: SlotProgram
    sources: tuple[int, ...]


def with_inner_parts(program: SlotProgram, parts: int) -> InnerParts:
    """Cut the lists of every rotated products into parts of about as many terms.

    Example:
        >>> from cloakwork.programs.slots import Input, Output, Rescale, SwitchProduct
        >>> operations = (
        ...     Input("x", 1), RotatedProducts((0,) * 3, (0,) * 3, 2), SwitchProduct(1, 0),
        ...     Rescale(2), Output(3))
        >>> made = with_inner_parts(SlotProgram("", 4, operations, (None,) * 5), 2)
        >>> [len(each.operands) for each in made.program.operations], made.sources
        ([0, 2, 4, 2, 1, 1, 1], (0, 1, 1, 1, 2, 3, 4))
    """
    builder = Builder(program.title, program.slots, program.numbers)
    moved: list[int] = []
    sources: list[int] = []
    for number, operation in enumerate(program.operations):
        builder.origin, builder.stage = program.origins[number], program.stages[number]
        here = operation.with_operands([moved[operand] for operand in operation.operands])
        if isinstance(here, RotatedProducts):
            value = _summed(builder, here, parts)
        else:
            value = builder.append(here, program.layouts[number])
        sources += [number] * (len(builder) - len(sources))
        moved.append(value)
    return InnerParts(builder.finish(), tuple(sources))


def _summed(builder: Builder, products: RotatedProducts, parts: int) -> int:
    """The sum of the parts of rotated products, one after the other."""
    run = products.run(builder.slots)
    runs = len(products.left) // run
    count = min(parts, runs)
    edges = [run * (runs * part // count) for part in range(count + 1)]
    total = None
    for start, end in pairwise(edges):
        part = builder.append(
            replace(products, left=products.left[start:end], right=products.right[start:end])
        )
        total = part if total is None else builder.append(AddProducts(total, part))
    assert total is not None
    return total
