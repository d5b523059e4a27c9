"""Exact decisions within functions over reals: numbers leave slots, a circuit decides on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import integer, shown
from cloakwork.base.arrays import real_array
from cloakwork.errors import InvalidArgumentError, NotIntegerError
from cloakwork.frontends.boolean.circuit import Circuit
from cloakwork.frontends.boolean.decisions import table
from cloakwork.frontends.tensors.crossing import decided
from cloakwork.frontends.tensors.tracing import Trace, TracedTensor
from cloakwork.programs.bits_of_numbers import MOST_BITS
from cloakwork.programs.port import Port, PortKind
from cloakwork.runtime.leaving import holds, rounded_safely

Decision: TypeAlias = Circuit | Callable[..., Circuit] | Sequence[Any] | NDArray[Any]
_ACTION = "decide exactly"
_CLEAR = (np.ndarray, np.number, np.bool_, int, float, list, tuple)


def exactly(
    decision: Decision, *, bits: int | None = None, fraction: int | None = None
) -> Callable[..., Any]:
    """A function of tensors that is computed exactly, on bits, within one that is compiled.

    The numbers leave their slots and are rounded, a circuit decides on their bits, and its bits
    come back into slots as zeros and ones, or as the numbers that they are. `cloakwork.compile`
    makes one program of all of it, with one client and one evaluator, which runs the steps before,
    the circuit and the steps after in a row. Each time takes a bootstrap for every bit that leaves,
    those of the circuit, and 12 levels for the way back, whatever levels there were before. What a
    function returns of a circuit stays bits, where it returns nothing else.

    Args:
        decision: A circuit of `cloakwork.boolean`, whose inputs are signed or unsigned; or a
            function of a `cloakwork.Port` for each tensor, which gives one, such as
            `cloakwork.boolean.argmax` or `lambda v: cloakwork.boolean.above(v, 0.5)`; or a table
            as an array of 2^bits integers, which numbers that are rounded look up, negative ones
            from its end, as numpy's indices do.
        bits: Bits of a number, up to 16, where the decision is a function.
        fraction: How many of them are after the point. By default as many as leave the range of
            the numbers before it; 0 for a table.

    Returns:
        A function of as many tensors as the decision has inputs. It returns the tensor that the
        circuit's output is, or a dict of them by the names of several outputs. Of arrays it
        computes the same in the clear; without `fraction` it rounds them by their own range.

    Raises:
        InvalidArgumentError: It is not such a decision, `bits` are missing or out of range, numbers
            do not fit them, the numbers of tensors and inputs differ, or a tensor is not of a
            function that `cloakwork.compile` plans.
        NotIntegerError: An entry of a table is not an integer.
        CloakworkError: What the decision raises.

    Example:
        >>> import numpy as np
        >>> import cloakwork as cw
        >>> top = cw.exactly(lambda v: cw.boolean.above(v, 0.5), bits=6, fraction=4)
        >>> top(np.array([0.25, 0.75, 0.5])).tolist()
        [0.0, 1.0, 0.0]
        >>> def chosen(x, prices):
        ...     return (top(x) * prices).sum()
        >>> program = cw.compile(chosen, (3,), (3,), precision=12)
        >>> [part.name for part in program.parts]
        ['chosen, step 1', 'values above 0.5', 'chosen']
        >>> round(float(program.run_clear([0.25, 0.75, 0.5], [0.1, 0.2, 0.3])), 3)
        0.2
    """
    given = None
    if isinstance(decision, Circuit):
        if bits is not None or fraction is not None:
            raise InvalidArgumentError(
                f"cannot {_ACTION}: expected a circuit alone, whose inputs say their bits, got "
                "bits= or fraction= beside it; leave them out"
            )
        return _Exactly(lambda _: decision, None, None)
    if bits is not None:
        given = integer(bits, "bits", _ACTION, least=1, most=MOST_BITS)
    if fraction is not None:
        fraction = integer(fraction, "fraction", _ACTION, least=0, most=MOST_BITS)
    if callable(decision):
        if given is None:
            raise InvalidArgumentError(
                f"cannot {_ACTION}: expected bits= for the numbers that {shown(decision)} decides "
                f"on, got none; give from 1 to {MOST_BITS} of them"
            )
        function = decision
        return _Exactly(lambda ports: _made(function, ports), given, fraction)
    entries = np.asarray(decision)
    if entries.dtype.kind not in "iub":
        raise NotIntegerError(
            f"cannot {_ACTION}: expected a circuit, a function of a port, or a table of integers, "
            f"got {shown(decision)}; give one of them"
        )
    width = max(1, (entries.size - 1).bit_length()) if given is None else given
    if entries.size != 1 << width or width > MOST_BITS:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected a table of 2^bits entries, for up to {MOST_BITS} bits, "
            f"got {entries.size} entries; fill it up to the next power of two"
        )
    return _Exactly(lambda ports: table(ports[0], entries), width, fraction or 0)


def _made(function: Callable[..., Any], ports: Sequence[Port]) -> Circuit:
    """The circuit of a function of ports."""
    made = function(*ports)
    if not isinstance(made, Circuit):
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected a circuit of {shown(function)}, got {shown(made)}; return "
            "what cloakwork.boolean makes"
        )
    return made


class _Exactly:
    """What `exactly` returns.

    Args:
        circuit: Makes the circuit for ports of the numbers; for a circuit itself they are unknown.
        bits: Bits of a number; None where the circuit says them.
        fraction: Those after the point; None for as many as there may be.
    """

    def __init__(
        self,
        circuit: Callable[[Sequence[Port]], Circuit],
        bits: int | None,
        fraction: int | None,
    ) -> None:
        self._circuit = circuit
        self._bits = bits
        self._fraction = fraction

    def __call__(self, *tensors: Any) -> Any:
        if tensors and all(isinstance(each, _CLEAR) for each in tensors):
            return self._in_the_clear([real_array(each, _ACTION) for each in tensors])
        traced = [each for each in tensors if isinstance(each, TracedTensor)]
        traces = {each.runner for each in traced if isinstance(each.runner, Trace)}
        if len(traced) < len(tensors) or len(traces) != 1:
            got = ", ".join(map(shown, tensors)) or "none"
            raise InvalidArgumentError(
                f"cannot {_ACTION}: expected tensors of a function that cloakwork.compile plans, "
                f"or arrays alone, got {got}; compile what is before by itself, and give its "
                "result to a circuit over bits, by compile(after={name: cloakwork.result(before)})"
            )
        (trace,) = traces
        nodes = [each.node() for each in traced]
        ends = [trace.interval_of(node).ends for node in nodes]
        shapes = [each.shape for each in traced]
        circuit = self._of(shapes, ends, trace.error)
        for port, limits in zip(circuit.gates.inputs, ends, strict=True):
            _require_held(port, *limits, trace.error)
        return _alone(trace.crossed(circuit, nodes))

    def _in_the_clear(self, arrays: Sequence[NDArray[np.float64]]) -> Any:
        """What the circuit decides on the nearest numbers of its inputs."""
        ends = [(float(each.min(initial=0.0)), float(each.max(initial=0.0))) for each in arrays]
        circuit = self._of([each.shape for each in arrays], ends, 0.0)
        names = [port.name for port in circuit.gates.outputs]
        return _alone(dict(zip(names, decided(circuit, arrays), strict=True)))

    def _of(
        self, shapes: Sequence[tuple[int, ...]], ends: Sequence[tuple[float, float]], off: float
    ) -> Circuit:
        """The circuit for numbers of some shapes and ranges, which may be off by so much."""
        ports: list[Port] = []
        if self._bits is not None:
            names = ["values"] if len(shapes) == 1 else [f"values{n}" for n in range(len(shapes))]
            ports = [
                _port(name, shape, self._bits, self._fraction, *limits, off)
                for name, shape, limits in zip(names, shapes, ends, strict=True)
            ]
        circuit = self._circuit(ports)
        inputs = circuit.gates.inputs
        if len(inputs) != len(shapes):
            names = [port.name for port in inputs]
            raise InvalidArgumentError(
                f"cannot {_ACTION}: expected a tensor for each of the inputs {', '.join(names)} of "
                f"{circuit.gates.title}, got {len(shapes)}; give as many"
            )
        for port, shape in zip(inputs, shapes, strict=True):
            if port.kind not in ("signed", "unsigned") or port.shape != shape:
                raise InvalidArgumentError(
                    f"cannot {_ACTION}: expected signed or unsigned numbers of the shape {shape} "
                    f"as an input of {circuit.gates.title}, got {port}; declare it so, or reshape "
                    "the tensor"
                )
        for port in circuit.gates.outputs:
            if port.kind == "bytes":
                raise InvalidArgumentError(
                    f"cannot {_ACTION}: expected outputs of the kinds bits, unsigned and signed, "
                    f"which are numbers, got {port} of {circuit.gates.title}; declare it unsigned"
                )
        return circuit


def _port(
    name: str,
    shape: tuple[int, ...],
    bits: int,
    fraction: int | None,
    low: float,
    high: float,
    off: float,
) -> Port:
    """What holds the numbers of a range, with the most bits after the point."""
    kinds: tuple[PortKind, ...] = "unsigned", "signed"
    points = range(bits, -1, -1) if fraction is None else [fraction]
    ports = [Port(name, kind, bits, shape, fraction=point) for point in points for kind in kinds]
    return next((each for each in ports if holds(each, low, high, off)), ports[-1])


def _require_held(port: Port, low: float, high: float, off: float) -> None:
    """Refuse a port that does not hold all numbers of a range, which may be off by so much."""
    if not holds(port, low, high, off):
        least, greatest = rounded_safely(port, off)
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected {port} to hold numbers from {low:g} to {high:g}, got one "
            f"to which those from {least:g} to {greatest:g} are rounded, with noise; give more "
            "bits or fewer after the point, or scale the numbers down"
        )


def _alone(results: Mapping[str, Any]) -> Any:
    """The one result, or all by name."""
    return next(iter(results.values())) if len(results) == 1 else dict(results)
