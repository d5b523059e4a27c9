"""The form of what a program returns: which results stand where in lists, tuples and dicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from numpy.typing import NDArray

from cloakwork.errors import MalformedBytesError
from cloakwork.programs.port import Port

# So deep may lists lie in one another, in files too.
MAX_NESTING = 32
# Of one list, and results in all.
MAX_PARTS = 1 << 16


@dataclass(frozen=True, slots=True)
class Leaf:
    """The result with this number, counted from 0."""

    number: int


@dataclass(frozen=True, slots=True)
class Known:
    """A clear integer that the function returns as it is."""

    value: int


@dataclass(frozen=True, slots=True)
class Sequenced:
    """A list, or a tuple, of parts."""

    parts: tuple[Form, ...]
    is_tuple: bool = False


@dataclass(frozen=True, slots=True)
class Keyed:
    """A dict of parts by name."""

    parts: Mapping[str, Form]


Form: TypeAlias = Leaf | Known | Sequenced | Keyed


def plain_form(count: int) -> Form:
    """The form of one result that is returned as it is, or of several as a tuple.

    Example:
        >>> filled(plain_form(1), [7]), filled(plain_form(2), [7, 8])
        (7, (7, 8))
    """
    leaves = tuple(map(Leaf, range(count)))
    return leaves[0] if count == 1 else Sequenced(leaves, is_tuple=True)


def filled(form: Form, values: Sequence[Any]) -> Any:
    """The results in their form.

    Example:
        >>> filled(Sequenced((Leaf(1), Leaf(0), Known(5))), [7, 8])
        [8, 7, 5]
    """
    match form:
        case Leaf(number=number):
            return values[number]
        case Known(value=value):
            return value
        case Sequenced(parts=parts, is_tuple=is_tuple):
            made = [filled(part, values) for part in parts]
            return tuple(made) if is_tuple else made
        case Keyed(parts=named):
            return {name: filled(part, values) for name, part in named.items()}


def arrays_in(results: Any) -> Iterator[NDArray[Any]]:
    """The arrays of results in any form.

    Example:
        >>> import numpy as np
        >>> [array.size for array in arrays_in({"a": np.zeros(2), "b": [np.zeros(3)]})]
        [2, 3]
    """
    match results:
        case Mapping():
            for part in results.values():
                yield from arrays_in(part)
        case list() | tuple():
            for part in results:
                yield from arrays_in(part)
        case _:
            yield results


def integers_of(form: Form) -> Iterator[Leaf | Known]:
    """The integers in a form, in order.

    Example:
        >>> list(integers_of(Sequenced((Leaf(0), Known(5)))))
        [Leaf(number=0), Known(value=5)]
    """
    match form:
        case Sequenced(parts=parts):
            for part in parts:
                yield from integers_of(part)
        case Keyed(parts=named):
            for part in named.values():
                yield from integers_of(part)
        case _:
            yield form


def result_ports(form: Form, bits: int) -> tuple[Port, ...]:
    """The results as ports: one, or one for each name where they are a dict.

    Args:
        form: Their form.
        bits: Results are signed numbers of so many bits.

    Example:
        >>> [str(port) for port in result_ports(Keyed({"y": Sequenced((Leaf(0), Leaf(1)))}), 8)]
        ['y: 2, integers from -128 to 127']
    """
    named = form.parts if isinstance(form, Keyed) else {"result": form}
    limit = 1 << bits - 1
    return tuple(
        Port(name, "integer", 0, _shape(part), -limit, limit - 1) for name, part in named.items()
    )


def _shape(form: Form) -> tuple[int, ...]:
    """The shape of parts that make up an array; else how many integers they have."""
    match form:
        case Sequenced(parts=(first, *_) as parts):
            shapes = {_shape(part) for part in parts}
            nested = all(not isinstance(part, Keyed) for part in parts)
            if len(shapes) == 1 and nested:
                return (len(parts), *_shape(first))
            return (sum(1 for _ in integers_of(form)),)
        case Sequenced() | Keyed():
            return (max(1, sum(1 for _ in integers_of(form))),)
        case _:
            return ()


def to_facts(form: Form) -> Any:
    """The form as JSON holds it.

    Example:
        >>> to_facts(Sequenced((Leaf(1), Known(5)), is_tuple=True))
        {'tuple': [1, {'known': '5'}]}
    """
    match form:
        case Leaf(number=number):
            return number
        case Known(value=value):
            return {"known": str(value)}
        case Sequenced(parts=parts, is_tuple=is_tuple):
            made = [to_facts(part) for part in parts]
            return {"tuple": made} if is_tuple else made
        case Keyed(parts=named):
            return {"dict": [[name, to_facts(part)] for name, part in named.items()]}


def from_facts(facts: Any, results: int) -> Form:
    """The form that `to_facts` told.

    Args:
        facts: What it made.
        results: How many results there are.

    Raises:
        MalformedBytesError: It is something else, or names a result that does not exist.

    Example:
        >>> from_facts([0, {"known": "5"}], 1)
        Sequenced(parts=(Leaf(number=0), Known(value=5)), is_tuple=False)
    """
    return _read(facts, results, 0)


def _read(facts: Any, results: int, nesting: int) -> Form:
    if nesting <= MAX_NESTING:
        match facts:
            case bool():
                pass
            case int(number) if 0 <= number < results:
                return Leaf(number)
            case {"known": str(digits)} if len(digits) <= 20 and _is_integer(digits):
                return Known(int(digits))
            case {"tuple": list(parts)} if len(parts) <= MAX_PARTS:
                read = tuple(_read(part, results, nesting + 1) for part in parts)
                return Sequenced(read, is_tuple=True)
            case {"dict": list(pairs)} if len(pairs) <= MAX_PARTS:
                return Keyed(dict(_read_pair(pair, results, nesting + 1) for pair in pairs))
            case list(parts) if len(parts) <= MAX_PARTS:
                return Sequenced(tuple(_read(part, results, nesting + 1) for part in parts))
            case _:
                pass
    raise MalformedBytesError("cannot read the form of the results")


def _read_pair(pair: Any, results: int, nesting: int) -> tuple[str, Form]:
    match pair:
        case [str(name), part]:
            return name, _read(part, results, nesting)
        case _:
            raise MalformedBytesError("cannot read the form of the results")


def _is_integer(digits: str) -> bool:
    return digits.isascii() and digits.removeprefix("-").isdecimal()
