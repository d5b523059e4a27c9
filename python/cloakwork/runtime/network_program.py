"""The public program of a network: what client and evaluator share."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork._native import Parameters
from cloakwork.base.arguments import apart
from cloakwork.base.arrays import real_array
from cloakwork.errors import (
    InvalidArgumentError,
    NotFiniteError,
    NotRealError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.programs.packing.batch import Packing
from cloakwork.programs.slots import Input, Output, Program
from cloakwork.programs.text import operation_lines
from cloakwork.programs.vectors import DistinctVectors
from cloakwork.runtime.simulate import Watch, extremes, outside
from cloakwork.schemes.clear_rows import ClearRows

_Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Port:
    """An input or result of a network.

    Args:
        shape: Its shape, without the batch.
        packing: Where its elements lie.
        bound: The largest absolute value that it may have.
    """

    shape: tuple[int, ...]
    packing: Packing
    bound: float


class NetworkProgram:
    """A network as a program: its parameters, and how inputs and results are packed.

    Args:
        title: What it is called.
        program: The slot program.
        parameters: The parameter set.
        input: The input.
        output: The result.
        batch: How many inputs go in at once.
        bounds: For each operation the largest absolute value of its result, None for constants.
        error: The largest error of a result to expect.
        watches: What layers expect of the numbers that come to them.

    Raises:
        InvalidArgumentError: Program, parameters, input and output do not fit one another.
    """

    def __init__(
        self,
        title: str,
        program: Program,
        parameters: Parameters,
        input: Port,
        output: Port,
        batch: int,
        bounds: Sequence[float | None],
        error: float,
        watches: Sequence[Watch],
    ) -> None:
        inputs = sum(isinstance(each, Input) for each in program.operations)
        outputs = sum(isinstance(each, Output) for each in program.operations)
        fits = (
            program.slots == parameters.slots
            and len(bounds) == len(program.operations)
            and (inputs, outputs) == (input.packing.ciphertexts, output.packing.ciphertexts)
            and 1 <= batch <= program.slots // input.packing.slots
            and all(
                port.packing.slots * (program.slots // input.packing.slots) == program.slots
                for port in (input, output)
            )
        )
        if not fits:
            raise InvalidArgumentError(
                f"cannot use {title}: its program, parameters and packings are not of one network"
            )
        self.title = title
        self.program = program
        self.parameters = parameters
        self.input = input
        self.output = output
        self.batch = batch
        self.bounds = tuple(bounds)
        self.error = error
        self.watches = tuple(watches)

    @cached_property
    def fingerprint(self) -> str:
        """Equal for networks that compute the same with the same packings."""
        distinct = DistinctVectors()
        content = hashlib.sha256(self.parameters.fingerprint.encode())
        for line in operation_lines(self.program, distinct):
            content.update(line.encode("utf-8", "surrogatepass"))
        for vector in distinct.vectors:
            content.update(vector.tobytes())
        for port in (self.input, self.output):
            content.update(repr(port.shape).encode() + port.packing.places.tobytes())
        return content.hexdigest()[:32]

    @cached_property
    def _backend(self) -> ClearRows:
        return ClearRows()

    @property
    def width(self) -> int:
        """Inputs that a ciphertext has room for."""
        return self.program.slots // self.input.packing.slots

    def read(self, inputs: ArrayLike, action: str, *, most: int | None) -> tuple[_Array, bool]:
        """Inputs as a batch of flat rows, and whether there was no axis for the batch."""
        try:
            array = real_array(inputs, action)
        except (NotFiniteError, NotRealError, ShapeMismatchError) as error:
            raise type(error)(
                f"cannot {action} for layer 'input' of {self.title}: "
                f"{str(error).removeprefix(f'cannot {action}: ')}; give an array of finite real "
                "numbers such as the sample that it was compiled with"
            ) from error
        shape = self.input.shape
        single = array.shape == shape
        if not single and (array.shape[1:] != shape or not len(array)):
            raise ShapeMismatchError(
                f"cannot {action} for layer 'input' of {self.title}: expected an input of shape "
                f"{shape}, or a batch of them along a first axis, got {array.shape}; give inputs "
                "such as the sample that it was compiled with"
            )
        batch = array.reshape(-1, int(np.prod(shape)))
        if most is not None and len(batch) > most:
            raise ShapeMismatchError(
                f"cannot {action} for layer 'input' of {self.title}: expected up to {most} inputs "
                f"at once, got {len(batch)}; encrypt them in parts, or compile with "
                f"batch={len(batch)}"
            )
        return batch, single

    def pack(self, batch: _Array) -> list[_Array]:
        """The vectors of a batch of flat inputs; where there is room for more, they repeat.

        A layer may be meant for no numbers that zeros would bring to it.
        """
        return self.input.packing.pack(batch[np.arange(self.width) % len(batch)])

    def parts(self, batch: _Array) -> list[_Array]:
        """Flat inputs in parts that a ciphertext has room for."""
        return [batch[start : start + self.width] for start in range(0, len(batch), self.width)]

    def unfit(self, batch: _Array) -> list[str]:
        """What layers are not meant for and flat inputs bring about, in words.

        The very program runs on them in the clear. Of layers after one outside its range nothing
        is told, as their numbers have no meaning.
        """
        runs = [self.pack(part) for part in self.parts(batch)]
        received = extremes(self.program, runs, self.watches, self.width, self._backend)
        return outside(self.watches, received)

    def require_fit(self, batch: _Array, action: str) -> None:
        """Refuse flat inputs that would give wrong numbers.

        Raises:
            ValueOutOfRangeError: A number lies outside the range of the input, or one that comes
                of it outside that of a layer on the way; the message names the layer.
        """
        largest, bound = float(np.abs(batch).max()), self.input.bound
        if largest > bound:
            limit, came = apart(bound, largest)
            raise ValueOutOfRangeError(
                f"cannot {action} for layer 'input' of {self.title}: expected numbers from "
                f"-{limit} to {limit}, got one of {came}; calibrate with inputs like these, or "
                "scale them as the network was trained"
            )
        reports = self.unfit(batch)
        if reports:
            raise ValueOutOfRangeError(
                f"cannot {action} for {self.title}: its results would be wrong numbers, as "
                f"{'; '.join(reports)}; calibrate with inputs like these, or compile with a larger "
                "margin"
            )
