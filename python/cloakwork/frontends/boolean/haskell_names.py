"""What a Haskell source calls its module and the arguments of a function."""

from __future__ import annotations

import re
from itertools import zip_longest

# A module that does not tell its name has this one.
MAIN = "Main"

# A name, the names of a tuple's components, or None for what has no name.
Name = str | list["Name"] | None

# Strings and characters are kept: what looks like a comment in them is none.
_COMMENT = re.compile(
    r'(?P<kept>"(?:\\.|[^"\\])*"|\'(?:\\.[^\']*|[^\'\\])\')'
    r"|--+(?![!#$%&*+./<=>?@\\^|~:]).*|(?P<open>\{-)|(?P<close>-\})"
)
_MODULE = re.compile(r"^\s*module\s+([A-Z][\w']*(?:\.[A-Z][\w']*)*)", re.MULTILINE)
_TOKEN = re.compile(r"[\w']+|[()\[\]{},]|[^\s\w'()\[\]{},]+")
_VARIABLE = re.compile(r"[a-z_][\w']*")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_LAZINESS = ("!", "~")


def module_name(source: str) -> str:
    """The name in the header of a module, `Main` where there is none.

    Example:
        >>> module_name("-- | Ciphers.\\nmodule Ciphers.Aes (encrypt) where")
        'Ciphers.Aes'
    """
    found = _MODULE.search(_without_comments(source))
    return found[1] if found else MAIN


def argument_names(source: str, function: str) -> list[Name]:
    """The names of a function's arguments in its equations, of the first that names each.

    Returns:
        As many as the longest equation has; none for one without arguments.

    Example:
        >>> argument_names("f _ (a, b) = a\\nf key _ = key", "f")
        ['key', ['a', 'b']]
    """
    equation = re.compile(rf"^{re.escape(function)}(?![\w'])", re.MULTILINE)
    code = _without_comments(source)
    rows = [_patterns(_tokens(code[found.end() :])) for found in equation.finditer(code)]
    return [
        next((name for name in column if name is not None), None) for column in zip_longest(*rows)
    ]


def _without_comments(source: str) -> str:
    kept, depth, end = [], 0, 0
    for found in _COMMENT.finditer(source):
        if not depth:
            kept.append(source[end : found.start()])
        end = found.end()
        if found["open"]:
            depth += 1
        elif found["close"]:
            depth = max(0, depth - 1)
        elif found["kept"] and not depth:
            kept.append(found[0])
    return "".join(kept) + (source[end:] if not depth else "")


def _tokens(code: str) -> list[str]:
    """What stands before the first = or guard; nothing if that is no equation."""
    tokens: list[str] = []
    for found in _TOKEN.finditer(code):
        token = found[0]
        if token in ("=", "|"):
            return tokens
        if token == "::" and _depth(tokens) == 0:
            break
        tokens.append(token)
    return []


def _depth(tokens: list[str]) -> int:
    return sum((token in _CLOSING) - (token in _CLOSING.values()) for token in tokens)


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
        if token == "@" and names:
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
        depth += (tokens[place] in _CLOSING) - (tokens[place] in _CLOSING.values())
        if depth <= 0:
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
    """The name of a pattern between brackets or commas, if it is no constructor's."""
    if "::" in tokens:
        tokens = tokens[: tokens.index("::")]
    names = _patterns(tokens)
    return names[0] if len(names) == 1 else None


def _parts(tokens: list[str]) -> list[list[str]]:
    """What stands between the commas that are in no brackets."""
    parts: list[list[str]] = [[]]
    for place, token in enumerate(tokens):
        if token == "," and _depth(tokens[:place]) == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts
