"""The ports of a wrapped Haskell function, as the types of its arguments and result say.

What comes first has the most significant bits: element 0 of a vector, the first component of a
tuple or record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import HaskellError, NotBitsError
from cloakwork.frontends.boolean.haskell_names import Name, Pattern
from cloakwork.frontends.boolean.haskell_types import (
    Constructed,
    Constructor,
    HaskellScalar,
    HaskellSignature,
    HaskellVector,
    Meaning,
)
from cloakwork.programs.gates import GateProgram
from cloakwork.programs.port import Port

_RESULT = "out"
_BYTE = HaskellScalar("bits", 8)


@dataclass(frozen=True, slots=True)
class _Part:
    """A port and where each of its bits stands in the packed value, 0 the least significant."""

    port: Port
    places: NDArray[np.int64]

    def moved(self, distance: int) -> _Part:
        return replace(self, places=self.places + distance)


def with_haskell_ports(
    program: GateProgram, title: str, names: Sequence[Name], signature: HaskellSignature
) -> GateProgram:
    """The program with the ports of the function that was wrapped.

    Args:
        program: One with a port for each argument and one for the result, of all their bits.
        title: The name of the function.
        names: Of its arguments, as its equations have them.
        signature: Of the function.

    Raises:
        HaskellError: The ports of the program have other widths.
        InvalidProgramError: Two ports have one name.

    Example:
        >>> from cloakwork.programs.gates import GateBuilder
        >>> builder = GateBuilder("", [Port("x0", "unsigned", 6)])
        >>> builder.output(Port("out", "unsigned", 4), [0] * 4)
        >>> pair = HaskellVector(2, HaskellScalar("unsigned", 3))
        >>> meanings = (pair, HaskellScalar("signed", 4, fraction=1))
        >>> signature = HaskellSignature(("Vec 2 (Unsigned 3)", "SFixed 3 1"), meanings, ())
        >>> print(with_haskell_ports(builder.finish(), "f", ["pair"], signature))
        f
          input pair: 2 x unsigned, 3 bits
          output out: signed, 4 bits, 1 of them after the point
          0 gates
    """
    *arguments, result = _typed(names, signature)
    inputs, input_places = _ports(program.inputs, arguments)
    outputs, output_places = _ports(program.outputs, [result])
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


def require_ports_of_bits(names: Sequence[Name], signature: HaskellSignature) -> None:
    """Check that every argument and the result have bits: Clash omits ports without bits.

    Args:
        names: Of the arguments, as the function's equations have them.
        signature: Of the function.

    Raises:
        NotBitsError: An argument or the result has no bits.
    """
    for number, each in enumerate(_typed(names, signature)):
        if each.meaning.width:
            continue
        if number == len(signature.meanings) - 1:
            raise NotBitsError(
                f"cannot make the port of the result: its type has no bits: {signature.types[-1]}; "
                "expected one of several values"
            )
        raise NotBitsError(
            f"cannot make the port of argument {_text(each)}: its type has no "
            f"bits: {signature.types[number]}; leave it out"
        )


@dataclass(frozen=True, slots=True)
class _Typed:
    """An argument, the result or a component: its type, its name, and a name in place of None."""

    meaning: Meaning
    name: Name
    missing: str


def _typed(names: Sequence[Name], signature: HaskellSignature) -> list[_Typed]:
    """The arguments and the result. Names of an annotation go before those of equations."""
    count = len(signature.meanings) - 1
    missing = [*(f"x{number}" for number in range(count)), _RESULT]
    nameless: list[Name] = [None] * (count + 1)
    of_equations = [*names[:count], *nameless][: count + 1]
    annotated = [*signature.names, *nameless][: count + 1]
    return [
        _Typed(meaning, of_annotation or of_equation, otherwise)
        for meaning, of_annotation, of_equation, otherwise in zip(
            signature.meanings, annotated, of_equations, missing, strict=True
        )
    ]


def _ports(
    packed: Sequence[Port], typed: Sequence[_Typed]
) -> tuple[tuple[Port, ...], NDArray[np.int64]]:
    """The ports that packed ports are split into, and the place of every bit in the packed ones."""
    widths = [each.meaning.width for each in typed]
    if [port.bits for port in packed] != widths:
        raise HaskellError(
            f"cannot make the ports: expected widths of {widths} bits, got "
            f"{[port.bits for port in packed]} from Clash"
        )
    parts: list[_Part] = []
    start = 0
    for each in typed:
        parts += [part.moved(start) for part in _parts(each)]
        start += each.meaning.width
    places = [part.places for part in parts]
    return tuple(part.port for part in parts), np.concatenate([np.empty(0, np.int64), *places])


def _parts(whole: _Typed) -> list[_Part]:
    """The ports of one type; empty for a type without bits."""
    whole = _bare(whole)
    match whole.meaning:
        case HaskellScalar(width=0) | HaskellVector(length=0):
            return []
        case HaskellScalar(kind, width, fraction):
            port = Port(_text(whole), kind, width, fraction=fraction)
            return [_Part(port, np.arange(width))]
        case HaskellVector(length, element):
            each = _bare(replace(whole, meaning=element))
            return _bytes(whole, length) if each.meaning == _BYTE else _vector(each, length)
        case Constructed(constructors=(only,)):
            return _one_after_another([_parts(each) for each in _components(whole, only)])
        case Constructed(constructors):
            return _choice(whole, constructors)


def _bare(whole: _Typed) -> _Typed:
    """The type inside a newtype, or inside a constructor of one component without a name."""
    match whole.meaning:
        case Constructed((Constructor(name, (field,)),), is_newtype) if (
            is_newtype or field.name is None
        ):
            inner = whole.name
            if isinstance(inner, Pattern) and inner.constructor == name:
                (inner,) = inner.names
            return _bare(replace(whole, meaning=field.meaning, name=inner))
    return whole


def _components(whole: _Typed, constructor: Constructor) -> list[_Typed]:
    """The components of a constructor, named by a pattern, by the fields or by their places."""
    fields = constructor.fields
    names: list[Name] = [None] * len(fields)
    base = _text(whole)
    match whole.name:
        case list(given) | Pattern(constructor.name, given) if len(given) == len(fields):
            names, base = given, whole.missing
    return [
        _Typed(field.meaning, name, f"{base}_{place if field.name is None else field.name}")
        for place, (field, name) in enumerate(zip(fields, names, strict=True))
    ]


def _choice(whole: _Typed, constructors: Sequence[Constructor]) -> list[_Part]:
    """A port for the number of the constructor, and the components of all constructors."""
    base, width = _text(whole), Constructed(tuple(constructors)).number_width
    parts = [[_Part(Port(base, "unsigned", width), np.arange(width))]]
    parts += [
        _parts(_Typed(Constructed((each,)), None, f"{base}_{each.name}")) for each in constructors
    ]
    return _one_after_another(parts)


def _bytes(whole: _Typed, length: int) -> list[_Part]:
    octets = [np.arange(8) + 8 * place for place in reversed(range(length))]
    return [_Part(Port(_text(whole), "bytes", 8 * length), np.concatenate(octets))]


def _one_after_another(components: Sequence[list[_Part]]) -> list[_Part]:
    below = sum(_size(component) for component in components)
    parts: list[_Part] = []
    for component in components:
        below -= _size(component)
        parts += [part.moved(below) for part in component]
    return parts


def _vector(element: _Typed, length: int) -> list[_Part]:
    """A vector of every port of its elements; one of vectors has their rows one after another."""
    parts = _parts(element)
    size = _size(parts)
    starts = [size * place for place in reversed(range(length))]
    return [
        _Part(
            replace(part.port, shape=(length * part.port.count,)),
            np.concatenate([part.places + start for start in starts]),
        )
        for part in parts
    ]


def _text(whole: _Typed) -> str:
    """One name for all of a type."""
    match whole.name:
        case str(name):
            return name
        case list(names):
            return "_".join(
                _text(replace(whole, name=name, missing=f"{whole.missing}_{place}"))
                for place, name in enumerate(names)
            )
    return whole.missing


def _size(parts: Sequence[_Part]) -> int:
    return sum(part.port.bits for part in parts)
