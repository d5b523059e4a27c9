"""The ports of a wrapped Haskell function, as the types of its arguments and result say.

Clash packs what comes first into the most significant bits: element 0 of a vector, the first
component of a tuple.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import NotBitsError
from cloakwork.frontends.boolean.haskell_names import Name
from cloakwork.programs.gates import GateProgram
from cloakwork.programs.port import Port, PortKind

_RESULT = "out"
_KINDS: dict[str, PortKind] = {"b": "bits", "o": "bits", "u": "unsigned", "s": "signed"}
_BYTE = "b8"

_GivenName = str | list["_GivenName"]


@dataclass(frozen=True, slots=True)
class _Part:
    """A port and where each of its bits stands in the packed value, 0 the least significant."""

    port: Port
    places: NDArray[np.int64]

    def moved(self, distance: int) -> _Part:
        return replace(self, places=self.places + distance)


def with_haskell_ports(program: GateProgram, title: str, names: Sequence[Name]) -> GateProgram:
    """The program with the ports of the function that was wrapped.

    Args:
        program: One whose ports are named as `CloakworkPorts.hs` names them.
        title: The name of the function.
        names: Of its arguments.

    Raises:
        NotBitsError: A type has no bits.
        InvalidProgramError: Two arguments have one name.

    Example:
        >>> from cloakwork.programs.gates import GateBuilder
        >>> builder = GateBuilder("", [Port("x0$v2_u3$", "unsigned", 6)])
        >>> builder.output(Port("x1$t2_b8_s4$", "unsigned", 12), [0] * 12)
        >>> print(with_haskell_ports(builder.finish(), "f", ["pair"]))
        f
          input pair: 2 x unsigned, 3 bits
          output out_0: bits, 8 bits
          output out_1: signed, 4 bits
          0 gates
    """
    _require_all(program)
    inputs, input_places = _ports(program.inputs, names)
    outputs, output_places = _ports(program.outputs, [_RESULT])
    # Where the bits of the old inputs are among those of the new ones.
    values = np.arange(program.input_bits + program.gate_count, dtype=np.uint32)
    values[input_places] = np.arange(program.input_bits, dtype=np.uint32)
    return GateProgram(
        title,
        inputs,
        outputs,
        program.kinds,
        values[program.operands],
        program.tables,
        values[program.output_values][output_places],
    )


def _require_all(program: GateProgram) -> None:
    """Clash leaves out ports without bits."""
    numbers = [_number(port) for port in (*program.inputs, *program.outputs)]
    if not program.outputs:
        raise NotBitsError("cannot make the result's port: its type has no bits")
    for wanted, number in enumerate(numbers):
        if number != wanted:
            raise NotBitsError(f"cannot make the port of argument {wanted}: its type has no bits")


def _number(port: Port) -> int:
    return int(port.name.removeprefix("x").partition("$")[0])


def _ports(
    packed: Sequence[Port], names: Sequence[Name]
) -> tuple[tuple[Port, ...], NDArray[np.int64]]:
    """The ports that packed ones stand for, and where each of their bits is in these."""
    parts: list[_Part] = []
    start = 0
    for number, port in enumerate(packed):
        _, code, *annotated = port.name.split("$")
        given = names[number] if number < len(names) else None
        name = _filled(_annotated(annotated) or given, f"x{number}")
        parts += [part.moved(start) for part in _parts(deque(code.split("_")), name)]
        start += port.bits
    places = [part.places for part in parts]
    return tuple(part.port for part in parts), np.concatenate([np.empty(0, np.int64), *places])


def _annotated(names: list[str]) -> Name:
    """What an annotation says: a name, or after it those of the components."""
    whole, *components = names
    return [f"{whole}_{each}" if whole else each for each in components] or whole


def _filled(name: Name, missing: str) -> _GivenName:
    """A name where there is none."""
    if isinstance(name, list):
        return [_filled(each, f"{missing}_{place}") for place, each in enumerate(name)]
    return name or missing


def _parts(code: deque[str], name: _GivenName) -> list[_Part]:
    """The ports of one type, whose code is taken away."""
    token = code.popleft()
    letter, number = token[0], int(token[1:])
    if letter in "tv" and number == 0:
        raise NotBitsError(f"cannot make the port {name!r}: its type has no bits")
    if letter == "t":
        return _tuple([_parts(code, each) for each in _component_names(name, number)])
    if letter == "v" and code[0] == _BYTE:
        code.popleft()
        octets = [np.arange(8) + 8 * place for place in reversed(range(number))]
        return [_Part(Port(_text(name), "bytes", 8 * number), np.concatenate(octets))]
    if letter == "v":
        return _vector(_parts(code, name), number)
    return [_Part(Port(_text(name), _KINDS[letter], number), np.arange(number))]


def _component_names(name: _GivenName, count: int) -> list[_GivenName]:
    if isinstance(name, list) and len(name) == count:
        return name
    return [f"{_text(name)}_{place}" for place in range(count)]


def _text(name: _GivenName) -> str:
    return name if isinstance(name, str) else "_".join(_text(each) for each in name)


def _tuple(components: list[list[_Part]]) -> list[_Part]:
    below = sum(_size(component) for component in components)
    parts: list[_Part] = []
    for component in components:
        below -= _size(component)
        parts += [part.moved(below) for part in component]
    return parts


def _vector(element: list[_Part], count: int) -> list[_Part]:
    """A vector of every port of its elements; one of vectors has their rows one after another."""
    size = _size(element)
    starts = [size * place for place in reversed(range(count))]
    return [
        _Part(
            replace(part.port, shape=(count * part.port.count,)),
            np.concatenate([part.places + start for start in starts]),
        )
        for part in element
    ]


def _size(parts: list[_Part]) -> int:
    return sum(part.port.bits for part in parts)
