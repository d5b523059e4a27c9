"""The form of what a program returns: which results stand where in lists, tuples and dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from numpy.typing import NDArray

from cloakwork.base.record import added
from cloakwork.programs.packing.fixed_point import with_point
from cloakwork.programs.port import Port

# So deep may lists lie in one another.
MAX_NESTING = 32
# Of one list, and results in all.
MAX_PARTS = 1 << 16


@dataclass(frozen=True, slots=True)
class Leaf:
    """The result with this number, counted from 0.

    Args:
        number: The number.
        is_boolean: Whether it is False or True.
        fraction: Its bits after the point: it is the result divided by 2^fraction.
    """

    number: int
    is_boolean: bool = added(False)
    fraction: int = added(0)


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
    """The form of one result that is returned as it is, or of several as a tuple."""
    leaves = tuple(map(Leaf, range(count)))
    return leaves[0] if count == 1 else Sequenced(leaves, is_tuple=True)


def filled(form: Form, values: Sequence[Any]) -> Any:
    """The results in their form."""
    match form:
        case Leaf(number=number, fraction=fraction) if fraction:
            return with_point(values[number], fraction)
        case Leaf(number=number, is_boolean=is_boolean):
            return bool(values[number]) if is_boolean else values[number]
        case Known(value=value):
            return value
        case Sequenced(parts=parts, is_tuple=is_tuple):
            made = [filled(part, values) for part in parts]
            return tuple(made) if is_tuple else made
        case Keyed(parts=named):
            return {name: filled(part, values) for name, part in named.items()}


def of_some(form: Form, numbers: Sequence[int]) -> Form:
    """The form of some results, by their numbers: those of a dict of which the others are left out.

    Example:
        >>> list(of_some(Keyed({"a": Leaf(0), "b": Leaf(1), "c": Leaf(2)}), [0, 2]).parts)
        ['a', 'c']
    """
    assert isinstance(form, Keyed)
    places = {number: place for place, number in enumerate(numbers)}
    return Keyed(
        {
            name: replace(part, number=places[part.number])
            for name, part in form.parts.items()
            if isinstance(part, Leaf) and part.number in places
        }
    )


def on_leaves(form: Form, results: Any, made: Callable[[int, Any], Any]) -> Any:
    """Results in their form, each as it is made of its number and of what it was.

    Example:
        >>> on_leaves(plain_form(2), ("a", "b"), lambda number, result: result * (number + 1))
        ('a', 'bb')
    """
    match form:
        case Leaf(number=number):
            return made(number, results)
        case Known():
            return results
        case Sequenced(parts=parts, is_tuple=is_tuple):
            found = [on_leaves(*each, made) for each in zip(parts, results, strict=True)]
            return tuple(found) if is_tuple else found
        case Keyed(parts=named):
            return {name: on_leaves(part, results[name], made) for name, part in named.items()}


def arrays_in(results: Any) -> Iterator[NDArray[Any]]:
    """The arrays of results in any form."""
    if not isinstance(results, dict | list | tuple):
        yield results
        return
    for part in results.values() if isinstance(results, dict) else results:
        yield from arrays_in(part)


def integers_of(form: Form) -> Iterator[Leaf | Known]:
    """The integers in a form, in order."""
    if isinstance(form, Leaf | Known):
        yield form
        return
    for part in form.parts.values() if isinstance(form, Keyed) else form.parts:
        yield from integers_of(part)


def result_ports(form: Form, bits: int) -> tuple[Port, ...]:
    """Results of so many bits, with a sign, as ports: one, or one for each name of a dict."""
    limit = 1 << bits - 1
    return tuple(
        Port(name, "integer", 0, shape_of_form(part), -limit, limit - 1)
        for name, part in named_parts(form).items()
    )


def named_parts(form: Form) -> Mapping[str, Form]:
    """The parts of a dict by name, or all as `result`.

    Example:
        >>> list(named_parts(Leaf(0)))
        ['result']
    """
    return form.parts if isinstance(form, Keyed) else {"result": form}


def shape_of_form(form: Form) -> tuple[int, ...]:
    """The shape of parts that make up an array; else how many integers they have."""
    match form:
        case Leaf() | Known():
            return ()
        case Sequenced(parts=parts) if not any(isinstance(part, Keyed) for part in parts):
            shapes = {shape_of_form(part) for part in parts}
            if len(shapes) == 1:
                return (len(parts), *shapes.pop())
    return (max(1, sum(1 for _ in integers_of(form))),)
