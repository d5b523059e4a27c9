"""What a compiled function of tensors should give: the user's function itself, in numpy."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.frontends.tensors.samples import samples_of
from cloakwork.plan.functions.clear import values_of
from cloakwork.plan.matmul.integers import IntegerProductOptions
from cloakwork.plan.reals.options import RealOptions
from cloakwork.plan.tensors.lower import in_order
from cloakwork.programs.functions import FUNCTIONS
from cloakwork.programs.ir.tensors import Apply, Source, TensorFunction, Within
from cloakwork.programs.packing.bits import bits_of
from cloakwork.programs.packing.results import filled
from cloakwork.programs.phases import PhasePlace
from cloakwork.programs.spec import Spec
from cloakwork.runtime.program import Program
from cloakwork.runtime.self_check import drawn, require_agreement

# Of a step that is repeated, how often it is compared.
_STEPS = 2

Arrays = list[NDArray[Any]]


def require_function(
    program: Program,
    function: Callable[..., Any],
    graph: TensorFunction,
    options: RealOptions | IntegerProductOptions,
) -> None:
    """Refuse the program of a function which in the clear gives other numbers than numpy does.

    Raises:
        PlanMismatchError: Results are off by more than is stated, or their number or shapes differ.
    """
    error, modulus = 0.0, None
    if isinstance(options, RealOptions):
        error = program.error or 2.0**-options.precision
    else:
        modulus = options.modulus

    def once(arguments: Mapping[str, Any]) -> Arrays | None:
        # Where functions are not defined, nothing is compared.
        with np.errstate(all="ignore"):
            exact = values_of(
                graph.results,
                {
                    source: _held(source, spec, arguments[source.name])
                    for source, spec in graph.spec_of.items()
                },
            )
        if not is_meant(graph, exact):
            return None
        results = _in_numpy(function, [np.asarray(arguments[each.name]) for each in graph.sources])
        return [exact[each] for each in graph.results] if results is None else results

    repeated = program.repeated
    if repeated is not None:
        # All steps are planned as one, and two of them show how they follow one another.
        repeated = replace(repeated, times=min(repeated.times, _STEPS))
        program = replace(program, repeated=repeated)

    def meaning(arguments: Mapping[str, Any]) -> Any:
        results = once(arguments)
        for _ in range(1 if repeated is None else repeated.times, 1, -1):
            if results is None:
                break
            names = [each.input for each in repeated.carried] if repeated else []
            results = once({**arguments, **dict(zip(names, results, strict=True))})
        if results is None:
            return None
        if modulus is not None:
            results = [(each + modulus // 2) % modulus - modulus // 2 for each in results]
        # Of another number they have no such form, and are refused as they are.
        return filled(graph.form, results) if len(results) == len(graph.results) else results

    samples = [
        {source.name: array for source, array in zip(graph.sources, arrays, strict=True)}
        for arrays in samples_of(graph.specs)
    ]
    require_agreement(program, meaning, error, chain(samples, drawn(program.inputs)))


def _held(source: Source, spec: Spec, argument: Any) -> NDArray[Any]:
    """What ciphertexts hold of an argument."""
    if isinstance(source.place, PhasePlace):
        bits, _ = bits_of(spec.port(source.name), argument)
        return source.place.phases(bits.astype(np.float64))
    return np.asarray(argument)


def is_meant(graph: TensorFunction, exact: Mapping[Any, NDArray[Any]]) -> bool:
    """Whether numbers are in the ranges that the user gives, and in no gap, and all are finite."""
    for node in in_order(graph.results):
        match node:
            case Within(operand=operand, low=low, high=high, claimed=True):
                if exact[operand].min() < low or exact[operand].max() > high:
                    return False
            case Apply(function=name, operand=operand, gap=gap):
                if gap is not None and np.abs(exact[operand]).min() < gap and FUNCTIONS[name].jumps:
                    return False
    return all(np.isfinite(np.float64(exact[each])).all() for each in graph.results)


def _in_numpy(function: Callable[..., Any], arrays: Sequence[NDArray[Any]]) -> Arrays | None:
    """What a function gives for arrays; None where it takes tensors alone."""
    # Integers may be longer than any word.
    kind = np.result_type(np.float64, *arrays)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            # Bits come as bytes, in which sums and products would wrap around.
            returned = function(*(each.astype(kind) for each in arrays))
            several = returned if isinstance(returned, tuple | list) else [returned]
            return [np.asarray(each, dtype=kind) for each in several]
        except Exception:
            # It is the user's, and may use what arrays lack.
            return None
