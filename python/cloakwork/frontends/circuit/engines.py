"""Whether a function of integers runs on slots or on bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.programs.ir.circuits import Applied, Integer, ScalarCircuit, beyond_arithmetic
from cloakwork.runtime.after import Result

Engine = Literal["slots", "bits"]


def engine_of(
    circuit: ScalarCircuit,
    on: object,
    after: object,
    for_bits: Sequence[str] = (),
    batch: object = 1,
) -> Engine:
    """What computes a function: slots, where these do or are to hold several evaluations, or bits.

    Args:
        circuit: What the function does.
        on: What is asked for; None where nothing is.
        after: Results of other programs by the names of inputs.
        for_bits: The inputs that are for bits: numbers with a point, dates and texts.
        batch: Evaluations that a run is to have slots for.

    Raises:
        InvalidArgumentError: Something else is asked for, or slots for what they do not hold.

    Example:
        >>> from cloakwork.frontends.circuit.inputs import scalar
        >>> from cloakwork.frontends.circuit.staging import staged
        >>> circuit = staged(lambda a: a < 3, {"a": scalar()}).circuit
        >>> engine_of(circuit, None, {})
        'bits'
        >>> engine_of(circuit, None, {}, batch=1000)
        'slots'
    """
    is_for_slots = beyond_arithmetic(circuit) is None or (batch != 1 and not after)
    if on is None:
        given = [*after.values()] if isinstance(after, Mapping) else []
        is_bits = any(isinstance(each, Result) and each.port.is_bits for each in given)
        return "slots" if is_for_slots and not is_bits and not for_bits else "bits"
    if on == "bits":
        return "bits"
    if on != "slots":
        raise InvalidArgumentError(
            f"cannot compile {circuit.title}: expected on='slots' or on='bits', got {shown(on)}"
        )
    if for_bits:
        raise InvalidArgumentError(
            f"cannot compile {circuit.title} on slots: expected integers, got a fixed point, a "
            f"date or text in {', '.join(for_bits)}; leave on= out, or say on='bits'"
        )
    return "slots"


def reason_for_bits(circuit: ScalarCircuit, for_bits: Sequence[str] = ()) -> str:
    """Why a function runs on bits: what in it is neither a sum nor a product, and where.

    Example:
        >>> from cloakwork.frontends.circuit.inputs import scalar
        >>> from cloakwork.frontends.circuit.staging import staged
        >>> reason_for_bits(staged(lambda a: a + 3, {"a": scalar()}).circuit)
        'on bits, as compile(on=) or after= says'
    """
    if beyond_arithmetic(circuit) is not None:
        return f"on bits, for {first_function(circuit)}; on slots batch= has it"
    if for_bits:
        return f"on bits, for {', '.join(for_bits)}, which slots do not hold"
    return "on bits, as compile(on=) or after= says"


def first_function(circuit: ScalarCircuit) -> str:
    """The first function that is neither a sum nor a product, and the line that asks for it.

    Example:
        >>> from cloakwork.frontends.circuit.inputs import scalar
        >>> from cloakwork.frontends.circuit.staging import staged
        >>> first_function(staged(lambda a: abs(a), {"a": scalar()}).circuit)
        'abs at ...'
    """
    value = beyond_arithmetic(circuit)
    assert value is not None
    line, operation = circuit.origins[value], circuit.operations[value]
    assert isinstance(operation, Applied)
    return f"{operation.function}{f' at {line}' if line else ''}"


def require_none_of_slots(circuit: ScalarCircuit, names: Sequence[str]) -> None:
    """Refuse arguments that say something about slots, for a function on bits.

    Raises:
        InvalidArgumentError: There are some.
    """
    if names:
        raise InvalidArgumentError(
            f"cannot compile {circuit.title}: expected no "
            f"{', '.join(f'{name}=' for name in names)} for a program on bits, got some; it is "
            f"{reason_for_bits(circuit)}; leave them out"
        )


def without_dead_functions(circuit: ScalarCircuit) -> ScalarCircuit:
    """A circuit of sums and products, for which no result needs its other functions."""
    kept = tuple(Integer(0) if isinstance(each, Applied) else each for each in circuit.operations)
    return replace(circuit, operations=kept)
