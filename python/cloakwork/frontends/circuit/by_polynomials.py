"""Functions with comparisons, tables and conditions on slots, by polynomials modulo primes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

from cloakwork.errors import InvalidArgumentError, SlotMismatchError
from cloakwork.frontends.circuit.engines import first_function
from cloakwork.frontends.circuit.on_slots import packing_of, planned
from cloakwork.frontends.circuit.result_bits import Results
from cloakwork.frontends.circuit.staging import Staged
from cloakwork.plan.circuits.depth import require_depth, written_depth
from cloakwork.plan.circuits.function_ranges import Range
from cloakwork.plan.circuits.ranges import result_ranges
from cloakwork.plan.circuits.scalar import scalar_program
from cloakwork.plan.circuits.to_arithmetic import LEAST_BITS, Arithmetic, arithmetic_of
from cloakwork.plan.parameters.bgv import IntegerOptions
from cloakwork.plan.parameters.rings import REFUSALS
from cloakwork.runtime.program import Program
from cloakwork.schemes.bgv import Bgv

# Of the digits of inputs that are compared, from few on; beyond, polynomials cost more.
_DIGIT_BITS = (2, 4, 8)
# An encryption, in products at its level.
_ENCRYPTION = 0.5


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

    @property
    def results(self) -> Results:
        """Its results."""
        circuit = self._made.circuit
        names = [each.name for each in circuit.inputs]
        return Results(circuit.title, names, partial(result_ranges, circuit))

    def program(self, bounds: Mapping[str, Range], options: IntegerOptions, **_: object) -> Program:
        """Its program, of inputs within bounds.

        Raises:
            EncryptedConditionError: A function takes integers of too large a range, or several.
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
        raise refusal

    def _modulo(
        self, primes: tuple[int, ...], bounds: Mapping[str, Range], options: IntegerOptions
    ) -> Program:
        made = self._cheapest_arithmetic(primes, bounds)
        if not options.insecure:
            require_depth(made.circuit, options.modulus_bits, options.rings)
        plan = planned([scalar_program(made.circuit)], options)
        packing = packing_of(
            self._made.circuit, self._made.form, bounds, plan, options.bits, digits=made.digits
        )
        scheme = Bgv(plan.parameter_sets, public_inputs=options.public_inputs, modular=True)
        return Program(scheme, plan.program, packing, way=self._way(options))

    def _cheapest_arithmetic(
        self, primes: tuple[int, ...], bounds: Mapping[str, Range]
    ) -> Arithmetic:
        """Its sums and products, with the digits of inputs that cost least."""
        found: list[Arithmetic] = []
        for bits in _DIGIT_BITS:
            found.append(arithmetic_of(self._made.circuit, bounds, primes, bits))
            if not found[-1].digits:
                break
        return min(found, key=_weight)

    def _way(self, options: IntegerOptions) -> str:
        asked = "as compile(on=) says" if options.evaluations == 1 else "for batch="
        beyond = first_function(self._made.circuit)
        return f"on slots, {asked}: {beyond} by a polynomial; on bits each evaluation is a run"


def _weight(made: Arithmetic) -> float:
    """What products and encryptions cost, about: each as much as there are levels."""
    counts = scalar_program(made.circuit).counts
    return (counts["mul"] + _ENCRYPTION * counts["pack"]) * (2 + written_depth(made.circuit))
