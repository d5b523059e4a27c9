"""The types of a Haskell function as kinds, vectors and constructors, read from JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cloakwork.frontends.boolean.haskell_names import Name
from cloakwork.programs.port import PortKind


@dataclass(frozen=True, slots=True)
class HaskellScalar:
    """A number, with a fraction of its bits after the point, or bits without a meaning."""

    kind: PortKind
    width: int
    fraction: int = 0


@dataclass(frozen=True, slots=True)
class HaskellVector:
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
    """A type with constructors: the number of the constructor, then the fields of all of them."""

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

Meaning = HaskellScalar | HaskellVector | Constructed


@dataclass(frozen=True, slots=True)
class HaskellSignature:
    """The arguments of a function and, last, its result.

    Args:
        types: As Haskell writes them.
        meanings: Their kinds and structure.
        names: The names of a `Synthesize` annotation; empty without one.
    """

    types: tuple[str, ...]
    meanings: tuple[Meaning, ...]
    names: tuple[Name, ...]


def plain_type(text: str) -> str:
    """A type as people write it.

    Example:
        >>> plain_type("GHC.Maybe.Maybe (Clash.Sized.Internal.Unsigned.Unsigned 8)")
        'Maybe (Unsigned 8)'
    """
    without = _UNIQUE.sub(r"\1", _QUALIFIER.sub("", " ".join(text.split())))
    return _KINDED.sub(r"\1", without)


def read_signature(types: Path, meanings: Path) -> HaskellSignature:
    """Read the two files that describe a function.

    Args:
        types: The file that `CloakworkInstances.hs` writes.
        meanings: The file that `CloakworkPorts.hs` writes.
    """
    description = json.loads(types.read_text(encoding="utf-8"))
    read = json.loads(meanings.read_text(encoding="utf-8"))
    return HaskellSignature(
        tuple(plain_type(each) for each in description["types"]),
        tuple(_meaning(each) for each in read),
        tuple(_name(each) for each in description["names"]),
    )


def _meaning(description: Mapping[str, Any]) -> Meaning:
    """
    Example:
        >>> _meaning({"length": 2, "element": {"kind": "signed", "width": 8, "fraction": 3}})
        HaskellVector(length=2, element=HaskellScalar(kind='signed', width=8, fraction=3))
    """
    if "length" in description:
        return HaskellVector(description["length"], _meaning(description["element"]))
    if "kind" in description:
        return HaskellScalar(description["kind"], description["width"], description["fraction"])
    return Constructed(
        tuple(_constructor(each["name"], each["fields"]) for each in description["constructors"]),
        description["newtype"],
    )


def _constructor(name: str, fields: Sequence[Mapping[str, Any]]) -> Constructor:
    return Constructor(
        name, tuple(Field(field["name"], _meaning(field["meaning"])) for field in fields)
    )


def _name(annotated: Any) -> Name:
    """A name of an annotation, or a list of one and of those of the components."""
    if isinstance(annotated, str):
        return annotated or None
    whole, *components = annotated
    return [_within(whole, _name(each)) for each in components] or whole or None


def _within(whole: str, name: Name) -> Name:
    if isinstance(name, list):
        return [_within(whole, each) for each in name]
    return f"{whole}_{name}" if whole and name else name
