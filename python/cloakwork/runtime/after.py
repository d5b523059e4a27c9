"""Programs in a row: an input of one is a result of another, which stays encrypted between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from cloakwork.errors import (
    InvalidArgumentError,
    ParametersMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.bootstraps_in_a_row import (
    Following,
    OwnPart,
    whole_program,
)
from cloakwork.programs.layout import Layout, in_strides
from cloakwork.programs.matrices import MatrixPlace
from cloakwork.programs.packing.batch import BatchPacking
from cloakwork.programs.packing.bit_integers import BitIntegerPacking
from cloakwork.programs.packing.results import Leaf, integers_of, named_parts
from cloakwork.programs.packing.tensor import RealPacking
from cloakwork.programs.places import BatchPlaces, Places, TensorPlace
from cloakwork.programs.port import Port
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.executor import run_in_order
from cloakwork.schemes.base import levels_of

if TYPE_CHECKING:
    from cloakwork.runtime.program import Program

# Where a bound lies above another by the rounding of doubles.
ROUNDING = 2.0**-40


@runtime_checkable
class ResultOf(Protocol):
    """What `cloakwork.result` gives: a result of a program, over whatever numbers."""

    @property
    def program(self) -> Program | None: ...

    @property
    def result(self) -> str: ...


def require_told_apart(results: Iterable[object], action: str) -> None:
    """Refuse results of several programs that compute the same, which runs cannot tell apart.

    Args:
        results: What is given for inputs, of which some are results.
        action: What is attempted.

    Raises:
        InvalidArgumentError: There are such.
    """
    known: dict[str, Program] = {}
    for each in results:
        program = each.program if isinstance(each, ResultOf) else None
        if program is not None and known.setdefault(program.fingerprint, program) is not program:
            raise InvalidArgumentError(
                f"cannot {action}: expected results of programs that differ, got those of two that "
                f"compute the same, {program.name}, and such are one program with one run; let one "
                "program compute both results, of inputs of its own for each"
            )


@dataclass(frozen=True, slots=True)
class Result:
    """A result of a program, for the next program to take; see `cloakwork.result`.

    Args:
        program: The program.
        result: The name of its result.
    """

    program: Program
    result: str

    @property
    def port(self) -> Port:
        """What the result is."""
        return _port_of(self.program, self.result)


@dataclass(frozen=True, slots=True, eq=False)
class After:
    """Which input of a program is a result of another.

    Args:
        input: The name of the input.
        program: The other program.
        result: The name of its result.
    """

    input: str
    program: Program
    result: str

    @property
    def name(self) -> str:
        """What the other program computes."""
        return self.program.name

    @property
    def result_port(self) -> Port:
        """What the result is."""
        return _port_of(self.program, self.result)

    @property
    def takes_one(self) -> bool:
        """Whether it takes the result of one evaluation alone, where a run has several."""
        return False

    def misfit(self, program: Program) -> str:
        """Why a program cannot follow; empty where it can, under parameters of both."""
        reason = self.kinds_misfit(program)
        if reason:
            return reason
        if isinstance(program.body, BootstrapProgram):
            return self._bits_misfit(program.body)
        places = [place for port, place in tensors_in(program) if port.name == self.input]
        if places != [place_of(self.program, self.result)]:
            return f"its input {self.input!r:.40} does not lie where the result does"
        return ""

    def absent(self, program: Program) -> str:
        """Whether the input or the result is not there; empty where both are."""
        inputs = [port.name for port in program.packing.inputs]
        results = [port.name for port in self.program.outputs]
        if self.input in inputs and self.result in results:
            return ""
        return f"its input {self.input!r:.40} or the result {self.result!r:.40} is not there"

    def kinds_misfit(self, program: Program) -> str:
        """Why the result is not of the input's kind; empty where it is."""
        reason = self.absent(program)
        if reason:
            return reason
        wanted, given = self.port(program), self.result_port
        if _kind(wanted, wanted.shape) != _kind(given, shape_of(self.program, given)):
            return f"its input {wanted} is not of the kind and shape of the result {given}"
        return ""

    def _bits_misfit(self, body: BootstrapProgram) -> str:
        first = self.program.body
        if not isinstance(first, BootstrapProgram):
            return "it follows a program that is not over bits"
        ((own, result),) = self._ports(body, first)
        signals, places = body.signals_of(own), body.places_of(own)
        encodings = first.output_encodings[first.output_slices[result]]
        once = sorted(places) == [*range(len(encodings))]
        if not once or (body.input_encodings[signals] != encodings[places]).any():
            return f"its input {self.input!r:.40} is not encoded as the result is"
        return ""

    def port(self, program: Program) -> Port:
        """The input of a program."""
        return next(port for port in program.packing.inputs if port.name == self.input)

    def _ports(self, inputs_of: Any, results_of: Any) -> list[tuple[int, int]]:
        """The place of the input among those of a program, and that of the result."""
        both = inputs_of.inputs, results_of.outputs
        inputs, outputs = ([port.name for port in ports] for ports in both)
        return [(inputs.index(self.input), outputs.index(self.result))]

    def pairs(self, program: Program) -> list[tuple[int, int]]:
        """The numbers of the inputs of a program, each with that of the result that it is."""
        if isinstance(program.body, BootstrapProgram):
            return self._ports(program.packing, self.program)
        inputs = self.numbers_in(program)
        results = _numbers_of(_tensors_out(self.program), self.result)
        return list(zip(inputs, results, strict=True))

    def numbers_in(self, program: Program) -> list[int]:
        """The numbers of the inputs of a program over reals."""
        return _numbers_of(tensors_in(program), self.input)

    def lacking_levels(self, program: Program) -> int:
        """How many levels the result lacks to be that input of a program; 0 or less for none."""
        body, first = program.body, self.program.body_of("outputs")
        if not isinstance(body, SlotProgram) or not isinstance(first, SlotProgram):
            return 0
        wanted, given = levels_of(body, "inputs"), levels_of(first, "outputs")
        return max(wanted[number] - given[result] for number, result in self.pairs(program))

    def require_fit(self, program: Program, action: str) -> None:
        """Refuse a program that follows under other parameters, or further up the chain.

        Raises:
            ParametersMismatchError: It does.
        """
        first = self.program
        if first.scheme.key_set == program.scheme.key_set and self.lacking_levels(program) <= 0:
            return
        raise ParametersMismatchError(
            f"cannot {action}: expected a result of {first.name} under parameters that leave the "
            f"levels of {program.name}, got {first.scheme} for it and {program.scheme} for "
            f"{program.name}; bring both together by cloakwork.together before keys are made"
        )

    def taken(
        self, program: Program, backend: Any, values: Mapping[int, Any], action: str
    ) -> dict[int, Any]:
        """Results as the inputs of a program: values, or what is estimated of them.

        Raises:
            ValueOutOfRangeError: One may hold larger numbers than the first program's results do.
        """
        if isinstance(program.body, BootstrapProgram):
            return self._bits(program, values)
        bounds, stated = program.input_bounds, self.program.output_bounds
        assert bounds is not None
        assert stated is not None
        assert isinstance(program.body, SlotProgram)
        levels = levels_of(program.body, "inputs")
        taken: dict[int, Any] = {}
        for number, result in self.pairs(program):
            value = values[result]
            if program.scheme.encrypts and value.bound > stated[result] * (1 + ROUNDING):
                raise ValueOutOfRangeError(
                    f"cannot {action}: expected results of {self.program.name} to hold numbers of "
                    f"absolute value up to {stated[result]:g}, and one is said to hold "
                    f"{value.bound:g}; run {self.program.name} anew"
                )
            if value.level > levels[number]:
                value = backend.drop_level(value, levels[number])
            taken[number] = backend.bounded(value, bounds[number])
        return taken

    def _bits(self, program: Program, values: Mapping[int, Any]) -> dict[int, Any]:
        """The bits of a result in the order in which a program takes them."""
        assert isinstance(program.body, BootstrapProgram)
        ((own, result),) = self.pairs(program)
        if not program.scheme.encrypts:
            return {own: values[result]}
        return {own: values[result].select(program.body.places_of(own).tolist())}


def stated_error(program: Program) -> float | None:
    """How far results over reals may be off: as stated, or by the estimates of ciphertexts.

    None where neither says it.
    """
    if program.error is not None or not program.estimated_results:
        return program.error
    return float(2.0 ** -min(each.precision for each in program.estimated_results))


def error_is_bound(program: Program) -> bool:
    """Whether what is stated holds for all inputs, and not for such as samples alone."""
    return program.error is None or program.error_bound == program.error


def programs_before(program: Program) -> list[Program]:
    """The programs that a program follows, each once and after those that it follows itself."""
    found: dict[str, Program] = {}

    def visit(each: Program) -> None:
        for link in each.after:
            if link.program.fingerprint not in found:
                visit(link.program)
                found[link.program.fingerprint] = link.program

    visit(program)
    return list(found.values())


def whole_body(program: Program) -> Any:
    """The body of a program over bits with those of all that it follows, by which it may fail."""
    body = program.body
    if not program.after or not isinstance(body, BootstrapProgram):
        return body
    return whole_program(row_of(program))


def own_parts(program: Program) -> list[OwnPart]:
    """What a program over bits and those that it follows add to noise, its own last."""
    row = (*programs_before(program), program)
    return [each.own_part for each in row if isinstance(each.body, BootstrapProgram)]


def row_of(program: Program) -> list[Following]:
    """The programs over bits that a program over bits follows, and itself."""
    places: dict[str, int] = {}
    row: list[Following] = []
    for each in (*programs_before(program), program):
        if not isinstance(each.body, BootstrapProgram):
            continue
        links = [
            (own, places[link.program.fingerprint], result)
            for link in each.after
            if link.program.fingerprint in places
            for own, result in link.pairs(each)
        ]
        places[each.fingerprint] = len(row)
        row.append(Following(each.body, tuple(links)))
    return row


def _port_of(program: Program, result: str) -> Port:
    port = next(port for port in program.outputs if port.name == result)
    if isinstance(program.packing, BitIntegerPacking):
        part = named_parts(program.packing.form)[result]
        fractions = {each.fraction for each in integers_of(part) if isinstance(each, Leaf)}
        if fractions != {port.fraction}:
            raise InvalidArgumentError(
                f"cannot take {result} of {program.name} for another program: expected numbers "
                f"with as many bits after the point, got {sorted(fractions)}; return them by name "
                "in a dict"
            )
    return port


def _kind(port: Port, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """What a result and an input that is one have in common."""
    return port.kind, shape, port.width, port.fraction


def shape_of(program: Program, port: Port) -> tuple[int, ...]:
    """The shape of a result of a run; that of a network has an axis for its batch first."""
    is_several = isinstance(program.packing, BatchPacking) and program.batch > 1
    return (program.batch, *port.shape) if is_several else port.shape


def place_of(program: Program, result: str) -> TensorPlace | None:
    """Where a result lies, if another program can take it.

    In strides, where it lies so and no slot has an imaginary part. Names of axes are those of the
    function that made it, and are left out.
    """
    place = next((place for port, place in _tensors_out(program) if port.name == result), None)
    match program.packing, place:
        case _, Layout():
            found: Layout | None = place
        case _, MatrixPlace(layout=blocks):
            garbage = bool(blocks.garbage or blocks.is_copy().any())
            found = _in_strides(place, garbage=garbage)
            if found is None:
                return place
        case BatchPacking(batch=batch, lanes=lanes, pairs=pairs), Places():
            (port,) = (port for port in program.outputs if port.name == result)
            whole = BatchPlaces(place, shape_of(program, port), batch, lanes, pairs)
            found = _in_strides(whole, garbage=True)
            if found is None:
                return whole
        case _:
            found = None
    if found is None:
        return None
    axes, replicas = (
        tuple(replace(axis, name="") for axis in each) for each in (found.axes, found.replicas)
    )
    return replace(found, axes=axes, replicas=replicas)


def _in_strides(place: MatrixPlace | BatchPlaces, *, garbage: bool) -> Layout | None:
    """The layout of all ciphertexts in their order, where elements lie at even distances."""
    _, tiles, slots = place.part_places()
    found = in_strides(place.slots, tiles, slots, garbage=garbage) if place.is_real else None
    if found is None or found[1] != [*range(place.ciphertexts)]:
        return None
    return found[0]


def tensors_in(program: Program) -> Sequence[tuple[Port, Any]]:
    """Of each tensor of a program over reals which input it is, and where it lies."""
    return program.packing.tensors_in if isinstance(program.packing, RealPacking) else ()


def _tensors_out(program: Program) -> Sequence[tuple[Port, Any]]:
    return program.packing.tensors_out if isinstance(program.packing, RealPacking) else ()


def _numbers_of(tensors: Sequence[tuple[Port, Any]], name: str) -> list[int]:
    """The numbers of the ciphertexts of a tensor."""
    first = 0
    for port, place in tensors:
        if port.name == name:
            return list(range(first, first + place.ciphertexts))
        first += place.ciphertexts
    return []


def inputs_of(
    program: Program, action: str, at_worst: Callable[..., list[Any]]
) -> tuple[Any, list[Any]] | None:
    """What computes on estimates, and the estimate of every input over reals, by program alone.

    None under schemes without estimates.

    Args:
        program: The program.
        action: What is attempted.
        at_worst: Gives the inputs of the step with the largest errors; see
            `runtime.state.worst_inputs`.

    Raises:
        NoiseExhaustedError: Noise would destroy a result.
        ParametersMismatchError: It follows a program that has other parameters.
    """
    for each in program.after:
        each.require_fit(program, action)
    for backend, inputs in program.scheme.estimators(program.body, program.input_bounds):
        for each in program.after:
            before = dict(enumerate(each.program.estimated_results or ()))
            for number, value in each.taken(program, backend, before, action).items():
                inputs[number] = value
        made = partial(results_of, program, backend)
        return backend, at_worst(program, backend, inputs, made, action)
    return None


def results_of(program: Program, backend: Any, inputs: Sequence[Any]) -> list[Any]:
    """The estimate of every result, of those of inputs."""
    assert isinstance(program.body, SlotProgram)
    return run_in_order(program.body, backend, inputs, program.value_bounds)
