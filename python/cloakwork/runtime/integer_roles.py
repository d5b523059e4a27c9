"""The two parties of a computation on integers: the client, who has the secret, and the evaluator.

Both hold the program, which is public. Neither knows which backend it works with; it is handed a
key or a backend.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from numpy.typing import NDArray

from cloakwork.base.arguments import shown
from cloakwork.base.unpicklable import Unpicklable
from cloakwork.errors import InvalidArgumentError, KeyMismatchError, ProgramMismatchError
from cloakwork.programs.integers import IntegerProgram
from cloakwork.programs.packing.integer_values import evaluations_of, require_bits
from cloakwork.programs.packing.results import filled
from cloakwork.programs.slots import Input
from cloakwork.runtime.executor import Backend, run
from cloakwork.runtime.profile import Profile


class IntegerKey(Protocol):
    """What a client needs of a secret key."""

    @property
    def hidden(self) -> bool: ...
    def encrypt(self, vector: NDArray[Any], *, level: int) -> Any: ...
    def decrypt(self, value: Any) -> NDArray[Any]: ...


@dataclass(frozen=True, eq=False)
class EncryptedIntegers(Unpicklable):
    """The encrypted inputs of a run, or its results.

    Args:
        side: Whether they go into the program or come out of it.
        values: The vectors, in the program's order.
        evaluations: How many evaluations lie in them.
        program: The fingerprint of the program.
        hidden: Whether they are encrypted; on the clear backend they are not.
    """

    saved_by = "cw.integers.save_integers"

    side: Literal["inputs", "results"]
    values: tuple[Any, ...]
    evaluations: int
    program: str
    hidden: bool

    @property
    def nbytes(self) -> int:
        """Bytes of all vectors."""
        return sum(value.nbytes for value in self.values)

    def __repr__(self) -> str:
        warning = "" if self.hidden else "; clear backend: hides nothing"
        return (
            f"EncryptedIntegers({self.side}, {len(self.values)} vectors, "
            f"{self.evaluations} evaluations, {self.nbytes} bytes{warning})"
        )


class IntegerClient(Unpicklable):
    """Holds the secret key: encrypts and decrypts integers.

    Args:
        key: The secret key.
        program: What the integers are for.

    Example:
        >>> import cloakwork as cw
        >>> @cw.circuit(a=cw.scalar())
        ... def square(a):
        ...     return a * a
        >>> client, evaluator = square.compile(bits=16).keygen(backend="clear")
        >>> client.decrypt(evaluator.run(client.encrypt(a=-7)))
        49
    """

    saved_by = "cw.integers.save_client"

    def __init__(self, key: IntegerKey, program: IntegerProgram) -> None:
        self.key = key
        self.program = program

    def encrypt(self, /, **inputs: Any) -> EncryptedIntegers:
        """Encrypt the inputs of one run.

        Args:
            inputs: Every input by name: an integer, a list, or a list of lists, of its shape; for
                a program of a batch, a list of these, one for each evaluation.

        Raises:
            InputNameError: An input is missing, or there is none of a name.
            ShapeMismatchError: A shape does not fit an input, or the numbers of evaluations
                differ.
            NotIntegerError: A number is no integer.
            ValueOutOfRangeError: A number is outside the range of its input.
        """
        program = self.program
        action = f"encrypt for {program.title}"
        evaluations = evaluations_of(program.ports, inputs, program.batch, action)
        entries = [each for each in program.program.operations if isinstance(each, Input)]
        vectors = program.packing.pack(evaluations)
        values = tuple(
            self.key.encrypt(vector, level=entry.level)
            for entry, vector in zip(entries, vectors, strict=True)
        )
        return EncryptedIntegers(
            "inputs", values, len(evaluations), program.fingerprint, self.key.hidden
        )

    def decrypt(self, results: EncryptedIntegers) -> Any:
        """Decrypt the results of a run, in the form in which the function returns them.

        Returns:
            Python's integers; for a program of a batch, a list of results, one for each evaluation.

        Raises:
            InvalidArgumentError: They are no results of a run.
            ProgramMismatchError: They are results of another program.
            KeyMismatchError: They were made with another key.
            NoiseExhaustedError: Noise may have destroyed them.
            ResultOverflowError: A result is seen to have more bits than the program was compiled
                for; one that has many more wraps around unseen.
        """
        program = self.program
        _require(results, "results", program, self.key.hidden, f"decrypt for {program.title}")
        try:
            vectors = [self.key.decrypt(value) for value in results.values]
        except KeyMismatchError as error:
            raise KeyMismatchError(
                f"cannot decrypt for {program.title}: the results come from inputs that another "
                "client encrypted; decrypt them with that one"
            ) from error
        found = program.packing.unpack(vectors, results.evaluations)
        require_bits(found, program.bits, program.title)
        made = [filled(program.form, values) for values in found]
        return made if program.batch > 1 else made[0]

    def __repr__(self) -> str:
        return f"IntegerClient({self.program.title!r}, {self.key!r})"


class IntegerEvaluator(Unpicklable):
    """Runs a program on encrypted integers; holds evaluation keys and no secret.

    Args:
        backend: What the program runs on.
        program: What it runs.
        hidden: Whether the backend computes on ciphertexts.

    Example:
        >>> import cloakwork as cw
        >>> @cw.circuit(a=cw.scalar())
        ... def square(a):
        ...     return a * a
        >>> _, evaluator = square.compile(bits=16).keygen(backend="clear")
        >>> hasattr(evaluator, "decrypt")
        False
    """

    saved_by = "cw.integers.save_evaluator"

    def __init__(self, backend: Backend[Any], program: IntegerProgram, *, hidden: bool) -> None:
        self.backend = backend
        self.program = program
        self.hidden = hidden

    def run(
        self,
        encrypted: EncryptedIntegers,
        *,
        threads: int | None = None,
        profile: Profile | None = None,
        cancel: threading.Event | None = None,
    ) -> EncryptedIntegers:
        """Run the program on what a client has encrypted; see `runtime.executor.run`.

        Args:
            encrypted: What `IntegerClient.encrypt` made.
            threads: How many operations may run at once; by default as many as the engine has
                threads.
            profile: Filled with what the run took.
            cancel: Set from another thread, it stops the run between operations.

        Raises:
            InvalidArgumentError: They are no inputs of a run.
            ProgramMismatchError: They were encrypted for another program.
            KeyMismatchError: They were encrypted with another key.
            MissingKeyError: The program needs an evaluation key that is not here.
            NoiseExhaustedError: Noise would destroy a result.
            RunCancelledError: The run was cancelled.
        """
        program = self.program
        _require(encrypted, "inputs", program, self.hidden, f"run {program.title}")
        try:
            made = run(
                program.program,
                self.backend,
                encrypted.values,
                threads=threads,
                profile=profile,
                cancel=cancel,
            )
        except KeyMismatchError as error:
            raise KeyMismatchError(
                f"cannot run {program.title}: the inputs were encrypted by another client than the "
                "one that this evaluator was made with; keygen makes the two as a pair"
            ) from error
        return EncryptedIntegers(
            "results", tuple(made), encrypted.evaluations, program.fingerprint, self.hidden
        )

    def __repr__(self) -> str:
        return f"IntegerEvaluator({self.program.title!r}, {self.backend!r})"


def _require(
    given: Any,
    side: Literal["inputs", "results"],
    program: IntegerProgram,
    hidden: bool,
    action: str,
) -> None:
    if not isinstance(given, EncryptedIntegers):
        raise InvalidArgumentError(
            f"cannot {action}: expected encrypted integers, got {shown(given)}"
        )
    if given.side != side:
        raise InvalidArgumentError(f"cannot {action}: expected {side}, got the {given.side}")
    if given.program != program.fingerprint:
        raise ProgramMismatchError(
            f"cannot {action}: the {side} belong to another program, or to one compiled otherwise"
        )
    if given.hidden != hidden:
        kinds = {True: "encrypted", False: "on the clear backend"}
        raise KeyMismatchError(
            f"cannot {action}: the {side} are {kinds[given.hidden]}, the keys {kinds[hidden]}"
        )
