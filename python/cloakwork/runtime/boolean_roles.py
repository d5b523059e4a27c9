"""The two parties of a computation on bits: the client, who has the secret, and the evaluator.

Both hold the bootstrap program, which is public: it says in which encodings every bit is wanted.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cloakwork import _native
from cloakwork._native import (
    BooleanCiphertexts,
    BooleanEvaluationKey,
    BooleanParameters,
    BooleanSecretKey,
)
from cloakwork.errors import (
    InvalidArgumentError,
    ParametersMismatchError,
    ProgramMismatchError,
    ShapeMismatchError,
)
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.ports import Port
from cloakwork.runtime.arguments import integer, optional, shown
from cloakwork.runtime.port_values import bits_of_arguments, results_of_bits
from cloakwork.runtime.progress import progress_bar
from cloakwork.runtime.unpicklable import Unpicklable

# That the engine starts for a run.
MOST_THREADS = 1024


@dataclass(frozen=True, eq=False)
class EncryptedBits(Unpicklable):
    """The encrypted values of some inputs of a program, or of all its outputs.

    Args:
        side: Whether they go into the program or come out of it.
        ports: The ports, in the program's order.
        ciphertexts: Of an input: each bit in every encoding that the program wants. Of an output:
            each bit once.
        program: The fingerprint of the program.
    """

    saved_by = "cw.boolean.save_bits"

    side: Literal["inputs", "outputs"]
    ports: tuple[Port, ...]
    ciphertexts: BooleanCiphertexts
    program: str

    def __repr__(self) -> str:
        names = ", ".join(port.name for port in self.ports)
        return f"EncryptedBits({self.side} {names}; {self.ciphertexts.nbytes} bytes)"


class BooleanClient(Unpicklable):
    """Holds the secret key: encrypts and decrypts bits.

    Args:
        secret: The secret key.
        program: What the bits are for.

    Raises:
        ParametersMismatchError: The program is for other parameters than the key's.

    Example:
        >>> import cloakwork as cw
        >>> client, evaluator = cw.boolean.from_bristol("examples/boolean/adder.txt").keygen()
        >>> client.decrypt(evaluator.run(client.encrypt(x0=1, x1=2)))
        {'y0': 3}
    """

    saved_by = "cw.boolean.save_client"

    def __init__(self, secret: BooleanSecretKey, program: BootstrapProgram) -> None:
        _require_parameters(program, secret.parameters, "make a client")
        self.secret = secret
        self.program = program

    def encrypt(self, /, **inputs: Any) -> EncryptedBits:
        """Encrypt inputs of one run.

        Args:
            inputs: Inputs by name, as `BooleanProgram.run_clear` takes them, but of a single run.
                Those left out are for the evaluator to give in the clear.

        Raises:
            InvalidArgumentError: There is no input of a name.
            NotRealError: A value is not of integers or bytes.
            ShapeMismatchError: A shape does not fit an input, or there are many runs.
            ValueOutOfRangeError: A number does not fit the bits of its input.
        """
        ports = _named(self.program.inputs, inputs, "encrypt")
        bits = _one_run(ports, inputs, "encrypt")
        places, encodings = _wanted(self.program, ports)
        ciphertexts = self.secret.encrypt(bits[places], encodings)
        return EncryptedBits("inputs", ports, ciphertexts, self.program.fingerprint)

    def decrypt(self, encrypted: EncryptedBits) -> dict[str, Any]:
        """Decrypt the outputs of a run.

        Returns:
            Every output by name, as `BooleanProgram.run_clear` gives them.

        Raises:
            InvalidArgumentError: They are no outputs of a run.
            ProgramMismatchError: They are outputs of another program.
            KeyMismatchError: They were made with another key.
            ParametersMismatchError: They were made under other parameters.
        """
        _require_bits(encrypted, "outputs", self.program, "decrypt")
        bits = self.secret.decrypt(encrypted.ciphertexts, self.program.output_encodings)
        return results_of_bits(self.program.outputs, bits[np.newaxis], many=False)

    def __repr__(self) -> str:
        return f"BooleanClient({self.program.title!r}, {self.secret.parameters.name})"


class BooleanEvaluator(Unpicklable):
    """Runs a program on encrypted bits; holds the evaluation key and no secret.

    Args:
        key: The evaluation key.
        program: What it runs.

    Raises:
        ParametersMismatchError: The program is for other parameters than the key's.

    Example:
        >>> import cloakwork as cw
        >>> _, evaluator = cw.boolean.from_bristol("examples/boolean/adder.txt").keygen()
        >>> hasattr(evaluator, "decrypt")
        False
    """

    saved_by = "cw.boolean.save_evaluator"

    def __init__(self, key: BooleanEvaluationKey, program: BootstrapProgram) -> None:
        _require_parameters(program, key.parameters, "make an evaluator")
        self.key = key
        self.program = program
        self._native = program.native()

    def run(
        self,
        encrypted: EncryptedBits,
        clear: Mapping[str, Any] | None = None,
        *,
        threads: int | None = None,
        cancel: threading.Event | None = None,
    ) -> EncryptedBits:
        """Run the program; on a terminal a bar shows how far it is.

        Args:
            encrypted: What the client has encrypted.
            clear: By name the inputs that it has not, which anybody may know.
            threads: By default those of the engine.
            cancel: Set from another thread, it stops the run between bootstraps.

        Raises:
            InvalidArgumentError: An input is missing or given twice, or is none of the program's;
                or the number of threads or the event is none.
            RunCancelledError: `cancel` was set.
            ProgramMismatchError: The inputs were encrypted for another program.
            KeyMismatchError: The inputs were encrypted with another key.
            ParametersMismatchError: The inputs were encrypted under other parameters.
            NotRealError, ShapeMismatchError, ValueOutOfRangeError: As in `BooleanClient.encrypt`.
        """
        _require_bits(encrypted, "inputs", self.program, "run")
        if threads is not None:
            threads = integer(threads, "threads", "run", least=1, most=MOST_THREADS)
        cancel = optional(cancel, threading.Event, "cancel", "run")
        clear = {} if clear is None else clear
        if not isinstance(clear, Mapping):
            raise InvalidArgumentError(
                "cannot run: expected the inputs in the clear as values by name, "
                f"got {shown(clear)}"
            )
        inputs = self._inputs(encrypted, clear)
        total = self._native.bootstraps
        with progress_bar(self.program.title, total=total, unit="bootstrap") as bar:
            outputs = self.key.run(
                self._native,
                inputs,
                threads=threads,
                progress=lambda done, _: bar.update(done - bar.n),
                cancel=cancel,
            )
        return EncryptedBits("outputs", self.program.outputs, outputs, self.program.fingerprint)

    def _inputs(self, encrypted: EncryptedBits, clear: Mapping[str, Any]) -> BooleanCiphertexts:
        """The ciphertexts of all inputs in the order of the program's signals."""
        known = _named(self.program.inputs, clear, "run")
        given = [*encrypted.ports, *known]
        missing = [port for port in self.program.inputs if port not in given]
        if missing or len(given) != len(self.program.inputs):
            raise InvalidArgumentError(
                f"cannot run {self.program.title!r}: expected each of the inputs "
                f"{_names(self.program.inputs)} once, encrypted or in the clear, got "
                f"{_names(encrypted.ports)} encrypted and {_names(known)} in the clear"
            )
        if not known:
            return encrypted.ciphertexts
        bits = _one_run(known, clear, "run")
        places, encodings = _wanted(self.program, known)
        trivial = encrypted.ciphertexts.trivial(bits[places], encodings)
        together = encrypted.ciphertexts.concatenate([trivial])
        order = np.concatenate(
            [signals_of(self.program, encrypted.ports), signals_of(self.program, known)]
        )
        return together.select(np.argsort(order).tolist())

    def __repr__(self) -> str:
        return f"BooleanEvaluator({self.program.title!r}, {self.key.parameters.name})"


def signals_of(program: BootstrapProgram, ports: Sequence[Port]) -> NDArray[np.int64]:
    """The encrypted inputs of a program that are bits of these of its ports.

    Example:
        >>> from cloakwork.programs.bootstraps import HALF, QUARTER, BootstrapBuilder
        >>> a, b, y = (Port(name, "bits", 1) for name in "aby")
        >>> builder = BootstrapBuilder("or", (a, b))
        >>> terms = [(builder.input(bit, QUARTER), 1) for bit in (1, 0)]
        >>> builder.output(y, [builder.linear(terms, 0)], [HALF])
        >>> signals_of(builder.finish(), [b])
        array([0])
    """
    return np.flatnonzero(_belonging(program, ports)[program.input_bits])


def _belonging(program: BootstrapProgram, ports: Sequence[Port]) -> NDArray[np.bool_]:
    """Which bits of a program's inputs are of these ports."""
    among = np.array([port in ports for port in program.inputs], dtype=bool)
    bits = np.array([port.bits for port in program.inputs], dtype=np.int64)
    return np.repeat(among, bits)


def _wanted(
    program: BootstrapProgram, ports: Sequence[Port]
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """For every encrypted input from these ports which of their bits it is, and its encoding."""
    signals = signals_of(program, ports)
    bits = program.input_bits[signals].astype(np.int64)
    # Bits of the ports by themselves are numbered without those of the ports left out.
    numbers = np.cumsum(_belonging(program, ports)) - 1
    return numbers[bits], program.input_encodings[signals]


def _named(ports: Sequence[Port], arguments: Mapping[str, Any], action: str) -> tuple[Port, ...]:
    """The ports that are given."""
    names = {port.name for port in ports}
    for name in arguments:
        if name not in names:
            raise InvalidArgumentError(
                f"cannot {action}: there is no input {name!r}; expected {_names(ports)}"
            )
    return tuple(port for port in ports if port.name in arguments)


def _one_run(ports: Sequence[Port], arguments: Mapping[str, Any], action: str) -> NDArray[np.uint8]:
    bits, many = bits_of_arguments(ports, arguments)
    if many:
        raise ShapeMismatchError(
            f"cannot {action}: expected the inputs of one run, got {len(bits)} runs; "
            f"{action} them one after another"
        )
    run: NDArray[np.uint8] = bits[0]
    return run


def _require_parameters(
    program: BootstrapProgram, parameters: BooleanParameters, action: str
) -> None:
    boxes_log = int(program.boxes_log.max(initial=0))
    if boxes_log > parameters.max_boxes_log:
        raise ParametersMismatchError(
            f"cannot {action}: the bootstraps of {program.title!r} tell 2^{boxes_log} boxes apart, "
            f"those under {parameters.name} 2^{parameters.max_boxes_log}; take the parameters "
            "that the program was mapped for"
        )


def _require_bits(
    encrypted: Any, side: Literal["inputs", "outputs"], program: BootstrapProgram, action: str
) -> None:
    if not isinstance(encrypted, EncryptedBits):
        raise InvalidArgumentError(
            f"cannot {action}: expected encrypted bits, got {shown(encrypted)}"
        )
    if encrypted.side != side:
        raise InvalidArgumentError(
            f"cannot {action}: expected encrypted {side}, got the {encrypted.side} "
            f"{_names(encrypted.ports)}"
        )
    if encrypted.program != program.fingerprint:
        raise ProgramMismatchError(
            f"cannot {action}: the {side} {_names(encrypted.ports)} belong to another program than "
            f"{program.title!r}, or to one mapped for other threads"
        )


def _names(ports: Sequence[Port]) -> str:
    return ", ".join(port.name for port in ports) or "none"
