"""What a Haskell source calls its module and the arguments of a function."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

# A module that does not tell its name has this one.
MAIN = "Main"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A constructor, and the names of what it holds."""

    constructor: str
    names: list[Name]


# A name, the names of a tuple's components or a constructor's, or None for what has no name.
Name = str | list["Name"] | Pattern | None

# Strings and characters are kept: what looks like a comment in them is none.
_COMMENT = re.compile(
    r'(?P<kept>"(?:\\.|[^"\\])*"|\'(?:\\.[^\']*|[^\'\\])\')'
    r"|--+(?![!#$%&*+./<=>?@\\^|~:]).*|(?P<open>\{-)|(?P<close>-\})"
)
_MODULE = re.compile(r"^\s*module\s+([A-Z][\w']*(?:\.[A-Z][\w']*)*)", re.MULTILINE)
_IMPORT = re.compile(
    r"^\s*import\s+(?:safe\s+)?(?:qualified\s+)?(?:\"[^\"]*\"\s*)?([A-Z][\w'.]*)", re.MULTILINE
)
_TOKEN = re.compile(r"[\w']+|[()\[\]{},]|[^\s\w'()\[\]{},]+")
_ALIAS = re.compile(r"\s*=\s*([a-z_][\w']*)(?=\s*\Z|\s*\n\S|\s+where\b)")
_VARIABLE = re.compile(r"[a-z_][\w']*")
_CONSTRUCTOR = re.compile(r"[A-Z][\w']*")
_OPERATOR = re.compile(r"[^\w'()\[\]{},]+")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_LAZINESS = ("!", "~")
_AS = "@"


def module_name(source: str) -> str:
    """The name in the header of a module, `Main` without a header.

    Example:
        >>> module_name("-- | Ciphers.\\nmodule Ciphers.Aes (encrypt) where")
        'Ciphers.Aes'
    """
    found = _MODULE.search(_code(source))
    return found[1] if found else MAIN


def has_header(source: str) -> bool:
    """Whether a source tells the name of its module."""
    return _MODULE.search(_code(source)) is not None


def imported_modules(source: str) -> list[str]:
    """The names of the modules that one imports.

    Example:
        >>> imported_modules("import Clash.Prelude\\nimport qualified Ciphers.Aes as Aes (encrypt)")
        ['Clash.Prelude', 'Ciphers.Aes']
    """
    return [found[1] for found in _IMPORT.finditer(_code(source))]


def code_start(source: str) -> int:
    """Where the first thing stands that is no comment, nor a pragma.

    Example:
        >>> code_start("-- Doubles.\\nf x = 2 * x")
        12
    """
    code = _code(source)
    return len(code) - len(code.lstrip())


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
    code = _code(source)
    seen: set[str] = set()
    while function not in seen:
        seen.add(function)
        equation = re.compile(rf"^{re.escape(function)}(?![\w'])", re.MULTILINE)
        starts = [found.end() for found in equation.finditer(code)]
        rows = [_patterns(_tokens(code[start:])) for start in starts]
        if any(rows):
            return [_first(column) for column in zip_longest(*rows)]
        aliases = [found[1] for start in starts if (found := _ALIAS.match(code, start))]
        function = next(iter(aliases), function)
    return []


def _first(column: Sequence[Name]) -> Name:
    """The first that names the whole, or else a component."""
    named = [name for name in column if name is not None]
    return next((name for name in named if not isinstance(name, Pattern)), next(iter(named), None))


def _code(source: str) -> str:
    """The source with blanks for comments."""
    parts, depth, end = [], 0, 0
    for found in _COMMENT.finditer(source):
        parts.append(_if_code(source[end : found.start()], depth))
        parts.append(_if_code(found[0], depth) if found["kept"] else _blank(found[0]))
        end = found.end()
        depth = max(0, depth + bool(found["open"]) - bool(found["close"]))
    return "".join([*parts, _if_code(source[end:], depth)])


def _if_code(text: str, depth: int) -> str:
    return _blank(text) if depth else text


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _tokens(code: str) -> list[str]:
    """What stands before the first = or guard; nothing if that is no equation."""
    tokens: list[str] = []
    depth = 0
    for found in _TOKEN.finditer(code):
        token = found[0]
        if not depth and token in ("=", "|"):
            return tokens
        if not depth and token == "::":
            break
        depth += _step(token)
        tokens.append(token)
    return []


def _depth(tokens: list[str]) -> int:
    return sum(map(_step, tokens))


def _step(token: str) -> int:
    return (token in _CLOSING) - (token in _CLOSING.values())


def _patterns(tokens: list[str]) -> list[Name]:
    """The names of patterns that stand one after another."""
    names: list[Name] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        end = _end(tokens, place)
        if token in _LAZINESS:
            place += 1
            continue
        if token == _AS and names:
            # What is named as a whole keeps that name.
            place = _end(tokens, place + 1)
            continue
        names.append(_name(tokens[place:end]))
        place = end
    return names


def _end(tokens: list[str], start: int) -> int:
    """Behind the pattern that begins here."""
    depth = 0
    for place in range(start, len(tokens)):
        depth += _step(tokens[place])
        # The fields of a record come after its constructor.
        if depth <= 0 and tokens[place + 1 : place + 2] != ["{"]:
            return place + 1
    return len(tokens)


def _name(pattern: list[str]) -> Name:
    """The name or names of one pattern."""
    first = pattern[0]
    if len(pattern) == 1:
        return first if _VARIABLE.fullmatch(first) and first != "_" else None
    if first != "(":
        return None
    parts = _parts(pattern[1:-1])
    names = [_single(part) for part in parts]
    return names[0] if len(names) == 1 else names


def _single(tokens: list[str]) -> Name:
    """The name of a pattern between brackets or commas, or those in a constructor's."""
    if "::" in tokens:
        tokens = tokens[: tokens.index("::")]
    while tokens[1:2] == ["."]:
        tokens = tokens[2:]
    if tokens and _CONSTRUCTOR.fullmatch(tokens[0]):
        return _constructor(tokens[0], tokens[1:])
    names = _patterns(tokens)
    return names[0] if len(names) == 1 else None


def _constructor(name: str, tokens: list[str]) -> Name:
    for place, token in enumerate(tokens):
        if (
            token not in (*_LAZINESS, _AS)
            and _OPERATOR.fullmatch(token)
            and not _depth(tokens[:place])
        ):
            return None
    return Pattern(name, _patterns(tokens)) if tokens and tokens[0] != "{" else None


def _parts(tokens: list[str]) -> list[list[str]]:
    """What stands between the commas that are in no brackets."""
    parts: list[list[str]] = [[]]
    for place, token in enumerate(tokens):
        if token == "," and _depth(tokens[:place]) == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts
