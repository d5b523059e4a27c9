"""Functions of integers as programs over bits: comparisons, division, tables and all the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError, ResultOverflowError
from cloakwork.frontends.circuit.engines import reason_for_bits
from cloakwork.frontends.circuit.inputs import Declared, for_bits, signed_range
from cloakwork.frontends.circuit.staging import Staged
from cloakwork.plan.boolean.to_program import program_of_gates
from cloakwork.plan.circuits.function_ranges import Range
from cloakwork.plan.circuits.ranges import value_ranges
from cloakwork.plan.circuits.to_gates import gates_of
from cloakwork.programs.gates import GateProgram
from cloakwork.programs.packing.bit_integers import (
    BitIntegerPacking,
    output_ports,
    port_within,
    with_bits_after_point,
)
from cloakwork.programs.packing.codings import decoded
from cloakwork.programs.packing.scalar import fits_signed
from cloakwork.programs.port import Port
from cloakwork.runtime.after import ResultOf
from cloakwork.runtime.program import Program
from cloakwork.runtime.self_check import drawn

_ACTION = "compile a circuit"


def compiled_on_bits(
    made: Staged,
    declared: Mapping[str, Declared],
    bits: int | None,
    after: Mapping[str, ResultOf],
    **options: Any,
) -> Program:
    """The program on ciphertexts of bits that a staged function is.

    Args:
        made: What the function does.
        declared: Its inputs by name.
        bits: Results, and inputs that say no range, are signed numbers of so many bits; None
            where all inputs say one, and results have as many bits as follow.
        after: Results of other programs by the names of the inputs that they are.
        options: What else `program_of_gates` takes.

    Raises:
        InvalidArgumentError: An input has no range, or not that of the result that it is.
        ResultOverflowError: A result may have more bits, or a number more than any may have.
        ValueOutOfRangeError: The count of a shift, or an exponent, may be negative.
        IndexOutOfRangeError: The number of an item may be of none.
    """
    gates = gates_of_function(made, declared, bits, after)
    program = program_of_gates(gates, after=after, **options)
    packing = BitIntegerPacking(program.inputs, program.outputs, made.form)
    way = reason_for_bits(made.circuit, for_bits(declared))
    return replace(program, packing=packing, way=way)


def gates_of_function(
    made: Staged,
    declared: Mapping[str, Declared],
    bits: int | None = None,
    after: Mapping[str, ResultOf] = MappingProxyType({}),
) -> GateProgram:
    """The gates that a staged function is; it raises what `compiled_on_bits` raises.

    Example:
        >>> from cloakwork.frontends.circuit.inputs import vector
        >>> from cloakwork.frontends.circuit.staging import staged
        >>> declared = {"a": vector(2, bits=8)}
        >>> gates = gates_of_function(staged(lambda a: a[0] < a[1], declared), declared)
        >>> print(*gates.inputs, *gates.outputs)
        a: 2 x signed, 8 bits result: unsigned, 1 bit
    """
    inputs = [_input(name, each, bits, after.get(name)) for name, each in declared.items()]
    bounds = {port.name: _bounds(port) for port in inputs}
    ranges = value_ranges(made.circuit, bounds)
    (results,) = made.circuit.outputs
    if bits is not None:
        for number, value in enumerate(results.values):
            _require_bits(made.circuit.title, number, ranges[value], bits)
    outputs, first = [], 0
    for port in output_ports(made.form, [ranges[value] for value in results.values]):
        outputs.append((port, results.values[first : first + port.count]))
        first += port.count
    return gates_of(made.circuit, inputs, ranges, outputs)


def integer_ports(inputs: Sequence[Port]) -> list[Port]:
    """Inputs over bits as the integers that they hold, and those with a point as they are.

    Example:
        >>> print(*integer_ports([Port("x", "signed", 4)]))
        x: one, integers from -8 to 7
    """
    return [
        each if each.fraction else Port(each.name, "integer", 0, each.shape, *_bounds(each))
        for each in inputs
    ]


def values_drawn(inputs: Sequence[Port]) -> Iterator[dict[str, Any]]:
    """What a client may give for inputs over bits: integers, numbers with a point, dates, texts."""
    codings = {port.name: port for port in inputs if port.coding}
    for values in drawn(integer_ports(inputs)):
        own = {name: decoded(port, values[name]) for name, port in codings.items()}
        yield {**values, **own}


def _input(name: str, declared: Declared, bits: int | None, result: ResultOf | None) -> Port:
    """An input as a number of bits, with the bounds that a client holds it to."""
    if result is not None:
        assert result.program is not None
        given = next(each for each in result.program.outputs if each.name == result.result)
        if given.fraction != declared.fraction:
            raise InvalidArgumentError(
                f"cannot {_ACTION}: expected {name!r} with {given.fraction} bits after the point, "
                f"as {result.result} of {result.program.name} has, got {declared.fraction}"
            )
        if given.is_bits and given.shape == declared.shape:
            return replace(given, name=name)
    bounds = declared.bounds or (None if bits is None else signed_range(bits))
    if bounds is None:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected the range of the input {name!r}, got none, and numbers "
            "on bits are as wide as ranges ask for; declare it, such as by "
            "cw.scalar(bounds=(0, 100)), or compile with bits="
        )
    port = port_within(name, declared.shape, *bounds)
    if declared.fraction:
        return with_bits_after_point(port, declared.fraction)
    # What leaves slots may be anywhere within the bits.
    if result is not None:
        return port
    return replace(port, low=bounds[0], high=bounds[1], coding=declared.coding)


def _bounds(port: Port) -> Range:
    if port.low is not None and port.high is not None:
        return int(port.low), int(port.high)
    if port.kind == "signed":
        return signed_range(port.width)
    if port.kind != "unsigned":
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected an integer as the input {port.name!r}, got {shown(port)}"
        )
    return 0, (1 << port.width) - 1


def _require_bits(title: str, number: int, found: Range, bits: int) -> None:
    if not fits_signed(found, bits):
        raise ResultOverflowError(
            f"cannot compile {title}: expected results that are signed numbers of {bits} bits, and "
            f"result {number} may be from {shown(found[0])} to {shown(found[1])}; compile without "
            "bits=, for results as wide as that, or declare narrower bounds of inputs"
        )
