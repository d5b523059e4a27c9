"""What a design in Verilog is read with: parameters of its top, include folders, defines."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cloakwork.base.arguments import file_path, shown
from cloakwork.errors import FileMissingError, InvalidArgumentError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*", re.ASCII)
# What needs no quotes in a command of Yosys, nor in a file of arguments.
_TEXT = re.compile(r"[A-Za-z0-9_'.+-]*", re.ASCII)
_FOLDER = re.compile(r"[^\s\";]+")
# A parameter without a type is a number of 32 bits.
_LIMIT = 1 << 31


@dataclass(frozen=True, slots=True)
class VerilogOptions:
    """What a design is read with.

    Args:
        parameters: Numbers for parameters of the top, by name.
        include: The folders in which included files are looked for.
        defines: Texts of macros, by name.
    """

    parameters: Mapping[str, int]
    include: Sequence[Path]
    defines: Mapping[str, str]


def verilog_options(
    parameters: Mapping[str, int] | None,
    include: Sequence[str | Path],
    defines: Mapping[str, int | str] | None,
) -> VerilogOptions:
    """The options that a user gives, checked.

    Raises:
        InvalidArgumentError: A name is not one of Verilog, a parameter is not a number of 32 bits,
            a text or a folder has other characters than may be given.
        FileMissingError: There is no such folder.

    Example:
        >>> verilog_options({"W": 8}, [], {"FAST": 1}).defines
        {'FAST': '1'}
    """
    numbers = _named(parameters, "parameters")
    for name, number in numbers.items():
        if type(number) is not int or not -_LIMIT <= number < _LIMIT:
            raise InvalidArgumentError(
                f"cannot read Verilog: expected a number of 32 bits for the parameter {name}, got "
                f"{shown(number)}; give other parameters their values in the design"
            )
    texts = _named(defines, "defines")
    for name, text in texts.items():
        if type(text) not in (int, str) or not _TEXT.fullmatch(str(text)):
            raise InvalidArgumentError(
                f"cannot read Verilog: expected a number or a word for the macro {name}, got "
                f"{shown(text)}; give other macros their texts in the design"
            )
    if isinstance(include, str | bytes) or not isinstance(include, Sequence):
        raise InvalidArgumentError(
            f"cannot read Verilog: expected a list of include folders, got {shown(include)}"
        )
    folders = [file_path(folder, "read").resolve() for folder in include]
    for folder in folders:
        if not folder.is_dir():
            raise FileMissingError(
                f"cannot read Verilog: there is no folder {folder}; give the path of a folder"
            )
        if not _FOLDER.fullmatch(str(folder)):
            raise InvalidArgumentError(
                "cannot read Verilog: expected an include folder without blanks, quotes and "
                f"semicolons in its path, got {folder}; move it"
            )
    return VerilogOptions(
        numbers,
        folders,
        {name: str(text) for name, text in texts.items()},
    )


def _named(given: Any, what: str) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidArgumentError(
            f"cannot read Verilog: expected {what} by their names, got {shown(given)}"
        )
    for name in given:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InvalidArgumentError(
                f"cannot read Verilog: expected {what} by names of Verilog, got {shown(name)}"
            )
    return dict(given)
