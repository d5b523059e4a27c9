"""Inputs of programs over reals that are not encrypted: encoded once for all runs that take them.

They stand in the places of ciphertexts, so that whoever encrypts the other inputs and decrypts the
results has the same program whether a run's are clear or not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.record import Fields, Record
from cloakwork.errors import InvalidArgumentError, InvalidProgramError
from cloakwork.programs.slots import ClearInput, Input, Mul, SlotProgram
from cloakwork.runtime.clear_inputs import packed_clear
from cloakwork.runtime.saved import Saved
from cloakwork.schemes.base import ReadLimits, levels_of
from cloakwork.schemes.ckks import Ckks
from cloakwork.schemes.encoded_cache import Coefficients, EncodedVector, Encoding

if TYPE_CHECKING:
    from cloakwork.runtime.program import Program

_MOST_VECTORS = 1 << 20
_WORDS: Mapping[int, np.dtype[Any]] = {4: np.dtype("<i4"), 8: np.dtype("<i8")}


@dataclass(frozen=True, slots=True, eq=False)
class EncodedInputs(Saved):
    """Inputs of a program over reals in the clear, as integers that are encoded in little time.

    Args:
        program: The fingerprint of the program.
        ports: The names of the inputs.
        integers: The coefficients of each vector, by the number of the input that it is.

    Example:
        >>> import cloakwork as cw
        >>> program = cw.compile(lambda x, w: x * w, (4,), (4,))
        >>> client, evaluator = program.keygen()
        >>> known = EncodedInputs.of(program, {"w": [1.0, 0.5, -1.0, 0.25]})
        >>> made = evaluator.run(client.encrypt(x=[0.5, 0.5, 1.0, 1.0]), known)
        >>> client.decrypt(made).round(4).tolist()
        [0.5, 0.25, -1.0, 0.25]
    """

    _kind: ClassVar[str] = "clear inputs file"

    program: str
    ports: tuple[str, ...]
    integers: Mapping[int, Coefficients]

    @classmethod
    def of(cls, program: Program, named: Mapping[str, Any]) -> Self:
        """Encode inputs that are given by name.

        Raises:
            InvalidArgumentError: The program is not over reals, or does more with them than to
                multiply or add them to what is encrypted.
            ShapeMismatchError: They are of several evaluations, or a shape does not fit.
            ValueOutOfRangeError: A number lies outside the range of its input.
        """
        action = f"encode for {program.name}"
        packed = packed_clear(program, named, action)
        (vectors,) = packed.runs
        known = KnownInputs.of(program, vectors, action)
        return cls(program.fingerprint, tuple(packed.ports), known.integers(vectors))

    def beside(self, others: EncodedInputs) -> EncodedInputs:
        """These, and others of the same program."""
        return replace(
            self, ports=self.ports + others.ports, integers={**self.integers, **others.integers}
        )

    def _record(self) -> Record:
        return {
            "program": self.program,
            "ports": list(self.ports),
            "numbers": np.array([*self.integers], np.uint32),
            "widths": np.array([each.itemsize for each in self.integers.values()], np.uint8),
            "integers": b"".join(map(_written, self.integers.values())),
        }

    @classmethod
    def _of(cls, fields: Fields, _: ReadLimits) -> Self:
        numbers = fields.array("numbers", "<u4", most=_MOST_VECTORS).tolist()
        widths = fields.array("widths", "|u1", most=_MOST_VECTORS).tolist()
        if not numbers or len(set(numbers)) < len(numbers) or len(widths) != len(numbers):
            raise fields.wrong("numbers", "one or more, and none twice, with a width for each")
        if not set(widths) <= _WORDS.keys():
            raise fields.wrong("widths", "bytes of integers of 32 or 64 bits")
        data = fields.data("integers")
        count, rest = divmod(len(data), sum(widths))
        if rest:
            raise fields.wrong("integers", "as many for each of its numbers")
        read: dict[int, Coefficients] = {}
        offset = 0
        for number, width in zip(numbers, widths, strict=True):
            read[number] = np.frombuffer(data, _WORDS[width], count, offset)
            offset += count * width
        ports = fields.value("ports", tuple[str, ...])
        return cls(fields.word("program"), ports, read)


@dataclass(frozen=True, slots=True, eq=False)
class KnownInputs:
    """How a program runs where some of its inputs are clear.

    Args:
        program: The program.
        body: What it runs: itself, with constants in their places that each run is given.
        encodings: How each of their vectors is encoded for what it meets, by its number.
    """

    program: Program
    body: SlotProgram
    encodings: Mapping[int, Encoding]

    @classmethod
    def of(cls, program: Program, numbers: Collection[int], action: str) -> Self:
        """That of inputs by the numbers of their vectors.

        Raises:
            InvalidArgumentError: The program cannot take them in the clear.
        """
        body = program.body
        if (
            not isinstance(body, SlotProgram)
            or not isinstance(program.scheme, Ckks)
            or program.row
            or program.repeated is not None
            or program.batch > 1
        ):
            raise InvalidArgumentError(
                f"cannot {action}: expected a program over reals alone, which runs once, for one "
                "evaluation, to take inputs in the clear, got another; encrypt them"
            )
        inputs = [n for n, each in enumerate(body.operations) if isinstance(each, Input)]
        if not all(number < len(inputs) for number in numbers):
            raise InvalidArgumentError(
                f"cannot {action}: expected clear inputs of the numbers 0 to {len(inputs) - 1}, "
                "got others; encode them for this program"
            )
        places = {inputs[number]: number for number in numbers}
        try:
            known = replace(
                body,
                operations=tuple(
                    ClearInput(each.name, each.level)
                    if n in places and isinstance(each, Input)
                    else each
                    for n, each in enumerate(body.operations)
                ),
            )
        except InvalidProgramError as error:
            names = ", ".join(dict.fromkeys(_name(body, n) for n in places))
            raise InvalidArgumentError(
                f"cannot {action}: expected {names} encrypted, as the program does more with them "
                f"than to multiply or add them to what is encrypted ({error}); encrypt them"
            ) from error
        return cls(program, known, _encodings(program, known, places, action))

    def integers(self, vectors: Mapping[int, NDArray[Any]]) -> dict[int, Coefficients]:
        """The coefficients of vectors of them, by their numbers."""
        parameters = self.program.scheme.parameters
        return {
            number: self.encodings[number].integers(parameters, vector)
            for number, vector in vectors.items()
        }

    def values(self, given: EncodedInputs, action: str) -> dict[int, EncodedVector]:
        """What stands for them in a run, by their numbers.

        Raises:
            InvalidArgumentError: There are not as many coefficients as the ring has.
        """
        n = self.program.scheme.parameters.n
        if any(len(each) != n for each in given.integers.values()):
            raise InvalidArgumentError(
                f"cannot {action}: expected clear inputs of {n} coefficients, got others; encode "
                "them for this program"
            )
        return {
            number: EncodedVector(each, self.encodings[number])
            for number, each in given.integers.items()
        }


def _encodings(
    program: Program, body: SlotProgram, places: Mapping[int, int], action: str
) -> dict[int, Encoding]:
    """How vectors are encoded, by their numbers; places have those of clear operations."""
    bounds, parameters = program.input_bounds, program.scheme.parameters
    assert bounds is not None
    found: dict[int, Encoding] = {}
    for each in body.operations:
        for operand in set(each.operands).intersection(places):
            level = levels_of(body, "inputs")[places[operand]]
            scale = parameters.scale(level)
            if isinstance(each, Mul):
                scale = parameters.matching_scale(level, scale)
            encoding = Encoding(level, scale, bounds[places[operand]])
            if found.setdefault(places[operand], encoding) != encoding:
                raise InvalidArgumentError(
                    f"cannot {action}: expected {_name(body, operand)} encrypted, as the program "
                    "both multiplies and adds it; encrypt it"
                )
    return found


def _written(coefficients: Coefficients) -> bytes:
    written: bytes = coefficients.astype(_WORDS[coefficients.itemsize], copy=False).tobytes()
    return written


def _name(body: SlotProgram, number: int) -> str:
    operation = body.operations[number]
    assert isinstance(operation, Input)
    return operation.name
