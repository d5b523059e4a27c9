"""What a circuit is called with: on clear integers, or within another circuit."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cloakwork.base.arguments import shown
from cloakwork.errors import (
    InputNameError,
    NotIntegerError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.frontends.circuit.dates import EncryptedDate, encrypted_date
from cloakwork.frontends.circuit.inputs import MAX_BITS, Declared, as_integers, signed_range
from cloakwork.frontends.circuit.refusals import at_line
from cloakwork.frontends.circuit.symbols import Symbol, Vector, clear_integer
from cloakwork.frontends.circuit.texts import EncryptedBytes, EncryptedText
from cloakwork.programs.ir.circuits import CircuitBuilder, Integer


class Call:
    """The arguments of a call of a function, those that are declared apart from the rest.

    Args:
        function: The function.
        title: Its name.
        declared: Its encrypted inputs by name.
        arguments: The arguments of the call by position.
        named: Those by name.

    Raises:
        InputNameError: An argument is missing, or there is none of a name.

    Example:
        >>> from cloakwork.frontends.circuit.inputs import scalar
        >>> call = Call(lambda x, n=2: x * n, "multiple", {"x": scalar()}, (5,), {})
        >>> call.inputs, call.run({"x": 7})
        ({'x': 5}, 14)
    """

    def __init__(
        self,
        function: Callable[..., Any],
        title: str,
        declared: Mapping[str, Declared],
        arguments: tuple[Any, ...],
        named: Mapping[str, Any],
    ) -> None:
        self._function = function
        try:
            self._bound = inspect.signature(function).bind(*arguments, **named)
        except TypeError as error:
            raise InputNameError(
                f"cannot call {title}: expected the inputs {', '.join(declared) or 'none'}, "
                f"got others: {error}"
            ) from None
        self._bound.apply_defaults()
        given = {**self._bound.arguments, **self._bound.kwargs}
        missing = [name for name in declared if name not in given]
        if missing:
            raise InputNameError(
                f"cannot call {title}: expected the inputs {', '.join(declared)}, "
                f"got no {', '.join(missing)}"
            )
        self.inputs = {name: given[name] for name in declared}

    def run(self, inputs: Mapping[str, Any]) -> Any:
        """Call the function with these for its inputs."""
        bound = self._bound
        kinds = {name: each.kind for name, each in bound.signature.parameters.items()}
        for name, value in list(bound.arguments.items()):
            if name in inputs:
                bound.arguments[name] = inputs[name]
            elif kinds[name] is inspect.Parameter.VAR_KEYWORD:
                bound.arguments[name] = {key: inputs.get(key, each) for key, each in value.items()}
        return self._function(*bound.args, **bound.kwargs)


def inlined(builder: CircuitBuilder, title: str, name: str, declared: Declared, value: Any) -> Any:
    """What a circuit within another one is given for an input, in its shape.

    Clear integers become encrypted ones, as the input is declared.

    Args:
        builder: The circuit that calls.
        title: The circuit that is called.
        name: Its input.
        declared: The shape of that, and its range.
        value: What it is given.

    Raises:
        ShapeMismatchError: It has another shape.
        NotIntegerError: It holds something else than integers.
        ValueOutOfRangeError: It holds a clear integer outside the range.

    Example:
        >>> from cloakwork.frontends.circuit.inputs import vector
        >>> inlined(CircuitBuilder("outer"), "inner", "a", vector(2), [1, 2])
        Vector([Symbol(Integer(value=1)), Symbol(Integer(value=2))])
    """
    if isinstance(value, Vector) and value.whole and value.shape == declared.shape:
        return value
    if declared.coding:
        return _coded(builder, name, declared, value)
    low, high = declared.bounds or signed_range(MAX_BITS)

    def shaped(part: Any, shape: tuple[int, ...]) -> Symbol | Vector:
        part = part.tolist() if isinstance(part, np.ndarray) else part
        is_list = isinstance(part, Vector | list | tuple)
        if is_list != bool(shape) or (shape and len(part) != shape[0]):
            got = f"a list of {len(part)}" if is_list else shown(part)
            raise ShapeMismatchError(
                f"cannot call {title}{at_line()}: expected {name} of shape {declared.shape}, "
                f"got {got}"
            )
        if shape:
            return Vector([shaped(each, shape[1:]) for each in part])
        return part.with_point(declared.fraction) if isinstance(part, Symbol) else encrypted(part)

    def encrypted(part: Any) -> Symbol:
        number = clear_integer(as_integers(name, declared, part))
        if number is None:
            raise NotIntegerError(
                f"cannot call {title}{at_line()}: expected {name!r} to hold integers, "
                f"got {shown(part)}"
            )
        if not low <= number <= high:
            raise ValueOutOfRangeError(
                f"cannot call {title}{at_line()}: expected {name!r} to hold integers from {low} "
                f"to {high}, got {shown(number)}"
            )
        return Symbol(builder, builder.append(Integer(number)), declared.fraction)

    return shaped(value, declared.shape)


def stand_in(symbols: Sequence[Symbol], declared: Declared) -> Any:
    """What stands for a date, several, a text or bytes of encrypted integers."""
    if declared.coding == "date":
        assert declared.bounds is not None
        dates = [encrypted_date(each, declared.bounds) for each in symbols]
        return dates if declared.shape else dates[0]
    return (EncryptedBytes if declared.coding == "bytes" else EncryptedText)(symbols)


def _coded(builder: CircuitBuilder, name: str, declared: Declared, value: Any) -> Any:
    """A date or a text for a circuit within another one; a clear one becomes an encrypted one."""
    several = value if isinstance(value, list | tuple) else [value]
    if any(isinstance(each, EncryptedDate | EncryptedText | EncryptedBytes) for each in several):
        return value
    numbers = np.ravel(as_integers(name, declared, value)).tolist()
    return stand_in([Symbol(builder, builder.append(Integer(each))) for each in numbers], declared)
