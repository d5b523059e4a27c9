"""Clash as a program that turns Haskell into Verilog: found, run, and its refusals told."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from subprocess import TimeoutExpired
from typing import NoReturn

from cloakwork.errors import (
    HaskellError,
    MissingDependencyError,
    NotBitsError,
    SequentialCircuitError,
    SynthesisTimeoutError,
    TopNotFoundError,
    UnboundedRecursionError,
)
from cloakwork.frontends.boolean.subprocess_group import run_child

# The Verilog module that a design becomes.
TITLE = "cloakwork"

_VARIABLE = "CLASH"
_WRAPPER = """{{-# LANGUAGE TemplateHaskell #-}}
module CloakworkTop where

import CloakworkPorts
import qualified {module} as Design

topEntity = onBits Design.{top}
{{-# ANN topEntity (topOf "{title}" $(annotatedNames 'Design.{top}) Design.{top}) #-}}
"""
_PORTS = Path(__file__).with_name("CloakworkPorts.hs")
_INSTALLED = (
    "install Clash: on Debian and Ubuntu by `apt-get install haskell-clash-ghc-utils "
    "libghc-clash-ghc-dev haskell-clash-lib-utils`, elsewhere as https://clash-lang.org tells; "
    f"or name yours by the environment variable {_VARIABLE}"
)

# What each refusal of the wrapper comes from. GHC quotes names and writes types over lines.
_CLOCKED = re.compile(r"\b(Signal|Clock|HiddenClockName|KnownDomain)\b")
_NO_BITS = re.compile(r"No instance for \((?:\w+ )?BitPack (.+?)\) arising")
_OPEN_TYPE = re.compile(
    r"Ambiguous type variable|Overlapping instances for Port |No instance for \(?KnownNat \w+0\b"
)
_NO_PRIMITIVES = "No BlackBox definition for"
_RECURSION = "following recursive components"
_QUALIFIER = re.compile(r"\b(?:[A-Z]\w*\.)+(?=[A-Za-z(])")
_SHOWN_LINES = 12


def verilog_of(module: str, top: str, root: Path, scratch: Path, timeout: float) -> list[Path]:
    """Have Clash turn a function into Verilog, with ports as `CloakworkPorts.hs` names them.

    Args:
        module: The name of the module.
        top: The name of the function.
        root: The folder that the names of modules start from.
        scratch: An empty folder.
        timeout: Seconds that it may take.

    Returns:
        The files, in the scratch folder; the module in them that the design is is `TITLE`.

    Raises:
        TopNotFoundError: The module exports no such function.
        NotBitsError: An argument or the result is no bits, or of no fixed type.
        UnboundedRecursionError: The function calls itself.
        SequentialCircuitError: The function works on signals.
        HaskellError: Clash refuses the module for another reason.
        SynthesisTimeoutError: Clash took too long.
        MissingDependencyError: There is no Clash, or not all of it.
    """
    shutil.copy(_PORTS, scratch)
    wrapper = scratch / "CloakworkTop.hs"
    wrapper.write_text(_WRAPPER.format(module=module, top=top, title=TITLE))
    options = ["--verilog", "-package-env", "-", "-main-is", "topEntity", "-v0"]
    options += [f"-i{scratch}", f"-i{root}", "-outputdir", "objects", "-fclash-hdldir", "verilog"]
    try:
        # Names come quoted the same way in every locale.
        done = run_child(
            [_program(), *options, wrapper.name], scratch, timeout, {"LC_ALL": "C.UTF-8"}
        )
    except TimeoutExpired as error:
        raise SynthesisTimeoutError(
            f"cannot read {module}: Clash took more than {timeout:g} s for {top}; give it more by "
            "timeout=, or look for a recursion that does not end"
        ) from error
    except OSError as error:
        raise MissingDependencyError(
            f"cannot read Haskell: cannot start Clash: {error}; {_INSTALLED}"
        ) from error
    if done.returncode:
        _refuse(module, top, done.stderr)
    return sorted((scratch / "verilog").rglob("*.v"))


def _program() -> str:
    named = os.environ.get(_VARIABLE)
    found = shutil.which(named or "clash")
    if found is None:
        tried = f"{_VARIABLE} names {named!r}, which is no program" if named else "there is none"
        raise MissingDependencyError(f"cannot read Haskell: it takes Clash; {tried}; {_INSTALLED}")
    # It starts in another folder.
    return str(Path(found).absolute())


def _refuse(module: str, top: str, told: str) -> NoReturn:
    """Raise what Clash's messages mean."""
    if re.search(rf"does not export .{re.escape(top)}\W", told):
        raise TopNotFoundError(
            f"cannot read {module}: it exports no function {top}; expected the name of one, which "
            "the list of exports after `module`, where there is one, must hold"
        )
    flat = " ".join(told.split())
    in_wrapper = "CloakworkTop.hs:" in told
    if in_wrapper and _CLOCKED.search(flat):
        raise SequentialCircuitError(
            f"cannot read {module}: {top} works on signals, which have a clock; expected a "
            "function whose result follows from its arguments alone"
        )
    plain = _QUALIFIER.sub("", flat)
    if in_wrapper and (found := _NO_BITS.search(plain)):
        raise NotBitsError(
            f"cannot read {module}: in the type of {top} stands {found[1]}, which cannot be bits; "
            "expected BitVector, Unsigned, Signed, Index, Bit, Bool, tuples or Vecs of these, or "
            "types with an instance of BitPack"
        )
    if in_wrapper and _OPEN_TYPE.search(plain):
        raise NotBitsError(
            f"cannot read {module}: {top} has a type with variables in it; expected one whose "
            "widths are all numbers: give it a signature, or wrap it in a function that has one"
        )
    if _NO_PRIMITIVES in told:
        raise MissingDependencyError(
            f"cannot read {module}: Clash lacks its primitives, which Debian and Ubuntu have in a "
            f"package of their own; {_INSTALLED}"
        )
    if _RECURSION in told:
        raise UnboundedRecursionError(
            f"cannot read {module}: {top}, or what it uses, calls itself, of which Clash can make "
            "no circuit; expected map, foldl, iterate and the like on Vecs, which have a length"
        )
    raise HaskellError(f"cannot read {module}: Clash says:\n{_shown(told)}")


def _shown(told: str) -> str:
    lines = [line.rstrip() for line in told.splitlines() if line.strip()]
    if len(lines) > _SHOWN_LINES:
        lines[_SHOWN_LINES:] = ["..."]
    return "\n".join(lines) or "nothing"
