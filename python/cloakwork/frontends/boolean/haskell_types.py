"""What the bits of a Haskell function's arguments and result mean, as `CloakworkPorts.hs` tells."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cloakwork.frontends.boolean.haskell_names import Name
from cloakwork.programs.ports import PortKind


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number with bits after its point, or nothing but bits."""

    kind: PortKind
    width: int
    fraction: int = 0


@dataclass(frozen=True, slots=True)
class Vector:
    """Elements of one type."""

    length: int
    element: Meaning

    @property
    def width(self) -> int:
        return self.length * self.element.width


@dataclass(frozen=True, slots=True)
class Field:
    """A component of a constructor, with the name that a record gives it."""

    name: str | None
    meaning: Meaning


@dataclass(frozen=True, slots=True)
class Constructor:
    """A constructor, such as `Just` or that of pairs, and what it holds."""

    name: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Constructed:
    """A type with constructors: which one, then what every one of them holds."""

    constructors: tuple[Constructor, ...]
    is_newtype: bool = False

    @property
    def number_width(self) -> int:
        """Bits that tell the constructors apart."""
        return (len(self.constructors) - 1).bit_length()

    @property
    def width(self) -> int:
        fields = (field for each in self.constructors for field in each.fields)
        return self.number_width + sum(field.meaning.width for field in fields)


_QUALIFIER = re.compile(r"\b(?:[A-Z]\w*\.)+(?=[A-Za-z(+*^-])")
_UNIQUE = re.compile(r"\b([a-z]\w*?)_\d+\b")
_KINDED = re.compile(r"[({]([a-z]\w*) :: [^(){}]*[)}]")

Meaning = Scalar | Vector | Constructed


@dataclass(frozen=True, slots=True)
class Signature:
    """What is known of a function: of every argument, and last of the result.

    Args:
        types: As Haskell writes them.
        meanings: Of their bits.
        names: That an annotation gives them; none without one.
    """

    types: tuple[str, ...]
    meanings: tuple[Meaning, ...]
    names: tuple[Name, ...]


def plain_type(told: str) -> str:
    """A type as people write it.

    Example:
        >>> plain_type("GHC.Maybe.Maybe (Clash.Sized.Internal.Unsigned.Unsigned 8)")
        'Maybe (Unsigned 8)'
    """
    without = _UNIQUE.sub(r"\1", _QUALIFIER.sub("", " ".join(told.split())))
    return _KINDED.sub(r"\1", without)


def read_signature(types: Path, meanings: Path) -> Signature:
    """What Clash has written of a function while it compiled it.

    Args:
        types: The file that `CloakworkInstances.hs` writes.
        meanings: The file that `CloakworkPorts.hs` writes.
    """
    told = json.loads(types.read_text(encoding="utf-8"))
    read = json.loads(meanings.read_text(encoding="utf-8"))
    return Signature(
        tuple(plain_type(each) for each in told["types"]),
        tuple(_meaning(each) for each in read),
        tuple(_name(each) for each in told["names"]),
    )


def _meaning(told: Mapping[str, Any]) -> Meaning:
    """
    Example:
        >>> _meaning({"length": 2, "element": {"kind": "signed", "width": 8, "fraction": 3}})
        Vector(length=2, element=Scalar(kind='signed', width=8, fraction=3))
    """
    if "length" in told:
        return Vector(told["length"], _meaning(told["element"]))
    if "kind" in told:
        return Scalar(told["kind"], told["width"], told["fraction"])
    return Constructed(
        tuple(_constructor(each["name"], each["fields"]) for each in told["constructors"]),
        told["newtype"],
    )


def _constructor(name: str, fields: Sequence[Mapping[str, Any]]) -> Constructor:
    return Constructor(
        name, tuple(Field(field["name"], _meaning(field["meaning"])) for field in fields)
    )


def _name(annotated: Any) -> Name:
    """What an annotation says: a name, or a list of one and of those of the components."""
    if isinstance(annotated, str):
        return annotated or None
    whole, *components = annotated
    return [_within(whole, _name(each)) for each in components] or whole or None


def _within(whole: str, name: Name) -> Name:
    if isinstance(name, list):
        return [_within(whole, each) for each in name]
    return f"{whole}_{name}" if whole and name else name
