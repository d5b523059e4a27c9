"""Runs a function on symbols and keeps what it does with them as a scalar circuit."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cloakwork.errors import InputNameError, InvalidArgumentError, ShapeMismatchError
from cloakwork.frontends.circuit.declared import Declared
from cloakwork.frontends.circuit.returned import form_of
from cloakwork.frontends.circuit.symbols import Symbol, Vector
from cloakwork.programs.circuits import Circuit, CircuitBuilder
from cloakwork.programs.result_form import Form
from cloakwork.runtime.arguments import shown

# The one output that a circuit has: all results in order.
RESULTS = "results"


@dataclass(frozen=True, eq=False)
class Staged:
    """What a function does on encrypted integers.

    Args:
        circuit: What it does with them.
        form: How its results stand in lists, tuples and dicts.
    """

    circuit: Circuit
    form: Form


def staged(function: Callable[..., Any], declared: Mapping[str, Declared]) -> Staged:
    """Run a function once, on symbols for its inputs.

    Args:
        function: The function; its conditions and loops depend on clear values only.
        declared: Its inputs by name.

    Raises:
        EncryptedConditionError: It uses an encrypted value as a condition, as an index, in a
            comparison or a division; the message names the line.
        InvalidArgumentError: It returns something else than integers in lists, tuples and dicts,
            or no encrypted one.

    Example:
        >>> from cloakwork.frontends.circuit.declared import vector
        >>> print(staged(lambda a: a[0] * a[1] + 1, {"a": vector(2)}).circuit)
        <lambda>
          input a: vector of 2, replicated, ungrouped
          %0 = a[0]
          %1 = a[1]
          %2 = %0 * %1
          %3 = 1
          %4 = %2 + %3
          output results: vector of 1 = %4
    """
    builder = CircuitBuilder(title_of(function))
    arguments: dict[str, Any] = {}
    for name, each in declared.items():
        symbols = [Symbol(builder, number) for number in builder.input(each.named(name))]
        arguments[name] = _shaped(symbols, each.shape)
    form, results = form_of(function(**arguments))
    if not results:
        raise InvalidArgumentError(
            f"cannot make a program of {title_of(function)}: it returns no encrypted integer"
        )
    if any(result.builder is not builder for result in results):
        raise InvalidArgumentError(
            f"cannot make a program of {title_of(function)}: it returns a symbol of another circuit"
        )
    builder.output(RESULTS, (len(results),), [result.number for result in results])
    return Staged(builder.finish(), form)


def title_of(function: Callable[..., Any]) -> str:
    """The function's name.

    Example:
        >>> title_of(staged)
        'staged'
    """
    return str(getattr(function, "__name__", "function"))


def _shaped(symbols: Sequence[Symbol], shape: tuple[int, ...]) -> Symbol | Vector:
    match shape:
        case ():
            return symbols[0]
        case (_,):
            return Vector(symbols)
        case _:
            columns = shape[1]
            rows = range(0, len(symbols), columns)
            return Vector([Vector(symbols[start : start + columns]) for start in rows])


def require_parameters(function: Callable[..., Any], declared: Mapping[str, Declared]) -> None:
    """Refuse declared inputs that are not the function's parameters.

    Raises:
        InvalidArgumentError: It is no function.
        InputNameError: A parameter without a default is not declared, or a declared input is no
            parameter.

    Example:
        >>> from cloakwork.frontends.circuit.declared import scalar
        >>> require_parameters(lambda a: a, {"a": scalar()})
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"cannot make a circuit: expected a function, got {shown(function)}"
        ) from error
    kinds = {parameter.kind for parameter in parameters.values()}
    takes_any = inspect.Parameter.VAR_KEYWORD in kinds
    missing = [
        name
        for name, parameter in parameters.items()
        if parameter.default is inspect.Parameter.empty
        and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        and name not in declared
    ]
    unknown = [] if takes_any else [name for name in declared if name not in parameters]
    if missing or unknown:
        raise InputNameError(
            f"cannot make a circuit of {title_of(function)}: expected its parameters "
            f"{', '.join(parameters) or 'none'} to be declared, "
            f"got {', '.join(declared) or 'none'}; write @cw.circuit(name=cw.vector(n), ...)"
        )


def require_inlined(name: str, declared: Declared, value: Any) -> Any:
    """What a circuit that is called by another one is given for an input, in its shape.

    Raises:
        ShapeMismatchError: It has another shape.

    Example:
        >>> from cloakwork.frontends.circuit.declared import vector
        >>> require_inlined("a", vector(2), [1, 2])
        [1, 2]
    """
    if _shape_of(value) != declared.shape:
        raise ShapeMismatchError(
            f"cannot call a circuit: expected {name} of shape {declared.shape}, got "
            f"{_shape_of(value)}"
        )
    return value


def _shape_of(value: Any) -> tuple[int, ...]:
    if isinstance(value, Vector | list | tuple):
        return (len(value), *(_shape_of(value[0]) if len(value) else ()))
    return ()
