"""Runs a function on symbols and keeps what it does with them as a scalar circuit."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence, Sized
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from cloakwork.base.arguments import shown
from cloakwork.base.source_line import users_line_in
from cloakwork.errors import (
    CircuitRecursionError,
    CloakworkError,
    EncryptedConditionError,
    InputNameError,
    InvalidArgumentError,
)
from cloakwork.frontends.circuit.calls import Call, inlined, stand_in
from cloakwork.frontends.circuit.inputs import Declared, as_integers, signed_range
from cloakwork.frontends.circuit.matrices import whole_input
from cloakwork.frontends.circuit.numpy_functions import of_numpy
from cloakwork.frontends.circuit.products import Products, products_of
from cloakwork.frontends.circuit.symbols import NUMPY_FUNCTIONS, Symbol, Vector, clear_integer
from cloakwork.programs.ir.circuits import CircuitBuilder, ScalarCircuit, evaluate
from cloakwork.programs.ir.tensors import Source
from cloakwork.programs.packing.results import (
    MAX_NESTING,
    MAX_PARTS,
    Form,
    Keyed,
    Known,
    Leaf,
    Sequenced,
    filled,
)
from cloakwork.programs.packing.scalar import MAX_BITS, one_evaluation
from cloakwork.programs.port import Port

# The one output that a circuit has: all results in order.
RESULTS = "results"

NUMPY_FUNCTIONS.append(of_numpy)

_STAND_IN = re.compile(rf"\b({Symbol.__name__}|{Vector.__name__})\b")

# The circuit that is being made; those that are called meanwhile become part of it.
_outer: ContextVar[CircuitBuilder | None] = ContextVar("_outer", default=None)


@dataclass(frozen=True, eq=False)
class Staged:
    """What a function does on encrypted integers.

    Args:
        circuit: What it does with them.
        form: How its results stand in lists, tuples and dicts.
    """

    circuit: ScalarCircuit
    form: Form


@dataclass(frozen=True, eq=False)
class Traced:
    """What a function has returned for symbols, of which products of matrices are still whole.

    Args:
        title: The function's name.
        builder: The circuit so far.
        returned: What it has returned.
        inputs: Its inputs as symbols, vectors and other stand-ins.
    """

    title: str
    builder: CircuitBuilder
    returned: Any
    inputs: Mapping[str, Any]

    @cached_property
    def products(self) -> Products | None:
        """The results as operations on whole matrices; None where they are anything else."""
        wholes = {
            name: each.whole.node
            for name, each in self.inputs.items()
            if isinstance(each, Vector) and each.whole is not None
        }
        sources = {node: name for name, node in wholes.items() if isinstance(node, Source)}
        return products_of(self.title, self.returned, sources)

    @cached_property
    def elements(self) -> Staged | Form:
        """What it does with single integers; the form alone where no result is encrypted."""
        form, results = form_of_returned(self.returned)
        if any(result.builder is not self.builder for result in results):
            raise InvalidArgumentError(
                f"cannot make a program of {self.title}: it returns a symbol of another circuit"
            )
        if not results:
            return form
        self.builder.output(RESULTS, (len(results),), [result.number for result in results])
        return Staged(self.builder.finish(), form)

    @property
    def staged(self) -> Staged:
        """What it does with single integers.

        Raises:
            InvalidArgumentError: It returns something else than integers in lists, tuples and
                dicts, or no encrypted one.
        """
        made = self.elements
        if isinstance(made, Staged):
            return made
        raise InvalidArgumentError(
            f"cannot make a program of {self.title}: it returns no encrypted integer"
        )


def run_on_symbols(function: Callable[..., Any], declared: Mapping[str, Declared]) -> Traced:
    """Run a function once, on symbols for its inputs; see `staged`.

    Example:
        >>> from cloakwork.frontends.circuit.inputs import matrix
        >>> declared = {"a": matrix(2, 3), "b": matrix(3, 2)}
        >>> run_on_symbols(lambda a, b: a @ b, declared).products.multiplications
        12
    """
    return _traced(function, declared, lambda inputs: function(**inputs))


def staged(function: Callable[..., Any], declared: Mapping[str, Declared]) -> Staged:
    """Run a function once, on symbols for its inputs.

    Args:
        function: The function; how often its loops run depends on clear values only.
        declared: Its inputs by name.

    Raises:
        EncryptedConditionError: It uses an encrypted value where only a clear one will do; the
            message names the line.
        CircuitRecursionError: It calls itself without end.
        InvalidArgumentError: It returns something else than integers in lists, tuples and dicts,
            or no encrypted one.

    Example:
        >>> from cloakwork.frontends.circuit.inputs import vector
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
    return run_on_symbols(function, declared).staged


def called(
    function: Callable[..., Any],
    declared: Mapping[str, Declared],
    arguments: tuple[Any, ...],
    named: Mapping[str, Any],
) -> Any:
    """What a function returns for clear integers; within another circuit, a part of that.

    Args:
        function: The function.
        declared: Its encrypted inputs by name.
        arguments: What it is called with by position.
        named: What it is called with by name.

    Raises:
        InputNameError, ShapeMismatchError, NotIntegerError, ValueOutOfRangeError: The arguments
            are not as declared.
        EncryptedConditionError, CircuitRecursionError, InvalidArgumentError: As `staged` raises
            them.

    Example:
        >>> from cloakwork.frontends.circuit.inputs import vector
        >>> called(lambda a: a * 2, {"a": vector(2)}, ([3, 4],), {})
        [6, 8]
    """
    title = function_title(function)
    call = Call(function, title, declared, arguments, named)
    builder = _outer.get()
    if builder is not None:
        return call.run(
            {
                name: inlined(builder, title, name, each, call.inputs[name])
                for name, each in declared.items()
            }
        )
    return in_clear(_traced(function, declared, call.run), declared, call.inputs)


def in_clear(trace: Traced, declared: Mapping[str, Declared], given: Mapping[str, Any]) -> Any:
    """What a traced function returns for clear integers, dates and texts.

    Args:
        trace: What it does with symbols.
        declared: Its encrypted inputs by name.
        given: What it is given for these.

    Raises:
        ShapeMismatchError, NotIntegerError, ValueOutOfRangeError: The inputs are not as declared.

    Example:
        >>> from cloakwork.frontends.circuit.inputs import vector
        >>> declared = {"a": vector(2)}
        >>> in_clear(run_on_symbols(lambda a: a * 2, declared), declared, {"a": [3, 4]})
        [6, 8]
    """
    inputs: dict[str, list[int]] = {}
    for name, each in declared.items():
        port = Port(name, "integer", 0, each.shape, *(each.bounds or signed_range(MAX_BITS)))
        value = as_integers(name, each, given[name])
        inputs[name] = one_evaluation(port, value, f"call {trace.title}")
    if trace.products is not None:
        return trace.products.in_clear(inputs)
    made = trace.elements
    if isinstance(made, Staged):
        return filled(made.form, evaluate(made.circuit, inputs)[RESULTS])
    return filled(made, [])


def _traced(
    function: Callable[..., Any],
    declared: Mapping[str, Declared],
    run: Callable[[Mapping[str, Any]], Any],
) -> Traced:
    builder = CircuitBuilder(function_title(function))
    inputs: dict[str, Any] = {}
    for name, each in declared.items():
        symbols = [
            Symbol(builder, number, each.fraction) for number in builder.input(each.named(name))
        ]
        inputs[name] = _shaped(name, symbols, each)
    returned = _ran(function_title(function), run, inputs, builder)
    return Traced(function_title(function), builder, returned, inputs)


def _ran(
    title: str,
    run: Callable[[Mapping[str, Any]], Any],
    inputs: Mapping[str, Any],
    builder: CircuitBuilder,
) -> Any:
    """What the function returns, with what Python refuses about symbols refused by name."""
    token = _outer.set(builder)
    try:
        return run(inputs)
    except CloakworkError:
        raise
    except RecursionError as error:
        raise CircuitRecursionError(
            f"cannot make a program of {title}: it calls itself without end, or deeper than Python "
            "goes; let the calls end by a clear value, or write a loop"
        ) from error
    except (TypeError, AttributeError) as error:
        if not _STAND_IN.search(str(error)):
            raise
        line = users_line_in(error.__traceback__)
        raise EncryptedConditionError(
            f"cannot use an encrypted integer{f' at {line}' if line else ''} as what it is not: "
            f"{error} (a Symbol stands for an encrypted integer, a Vector for several)"
        ) from error
    finally:
        _outer.reset(token)


def function_title(function: Callable[..., Any]) -> str:
    """The function's name.

    Example:
        >>> function_title(staged)
        'staged'
    """
    return str(getattr(function, "__name__", "function"))


def _shaped(name: str, symbols: Sequence[Symbol], declared: Declared) -> Any:
    if declared.coding:
        return stand_in(symbols, declared)
    whole = None if declared.fraction else whole_input(name, declared.shape)
    match declared.shape:
        case ():
            return symbols[0]
        case (_,):
            return Vector(symbols, whole)
        case _:
            columns = declared.shape[1]
            rows = range(0, len(symbols), columns)
            return Vector([Vector(symbols[start : start + columns]) for start in rows], whole)


def require_parameters(function: Callable[..., Any], declared: Mapping[str, Declared]) -> None:
    """Refuse declared inputs that are not the function's parameters.

    Raises:
        InvalidArgumentError: It is no function, or an input is no argument with a name.
        InputNameError: A parameter without a default is not declared, or a declared input is no
            parameter.

    Example:
        >>> from cloakwork.frontends.circuit.inputs import scalar
        >>> require_parameters(lambda a: a, {"a": scalar()})
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"cannot make a circuit: expected a function, got {shown(function)}"
        ) from error
    unnamed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
    for name, parameter in parameters.items():
        if parameter.kind in unnamed and (
            name in declared or parameter.kind is inspect.Parameter.POSITIONAL_ONLY
        ):
            raise InvalidArgumentError(
                f"cannot make a circuit of {function_title(function)}: expected parameters that "
                f"are given by name, got {parameter}, which is given by position only"
            )
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
            f"cannot make a circuit of {function_title(function)}: expected its parameters "
            f"{', '.join(parameters) or 'none'} to be declared, "
            f"got {', '.join(declared) or 'none'}; write @cw.circuit(name=cw.vector(n), ...)"
        )


def form_of_returned(returned: Any) -> tuple[Form, list[Symbol]]:
    """The form of what a function has returned, and its encrypted scalars in order.

    Raises:
        InvalidArgumentError: It has something else than integers in lists, tuples and dicts.

    Example:
        >>> form_of_returned([1, (2,)])
        (Sequenced(parts=(Known(value=1), Sequenced(parts=(Known(value=2),), is_tuple=True)),
        is_tuple=False), [])
    """
    symbols: list[Symbol] = []
    form = _form(returned, symbols, 0)
    if len(symbols) > MAX_PARTS:
        _refuse(f"up to {MAX_PARTS} encrypted integers in all, got {len(symbols)}")
    return form, symbols


def _form(part: Any, symbols: list[Symbol], nesting: int) -> Form:
    if nesting > MAX_NESTING:
        _refuse(f"at most {MAX_NESTING} lists in one another")
    if isinstance(part, Symbol):
        symbols.append(part)
        return Leaf(len(symbols) - 1, part.is_boolean, part.fraction)
    if isinstance(part, np.ndarray) and part.ndim:
        part = list(part)
    if isinstance(part, Vector | list | tuple):
        _require_parts(part)
        parts = tuple(_form(each, symbols, nesting + 1) for each in part)
        return Sequenced(parts, is_tuple=isinstance(part, tuple))
    if isinstance(part, dict):
        if not all(isinstance(key, str) for key in part):
            _refuse("dicts whose keys are text")
        _require_parts(part)
        return Keyed({key: _form(each, symbols, nesting + 1) for key, each in part.items()})
    number = clear_integer(part)
    if number is not None:
        return Known(number)
    return _refuse(f"encrypted or clear integers, got {shown(part)}")


def _require_parts(part: Sized) -> None:
    if len(part) > MAX_PARTS:
        _refuse(f"up to {MAX_PARTS} parts each, got {len(part)}")


def _refuse(expected: str) -> NoReturn:
    raise InvalidArgumentError(
        f"cannot make a program: expected the function to return lists, tuples or dicts of "
        f"{expected}"
    )
