"""The errors that stand for the refusals of Clash and of the modules around a function."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from cloakwork.errors import (
    CloakworkError,
    HaskellError,
    MissingDependencyError,
    NotBitsError,
    SequentialCircuitError,
    TopNotFoundError,
    UnboundedRecursionError,
)
from cloakwork.frontends.boolean.clash import INSTALLED
from cloakwork.frontends.boolean.haskell_names import Name
from cloakwork.frontends.boolean.haskell_types import plain_type

# Advice by the reason that `CloakworkInstances.hs` gives.
_INSTEAD = {
    "real": "expected numbers with a fixed point, SFixed i f or UFixed i f, given as floats",
    "unbounded": "expected a number with a width, Signed n or Unsigned n",
    "list": "expected a Vec, which has a length",
    "function": "expected a function of values: one that has this one filled in",
    "variables": "expected a type without variables",
    "endless": "it holds others of its kind without end; expected types with a number of bits",
    "other": (
        "expected numbers, bits, Vec, tuples, types whose constructors hold such, or an instance "
        "of BitPack"
    ),
}

# GHC quotes names, and writes over lines.
_NO_INSTANCE = re.compile(r"No instance for \((?:\S+ )?(?:BitPack|Port) (.+?)\) arising")
_NO_CIRCUIT = re.compile(
    r"No blackbox found for: (\S+)\. Did|Clash was forced to translate '(\S+)', but"
)
_REAL = re.compile(r"Double|Float")
_LOSS = re.compile(r"Integer: Integer width, 64, is smaller than \w+ width, (\d+)\. Dropping MSBs")
_NO_PRIMITIVES = "No BlackBox definition for"
_RECURSION = "following recursive components"
_SHOWN_LINES = 12
_SHOWN_CHARACTERS = 200


def refused_type(
    module: str, top: str, names: Sequence[Name], refused: Mapping[str, Any]
) -> CloakworkError:
    """The error for a function of a type that cannot be bits.

    Args:
        module: The name of the module.
        top: The name of the function.
        names: Of its arguments.
        refused: As `CloakworkInstances.hs` writes it: the type, the reason and the place.
    """
    reason, typed = refused["reason"], plain_type(refused["type"])
    start = f"cannot read {module}: "
    if reason == "clocked":
        return SequentialCircuitError(
            f"{start}{top} works on signals, which have a clock; expected a function whose result "
            "follows from its arguments alone"
        )
    if refused["place"] == "function":
        restricted = ", which classes restrict" if reason == "constrained" else ""
        return NotBitsError(
            f"{start}{top} has a type with variables in it{restricted}: {typed}; expected one "
            "whose types and widths are all given: give it a signature, or wrap it in a function "
            "that has one"
        )
    within = [plain_type(each) for each in refused["within"]]
    stands = f"; it is part of {', which is part of '.join(within)}" if within else ""
    bracketed = f"({typed})" if "->" in typed else typed
    return NotBitsError(
        f"{start}in the type of {top} stands {bracketed}, which cannot be bits, in "
        f"{_place(refused['place'], names)}{stands}; {_INSTEAD[reason]}"
    )


def _place(place: str, names: Sequence[Name]) -> str:
    """An argument by its name, or the result."""
    if not place.startswith("argument"):
        return "its result"
    number = int(place.split()[1])
    name = names[number] if number < len(names) else None
    return f"the argument {name if isinstance(name, str) else f'x{number}'}"


def refused_run(module: str, top: str, messages: str) -> CloakworkError:
    """The error for messages with which a run of Clash has failed.

    Args:
        module: The name of the module.
        top: The name of the function.
        messages: Those of the run.
    """
    start = f"cannot read {module}: "
    if re.search(rf"does not export .{re.escape(top)}\W", messages):
        return TopNotFoundError(
            f"{start}it exports no function {top}; expected the name of one, which the list of "
            "exports after `module`, where there is one, must hold"
        )
    flat = " ".join(messages.split())
    if found := _NO_INSTANCE.search(plain_type(flat)):
        return NotBitsError(
            f"{start}in the type of {top} stands {found[1]}, which cannot be bits; "
            "expected an instance of BitPack, or a type that no family of types stands for"
        )
    if found := _NO_CIRCUIT.search(flat):
        return _no_circuit(start, top, found[1] or found[2])
    if _NO_PRIMITIVES in messages:
        return MissingDependencyError(
            f"{start}Clash lacks its primitives, which Debian and Ubuntu have in a package of "
            f"their own; {INSTALLED}"
        )
    if _RECURSION in messages:
        return UnboundedRecursionError(
            f"{start}{top}, or what it uses, calls itself, of which Clash can make no circuit; "
            "expected map, foldl, iterate and the like on Vecs, which have a length"
        )
    return HaskellError(f"{start}Clash says:\n{_shown(messages)}")


def _no_circuit(start: str, top: str, primitive: str) -> CloakworkError:
    # GHC calls the worker of a function so.
    function = primitive.rpartition(".")[2].removeprefix("$w")
    if _REAL.search(primitive):
        return NotBitsError(
            f"{start}{top}, or what it uses, computes with Double or Float ({function}), which "
            "cannot be bits; expected SFixed i f or UFixed i f, and integers divided by `div`"
        )
    return HaskellError(
        f"{start}{top}, or what it uses, takes {function}, of which Clash can make no circuit; "
        "expected what Clash.Prelude has: Vecs for lists, numbers for text"
    )


def refused_warning(module: str, top: str, messages: str) -> CloakworkError | None:
    """The error for a warning that the circuit computes something else than the function.

    Args:
        module: The name of the module.
        top: The name of the function.
        messages: Those of a run that succeeded.
    """
    found = _LOSS.search(" ".join(messages.split()))
    if not found:
        return None
    return HaskellError(
        f"cannot read {module}: {top}, or what it uses, makes an Integer of a number of {found[1]} "
        "bits, as fromIntegral does, and Clash computes Integers in 64 bits; expected resize, "
        "extend, truncateB or bitCoerce"
    )


def _shown(messages: str) -> str:
    # Errors within Clash show whole terms, on one line.
    lines = [line.rstrip()[:_SHOWN_CHARACTERS] for line in messages.splitlines() if line.strip()]
    if len(lines) > _SHOWN_LINES:
        lines[_SHOWN_LINES:] = ["..."]
    return "\n".join(lines) or "nothing"
