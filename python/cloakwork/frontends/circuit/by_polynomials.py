"""Functions with comparisons, tables and conditions on slots, by polynomials modulo primes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

from cloakwork.errors import (
    CircuitTooDeepError,
    EncryptedConditionError,
    InsecureParametersError,
    InvalidArgumentError,
    SlotMismatchError,
)
from cloakwork.frontends.circuit.engines import first_function
from cloakwork.frontends.circuit.on_slots import packing_of, planned_lanes
from cloakwork.frontends.circuit.result_bits import Results
from cloakwork.frontends.circuit.staging import Staged
from cloakwork.plan.circuits.depth import require_depth, written_depth
from cloakwork.plan.circuits.elements import AlikeElements, elements_of
from cloakwork.plan.circuits.function_ranges import Range
from cloakwork.plan.circuits.scalar import scalar_program
from cloakwork.plan.circuits.to_arithmetic import LEAST_BITS, Arithmetic, arithmetic_of
from cloakwork.plan.parameters.bgv import IntegerOptions, IntegerPlan
from cloakwork.plan.parameters.rings import REFUSALS, cheapest_of
from cloakwork.programs.ir.circuits import ScalarCircuit
from cloakwork.programs.packing.scalar import capacity
from cloakwork.runtime.program import Program
from cloakwork.schemes.bgv import Bgv

# Of the digits of inputs that are compared, from few on; beyond, polynomials cost more.
_DIGIT_BITS = (2, 4, 8)
# An encryption, in products at its level.
_ENCRYPTION = 0.5
# Elements up to which a ciphertext for each may cost less than a ring that holds all of a batch.
_MOST_APART = 16
# Elements from which a run on slots takes less than bits: each takes a bootstrap or more, of about
# 8 ms, and a run on slots a few tenths of a second, however many there are.
_MANY = 64

# What slots may refuse a function with that bits compute.
NOT_FOR_SLOTS = (EncryptedConditionError, SlotMismatchError, *REFUSALS)


class ByPolynomials:
    """A function that is planned number by number, each function in it by a polynomial.

    Args:
        made: What it does.
        after: Results of other programs that it takes, which may be none.
        wrapping: Whether results are to wrap around, which they may not.

    Raises:
        InvalidArgumentError: There are some, or they are.
    """

    def __init__(self, made: Staged, *, after: Mapping[str, Any], wrapping: bool) -> None:
        given = [name for name, value in (("after", after), ("wrapping", wrapping)) if value]
        if given:
            raise InvalidArgumentError(
                f"cannot compile {made.circuit.title} on slots: expected no {given[0]}=, as "
                "comparisons, tables and conditions are polynomials for the ranges of declared "
                "inputs, got some; leave it out, or say on='bits'"
            )
        self._made = made
        self._elements = elements_of(made.circuit)

    @property
    def results(self) -> Results:
        """Its results."""
        return Results.of(self._made.circuit)

    def program(self, bounds: Mapping[str, Range], options: IntegerOptions, **_: object) -> Program:
        """Its program, of inputs within bounds.

        Raises:
            EncryptedConditionError: A function takes integers of too large a range, or several.
            CircuitTooDeepError: No secure ring takes as many products in a row.
        """
        options = replace(options, least_modulus_bits=LEAST_BITS)
        # The polynomials are modulo primes, which depend on the ring.
        groups = [(primes, [*rings]) for primes, rings in groupby(options.rings, options.moduli)]

        refusal: Exception | None = None
        for primes, rings in groups:
            try:
                return self._modulo(primes, bounds, replace(options, rings=rings))
            except (SlotMismatchError, *REFUSALS) as error:
                refusal = error
        assert refusal is not None
        if len(options.rings) > 1 and isinstance(refusal, InsecureParametersError):
            raise CircuitTooDeepError(
                f"cannot compile {self._made.circuit.title} on slots: its comparisons, tables and "
                "conditions multiply more often in a row than the noise of any secure ring of "
                f"degree 2^{options.rings[0]} to 2^{options.rings[-1]} allows; compile it in "
                "parts, or say on='bits', an evaluation a run"
            ) from refusal
        raise refusal

    def _modulo(
        self, primes: tuple[int, ...], bounds: Mapping[str, Range], options: IntegerOptions
    ) -> Program:
        circuit, elements = self._made.circuit, self._elements
        rings = [] if elements is None else _wide_enough(elements, options)
        attempts: list[Callable[[], tuple[IntegerPlan, Arithmetic]]] = []
        if elements is not None and rings:
            options_of_rows = replace(options, rings=rings)
            attempts.append(partial(_by_elements, elements, primes, bounds, options_of_rows))
        is_few = elements is not None and elements.count <= _MOST_APART
        if not attempts or (is_few and options.evaluations > 1):
            attempts.append(partial(_by_numbers, circuit, primes, bounds, options))
        plan, made = cheapest_of(attempts, lambda plan: plan(), lambda found: found[0].cost)
        packing = packing_of(
            self._made.circuit, self._made.form, bounds, plan, options.bits, digits=made.digits
        )
        scheme = Bgv(plan.parameter_sets, public_inputs=options.public_inputs, modular=True)
        return Program(scheme, plan.program, packing, way=self._way(options))

    def _way(self, options: IntegerOptions) -> str:
        asked = "as compile(on=) says"
        if options.evaluations > 1:
            asked = "for batch="
        elif has_many_elements(self._made.circuit):
            asked = "for many elements"
        beyond = first_function(self._made.circuit)
        return f"on slots, {asked}: {beyond} by a polynomial; on bits each takes its own bootstraps"


def has_many_elements(circuit: ScalarCircuit) -> bool:
    """Whether a circuit computes the same of so many elements that slots take less than bits."""
    elements = elements_of(circuit)
    return elements is not None and elements.count >= _MANY


def _wide_enough(elements: AlikeElements, options: IntegerOptions) -> list[int]:
    """The rings in whose rows as many evaluations of all elements fit."""
    return [
        ring
        for ring in options.rings
        if capacity(elements.count, 1 << ring - 1) >= options.evaluations
    ]


def _by_elements(
    elements: AlikeElements,
    primes: Sequence[int],
    bounds: Mapping[str, Range],
    options: IntegerOptions,
) -> tuple[IntegerPlan, Arithmetic]:
    """The plan of one element, with all of them side by side."""
    plan, made = _by_numbers(elements.circuit, primes, bounds, options)
    return replace(plan, slots=elements.placed(plan.slots, made.digits)), made


def _by_numbers(
    circuit: ScalarCircuit,
    primes: Sequence[int],
    bounds: Mapping[str, Range],
    options: IntegerOptions,
) -> tuple[IntegerPlan, Arithmetic]:
    """A plan with a ciphertext for each number."""
    made = _cheapest_arithmetic(circuit, primes, bounds)
    if not options.insecure:
        require_depth(made.circuit, options.modulus_bits, options.rings)
    return planned_lanes([scalar_program(made.circuit)], options), made


def _cheapest_arithmetic(
    circuit: ScalarCircuit, primes: Sequence[int], bounds: Mapping[str, Range]
) -> Arithmetic:
    """A circuit as sums and products, with the digits of inputs that cost least."""
    found: list[Arithmetic] = []
    for bits in _DIGIT_BITS:
        found.append(arithmetic_of(circuit, bounds, primes, bits))
        if not found[-1].digits:
            break
    return min(found, key=_weight)


def _weight(made: Arithmetic) -> float:
    """What products and encryptions cost, about: each as much as there are levels."""
    counts = scalar_program(made.circuit).counts
    return (counts["mul"] + _ENCRYPTION * counts["pack"]) * (2 + written_depth(made.circuit))
