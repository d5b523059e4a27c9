"""The ports of a design in SystemVerilog, as slang tells them.

Yosys' reader by way of slang forgets which ports are signed, and the order of ports.

Mike Popoloski, slang, https://sv-lang.com/
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from cloakwork.errors import MissingDependencyError, VerilogError
from cloakwork.frontends.boolean.verilog_options import VerilogOptions
from cloakwork.programs.port import Port


@dataclass(frozen=True, slots=True)
class DeclaredPort:
    """A port of a module.

    Args:
        name: Its name.
        is_signed: Whether its elements are signed.
        width: Bits of an element.
        dimensions: The ranges of an unpacked array, from their left to their right ends.
    """

    name: str
    is_signed: bool
    width: int
    dimensions: tuple[tuple[int, int], ...]

    @property
    def port(self) -> Port:
        """A vector, whose element of the least index comes first, for an array."""
        sizes = self._sizes
        shape = (prod(sizes),) if sizes else ()
        return Port(self.name, "signed" if self.is_signed else "unsigned", self.width, shape)

    def in_order(self, wires: Sequence[Any]) -> list[Any]:
        """The wires of the whole, of which the left end has the most significant, as the port's.

        Example:
            >>> DeclaredPort("x", False, 2, ((0, 2),)).in_order([0, 1, 2, 3, 4, 5])
            [4, 5, 2, 3, 0, 1]
        """
        places = np.arange(len(wires))[::-1].reshape(*self._sizes, self.width)[..., ::-1]
        falling = (axis for axis, (left, right) in enumerate(self.dimensions) if left > right)
        return [wires[place] for place in np.flip(places, tuple(falling)).ravel().tolist()]

    @property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(abs(left - right) + 1 for left, right in self.dimensions)


def slang_arguments(
    paths: Sequence[str], top: str, options: VerilogOptions, include: Sequence[str]
) -> str:
    """What slang is called with, in Yosys as in Python.

    Args:
        paths: The files.
        top: The module that the design is.
        options: What it is read with.
        include: The include folders.
    """
    words = ["--top", top]
    words += [word for folder in include for word in ("-I", folder)]
    words += [word for name, text in options.defines.items() for word in ("-D", f"{name}={text}")]
    words += [
        word for name, number in options.parameters.items() for word in ("-G", f"{name}={number}")
    ]
    escaped = [path.replace("\\", "\\\\").replace('"', '\\"') for path in paths]
    return " ".join(f'"{word}"' for word in [*words, *escaped])


def declared_ports(paths: Sequence[Path], top: str, options: VerilogOptions) -> list[DeclaredPort]:
    """The ports of a module of a design that Yosys has read.

    Raises:
        MissingDependencyError: There is no slang.
        VerilogError: slang finds no such module.
    """
    if find_spec("pyslang") is None:
        raise MissingDependencyError(
            "cannot read SystemVerilog: it takes slang; install it by pip install "
            "'cloakwork[boolean]' (the package pyslang), or give a yosys of yours by yosys="
        )
    from pyslang import driver  # noqa: PLC0415

    slang = driver.Driver()
    slang.addStandardArgs()
    arguments = slang_arguments(
        [str(path.resolve()) for path in paths],
        top,
        options,
        [str(each) for each in options.include],
    )
    if not (
        slang.parseCommandLine(f"slang {arguments}")
        and slang.processOptions()
        and slang.parseAllSources()
    ):
        raise VerilogError(f"cannot read {paths[0].name}: slang does not read it")
    instances = slang.createCompilation().getRoot().topInstances
    found = [instance for instance in instances if instance.name == top]
    if not found:
        raise VerilogError(f"cannot read {paths[0].name}: slang finds no module {top}")
    return [_declared(port) for port in found[0].body.portList]


def _declared(port: Any) -> DeclaredPort:
    typed = port.type
    dimensions: list[tuple[int, int]] = []
    while typed.isUnpackedArray:
        dimensions.append((typed.fixedRange.left, typed.fixedRange.right))
        typed = typed.arrayElementType
    return DeclaredPort(port.name, typed.isSigned, typed.bitstreamWidth, tuple(dimensions))
