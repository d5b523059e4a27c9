"""Clash as a program that turns Haskell into Verilog: found and run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import TimeoutExpired

from cloakwork.base.progress import announced_steps
from cloakwork.errors import MissingDependencyError, SynthesisTimeoutError
from cloakwork.frontends.boolean.subprocess_group import run_child

# The Verilog module that a design becomes; those of annotated functions have their own names.
TITLE = "cloakwork_wrapper"

_VARIABLE = "CLASH"

INSTALLED = (
    "install Clash: on Debian and Ubuntu by `apt-get install haskell-clash-ghc-utils "
    "libghc-clash-ghc-dev haskell-clash-lib-utils`, elsewhere as https://clash-lang.org tells; "
    f"or name yours by the environment variable {_VARIABLE}"
)

_BESIDE = [
    Path(__file__).with_name(f"Cloakwork{name}")
    for name in ("Instances.hs", "Json.hs", "Ports.hs", ".primitives.yaml")
]
_WRAPPER = "CloakworkTop.hs"
_DESIGN = """{{-# LANGUAGE TemplateHaskell #-}}
module CloakworkDesign (designName) where

import Language.Haskell.TH (Name)
import qualified {module} as Design

designName :: Name
designName = 'Design.{top}
"""
_TOP = """{{-# LANGUAGE TemplateHaskell #-}}
module CloakworkTop where

import Clash.Prelude (pure, (>>))
import CloakworkInstances ()
import CloakworkPorts (onBits, topOf, writeMeanings)
import Language.Haskell.TH.Syntax (runIO)
import qualified {module} as Design

runIO (writeMeanings Design.{top}) >> pure []

cloakworkTop = onBits Design.{top}
{{-# ANN cloakworkTop (topOf "{title}" Design.{top}) #-}}
"""


@dataclass(frozen=True, slots=True)
class ClashRun:
    """A finished run of Clash.

    Args:
        folder: Where it ran.
        returncode: 0 where there is Verilog.
        messages: Its messages.
    """

    folder: Path
    returncode: int
    messages: str

    @property
    def verilog(self) -> list[Path]:
        """The files of the design; the module in them that the function is is `TITLE`."""
        return sorted((self.folder / "verilog").rglob("*.v"))

    @property
    def types(self) -> Path:
        """The types of the function and the names of its annotation, if the module compiles."""
        return self.folder / "types.json"

    @property
    def meanings(self) -> Path:
        """The kinds and structure of the function's arguments and result, if they are bits."""
        return self.folder / "meanings.json"

    @property
    def refused(self) -> Path:
        """The first type that cannot be bits, if there is one."""
        return self.folder / "refused.json"


def run_clash(
    module: str, top: str, folders: Sequence[Path], scratch: Path, timeout: float
) -> ClashRun:
    """Have Clash turn a function into Verilog.

    Args:
        module: The name of the module.
        top: The name of the function.
        folders: That the names of modules start from.
        scratch: A folder of its own.
        timeout: Seconds that it may take.

    Raises:
        SynthesisTimeoutError: Clash took too long.
        MissingDependencyError: There is no Clash.
    """
    for path in _BESIDE:
        shutil.copy(path, scratch)
    for name, text in (("CloakworkDesign.hs", _DESIGN), (_WRAPPER, _TOP)):
        (scratch / name).write_text(text.format(module=module, top=top, title=TITLE))
    # GHC wants `main` of the module that -main-is names. It names none: the design may be Main.
    options = ["--verilog", "-package-env", "-", "-main-is", "CloakworkNone.cloakworkTop", "-v0"]
    options += [f"-i{scratch}", *(f"-i{folder}" for folder in folders)]
    options += ["-outputdir", "objects", "-fclash-hdldir", "verilog"]
    try:
        # Names come quoted the same way in every locale, and files are written in one encoding.
        with announced_steps(f"making Verilog of {module}", total=1):
            command = [_program(), *options, _WRAPPER]
            done = run_child(command, scratch, scratch, timeout, {"LC_ALL": "C.UTF-8"})
    except TimeoutExpired as error:
        raise SynthesisTimeoutError(
            f"cannot read {module}: Clash took more than {timeout:g} s for {top}; give it more by "
            "timeout=, or look for a recursion that does not end, and for Double and Float, of "
            "which Clash can make no circuit"
        ) from error
    except OSError as error:
        raise MissingDependencyError(
            f"cannot read Haskell: cannot start Clash: {error}; {INSTALLED}"
        ) from error
    return ClashRun(scratch, done.returncode, done.stderr)


def _program() -> str:
    named = os.environ.get(_VARIABLE)
    found = shutil.which(named or "clash")
    if found is None:
        tried = (
            f"{_VARIABLE} names {named!r}, which is not a program"
            if named
            else "it is not installed"
        )
        raise MissingDependencyError(f"cannot read Haskell: it takes Clash; {tried}; {INSTALLED}")
    # It starts in another folder.
    return str(Path(found).absolute())
