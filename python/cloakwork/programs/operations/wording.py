"""How the settings of an operation read as text, such as `from {least} to {level}`.

A setting in braces is an integer, or has the form that follows its name, as in `{weights:matrix}`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import cache
from string import Formatter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.tokens import Tokens, quote


class Numbering(Protocol):
    """Numbers arrays by what they hold."""

    def number_of(self, vector: NDArray[Any], /) -> int: ...


class Naming(Protocol):
    """Names what is too long for a line, or writes it out."""

    def vector(self, vector: NDArray[Any], /) -> str: ...

    def diagonals(self, diagonals: Mapping[int, NDArray[Any]], /) -> str: ...

    def matrix(self, matrix: NDArray[np.float64], /) -> str: ...


class Named(Protocol):
    """Takes from a line what a `Naming` wrote."""

    def vector(self, tokens: Tokens, /) -> NDArray[Any]: ...

    def diagonals(self, tokens: Tokens, /) -> Mapping[int, NDArray[Any]]: ...

    def matrix(self, tokens: Tokens, /) -> NDArray[np.float64]: ...


def written(operation: object, wording: str, naming: Naming) -> str:
    """The settings of an operation as text."""
    return "".join(
        before + _written(getattr(operation, name), form, naming)
        for before, name, form in _parts(wording)
    )


def read_settings(wording: str, tokens: Tokens, named: Named) -> Mapping[str, Any]:
    """Take settings from a line of text, by their names."""
    settings: dict[str, Any] = {}
    for before, name, form in _parts(wording):
        for word in before.split():
            tokens.expect(word)
        settings[name] = _read(tokens, form, named)
    return settings


def identity_of(setting: Any, vectors: Numbering) -> Hashable:
    """Equal for settings that are the same."""
    same: Hashable = setting
    if isinstance(setting, SparseDiagonals):
        same = setting.digest()
    elif isinstance(setting, np.ndarray):
        same = (setting.shape, vectors.number_of(setting))
    elif isinstance(setting, Mapping):
        same = tuple(sorted((d, vectors.number_of(each)) for d, each in setting.items()))
    return same


@cache
def _parts(wording: str) -> list[tuple[str, str, str]]:
    """For each setting what stands before it, its name and its form."""
    parts = Formatter().parse(wording)
    return [(before, name or "", form or "") for before, name, form, _ in parts]


def _written(value: Any, form: str, naming: Naming) -> str:
    match form:
        case "quoted":
            return quote(value)
        case "integers":
            return _listed(map(str, value))
        case "reals":
            return _listed(repr(float(each)) for each in value)
        case "vector":
            return naming.vector(value)
        case "diagonals":
            return naming.diagonals(value)
        case "matrix":
            return naming.matrix(value)
        case "row":
            return naming.matrix(value[np.newaxis])
    return str(value)


def _listed(words: Iterable[str]) -> str:
    return f"[{', '.join(words)}]"


def _read(tokens: Tokens, form: str, named: Named) -> Any:
    match form:
        case "quoted":
            return tokens.quoted()
        case "basis":
            if not tokens.accept("monomial"):
                tokens.expect("chebyshev")
                return "chebyshev"
            return "monomial"
        case "integers":
            return tuple(tokens.several(tokens.integer))
        case "reals":
            return tuple(tokens.several(tokens.real))
        case "vector":
            return named.vector(tokens)
        case "diagonals":
            return named.diagonals(tokens)
        case "matrix":
            return named.matrix(tokens)
        case "row":
            return named.matrix(tokens).ravel()
    return tokens.integer()
