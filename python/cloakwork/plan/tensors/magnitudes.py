"""The cheapest program of a function, in units where its numbers are large or small."""

from __future__ import annotations

import math
import sys
from dataclasses import replace

from cloakwork.base.arrays import MIN_RIGHT_BITS
from cloakwork.errors import InvalidParametersError
from cloakwork.plan.functions.units import (
    InUnits,
    has_magnitudes,
    in_units,
    outgrows_doubles,
    sizes_of_results,
)
from cloakwork.plan.matmul.integers import IntegerProductOptions
from cloakwork.plan.parameters.ckks import SCALE_BITS
from cloakwork.plan.parameters.rings import same_kind
from cloakwork.plan.reals.options import RealOptions
from cloakwork.plan.tensors.assemble import refusal_of_noise
from cloakwork.plan.tensors.lowerings import cheapest_program
from cloakwork.programs.ir.tensors import TensorFunction
from cloakwork.programs.port import Port
from cloakwork.programs.spec import PlacedSpec
from cloakwork.runtime.program import Program


def program_in_units(
    function: TensorFunction, options: RealOptions | IntegerProductOptions, device: str
) -> Program:
    """The cheapest program found; what lies in ciphertexts already has no units.

    Raises:
        InvalidParametersError: There are none as precise.
    """
    if isinstance(options, IntegerProductOptions):
        return cheapest_program(function, options, device)
    _require_doubles(function, options.title)
    if any(isinstance(spec, PlacedSpec) for spec in function.specs):
        return cheapest_program(function, _absolute(options, function), device)
    if options.relative is None and not has_magnitudes(function, options.precision):
        return cheapest_program(function, options, device)
    if not all(map(math.isfinite, sizes_of_results(function))):
        # A function is not defined on all numbers that it may get, which whoever plans it says.
        return cheapest_program(function, replace(options, relative=None), device)
    made = in_units(function, apart=options.relative is not None)
    precision = _precision(made, options)
    absolute = replace(options, precision=precision, relative=None)
    try:
        program = cheapest_program(made.function, absolute, device)
    except InvalidParametersError as refusal:
        raise same_kind(
            refusal,
            f"{refusal}; numbers are computed in units here, and so is the precision: results are "
            f"up to {_largest(made):.3g}, and relative= says how many bits of them are to be right",
        ) from refusal
    return _with_units(program, made, precision)


def _require_doubles(function: TensorFunction, title: str) -> None:
    """Refuse numbers that may be larger than the largest double."""
    line = outgrows_doubles(function)
    if line is not None:
        raise InvalidParametersError(
            f"cannot compile {title}: by the bounds of the inputs numbers{' at ' * bool(line)}"
            f"{line} may be larger than {sys.float_info.max:.2g}, the largest double; say by "
            "cloakwork.within(x, low, high) how large they are, give inputs tighter bounds, or "
            "samples in place of shapes, cloakwork.compile(f, data)"
        )


def _absolute(options: RealOptions, function: TensorFunction) -> RealOptions:
    """Bits after the point in place of those of results."""
    if options.relative is None:
        return options
    bits = [-math.floor(math.log2(each)) for each in sizes_of_results(function) if each]
    return replace(
        options, precision=max(0, options.relative + max(bits, default=0)), relative=None
    )


def _precision(made: InUnits, options: RealOptions) -> int:
    """Bits after the point that results in units are to have."""
    if options.relative is not None:
        return min(options.relative + made.bits_of_sizes, SCALE_BITS[-1])
    precision = options.precision + made.largest
    if precision + math.log2(max(made.sizes)) < MIN_RIGHT_BITS:
        raise refusal_of_noise(options.title, _largest(made), options.precision)
    if precision > SCALE_BITS[-1]:
        raise InvalidParametersError(
            f"cannot compile {options.title} at a precision of {options.precision} bits: by the "
            f"bounds of the inputs results may be as large as {_largest(made):.3g}, of which "
            f"{precision} bits would be right, more than a scale has; ask for fewer by relative=, "
            "say by cloakwork.within(x, low, high) how large they are, or give inputs tighter "
            "bounds"
        )
    return precision


def _largest(made: InUnits) -> float:
    """The largest absolute value of a result."""
    return max(
        math.ldexp(size, exponent) for size, exponent in zip(made.sizes, made.results, strict=True)
    )


def _with_units(program: Program, made: InUnits, precision: int) -> Program:
    """A program of numbers in units as one of the numbers themselves."""
    packing = program.packing
    error = math.ldexp(program.error or 2.0**-precision, made.largest)
    inputs = zip(packing.inputs, made.inputs, strict=True)
    outputs = zip(packing.outputs, made.results, strict=True)
    return replace(
        program,
        packing=replace(  # type: ignore[type-var]
            packing,
            inputs=tuple(_in_unit(*each) for each in inputs),
            outputs=tuple(_in_unit(*each) for each in outputs),
        ),
        error=error,
        error_bound=error,
    )


def _in_unit(port: Port, exponent: int) -> Port:
    """A port of numbers that are in a unit, for the numbers themselves."""
    low, high = (
        None if end is None else math.ldexp(end, exponent) for end in (port.low, port.high)
    )
    return replace(port, low=low, high=high, exponent=exponent)
