"""What a Haskell source calls its module and the arguments of a function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from itertools import zip_longest
from typing import TYPE_CHECKING

from cloakwork.errors import MissingDependencyError

if TYPE_CHECKING:
    from tree_sitter import Node

# A module that does not tell its name has this one.
MAIN = "Main"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A constructor, and the names of what it holds."""

    constructor: str
    names: list[Name]


# A name, the names of a tuple's components or a constructor's, or None for what has no name.
Name = str | list["Name"] | Pattern | None

_NO_CODE = ("comment", "haddock", "pragma")


def module_name(source: str) -> str:
    """The name in the header of a module, `Main` without a header.

    Example:
        >>> module_name("-- | Ciphers.\\nmodule Ciphers.Aes (encrypt) where")
        'Ciphers.Aes'
    """
    headers = [each for each in _root(source).children if each.type == "header"]
    return _part(headers[0], "module", "module") if headers else MAIN


def has_header(source: str) -> bool:
    """Whether a source tells the name of its module."""
    return any(each.type == "header" for each in _root(source).children)


def imported_modules(source: str) -> list[str]:
    """The names of the modules that one imports.

    Example:
        >>> imported_modules("import Clash.Prelude\\nimport qualified Ciphers.Aes as Aes (encrypt)")
        ['Clash.Prelude', 'Ciphers.Aes']
    """
    imports = _root(source).child_by_field_name("imports")
    found = imports.named_children if imports else []
    return [_part(each, "module", "module") for each in found if each.type == "import"]


def code_start(source: str) -> int:
    """Where the first thing stands that is no comment, nor a pragma.

    Example:
        >>> code_start("-- Doubles.\\nf x = 2 * x")
        12
    """
    data = _encoded(source)
    code = [each for each in _root(source).children if each.type not in _NO_CODE]
    return len(data[: code[0].start_byte if code else len(data)].decode(errors="surrogateescape"))


def argument_names(source: str, function: str) -> list[Name]:
    """The names of a function's arguments in its equations, of the first that names each.

    A function that is only another name of one beside it has the names of that one.

    Returns:
        As many as the longest equation has; none for one without arguments.

    Example:
        >>> argument_names("f _ (a, b) = a\\nf key _ = key", "f")
        ['key', ['a', 'b']]
        >>> argument_names("top = pad\\npad (Key k) n = k", "top")
        [Pattern(constructor='Key', names=['k']), 'n']
    """
    declarations = _root(source).child_by_field_name("declarations")
    seen: set[str] = set()
    while declarations and function not in seen:
        seen.add(function)
        named = declarations.named_children
        own = [each for each in named if _part(each, "name", "variable") == function]
        patterns = [each.child_by_field_name("patterns") for each in own]
        rows = [_names(each.named_children) for each in patterns if each]
        if rows:
            return [_first(column) for column in zip_longest(*rows)]
        values = [each.child_by_field_name("match") for each in own]
        aliases = [_part(each, "expression", "variable") for each in values]
        function = next(filter(None, aliases), function)
    return []


def _first(column: Sequence[Name]) -> Name:
    """The first that names the whole, or else a component."""
    named = [name for name in column if name is not None]
    return next((name for name in named if not isinstance(name, Pattern)), next(iter(named), None))


def _encoded(source: str) -> bytes:
    return source.encode(errors="surrogateescape")


@lru_cache(maxsize=8)
def _root(source: str) -> Node:
    if find_spec("tree_sitter_haskell") is None:
        raise MissingDependencyError(
            "cannot read Haskell: it takes a parser; install it by pip install "
            "'cloakwork[boolean]' (the package tree-sitter-haskell)"
        )
    import tree_sitter_haskell  # noqa: PLC0415
    from tree_sitter import Language, Parser  # noqa: PLC0415

    return Parser(Language(tree_sitter_haskell.language())).parse(_encoded(source)).root_node


def _part(node: Node | None, field: str, kind: str) -> str:
    """The text of a part of a node, empty where there is none of this kind."""
    part = node.child_by_field_name(field) if node else None
    return _text(part) if part and part.type == kind else ""


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="surrogateescape")


def _names(nodes: Sequence[Node]) -> list[Name]:
    """The names of patterns that stand one after another."""
    return [_name(each) for each in nodes if each.type not in _NO_CODE]


def _name(pattern: Node) -> Name:
    """The name or names of one pattern."""
    match pattern.type:
        case "variable":
            return _text(pattern)
        case "as":
            return _part(pattern, "bind", "variable")
        case "tuple":
            return _names(pattern.named_children)
        case "apply":
            return _constructor(pattern)
        case "parens" | "strict" | "irrefutable" | "signature":
            inner = pattern.child_by_field_name("pattern")
            return _name(inner) if inner else None
    return None


def _constructor(pattern: Node) -> Name:
    """Of a constructor that is applied to one pattern after another."""
    arguments: list[Node] = []
    while pattern.type == "apply":
        function, argument = pattern.named_children[0], pattern.named_children[-1]
        arguments.insert(0, argument)
        pattern = function
    return Pattern(_text(pattern).rpartition(".")[2], _names(arguments))
