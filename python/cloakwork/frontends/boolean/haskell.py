"""Haskell functions as gate programs, by way of Clash and Yosys.

C. P. R. Baaij, Clash, https://clash-lang.org/
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from cloakwork.base.arguments import file_path, positive, shown
from cloakwork.errors import (
    FileMissingError,
    InvalidArgumentError,
    SynthesisTimeoutError,
    VerilogError,
)
from cloakwork.frontends.boolean.clash import TITLE, ClashRun, run_clash
from cloakwork.frontends.boolean.haskell_modules import lay_out, read_source
from cloakwork.frontends.boolean.haskell_names import Name, argument_names
from cloakwork.frontends.boolean.haskell_ports import require_ports_of_bits, with_haskell_ports
from cloakwork.frontends.boolean.haskell_refusals import (
    refused_run,
    refused_type,
    refused_warning,
)
from cloakwork.frontends.boolean.haskell_types import HaskellSignature, read_signature
from cloakwork.frontends.boolean.verilog import from_verilog
from cloakwork.programs.gates import GateProgram

_VARIABLE = re.compile(r"[a-z_][A-Za-z0-9_']*", re.ASCII)


def from_haskell(
    path: str | Path,
    top: str,
    yosys: str | Path | None = None,
    timeout: float = 600,
) -> GateProgram:
    """Read a function of a Haskell module; modules beside it are found.

    Arguments and result become ports as their types say: of a record one for each component, of a
    type with several constructors the number of the constructor and what each of them holds.

    Arguments and errors are those of `circuit.from_haskell`.
    """
    path = file_path(path, "read").absolute()
    if not isinstance(top, str) or not _VARIABLE.fullmatch(top):
        raise InvalidArgumentError(
            f"cannot read Haskell: expected the name of a function, got {shown(top)}"
        )
    timeout = positive(timeout, "timeout", "read Haskell")
    if not path.is_file():
        raise FileMissingError(
            f"cannot read Haskell: there is no file {path}; give the path of a file"
        )
    names = argument_names(read_source(path), top)
    with TemporaryDirectory(prefix="cloakwork") as scratch:
        copies = Path(scratch) / "design"
        copies.mkdir()
        module, folders = lay_out(path, copies)
        run = run_clash(module, top, folders, Path(scratch), timeout)
        signature = _signature(run, module, top, names)
        try:
            program = from_verilog(run.verilog, TITLE, yosys, timeout)
        except (SynthesisTimeoutError, VerilogError) as error:
            raise type(error)(
                f"cannot read {path.name}: Yosys makes no gates of Clash's {top}: {error}"
            ) from error
    return with_haskell_ports(program, top, names, signature)


def _signature(run: ClashRun, module: str, top: str, names: Sequence[Name]) -> HaskellSignature:
    """The types of the function; a refusal of Clash is raised."""
    if run.refused.exists():
        raise refused_type(module, top, names, json.loads(run.refused.read_text(encoding="utf-8")))
    if not run.meanings.exists():
        raise refused_run(module, top, run.messages)
    signature = read_signature(run.types, run.meanings)
    require_ports_of_bits(names, signature)
    if run.returncode:
        raise refused_run(module, top, run.messages)
    if lost := refused_warning(module, top, run.messages):
        raise lost
    return signature
