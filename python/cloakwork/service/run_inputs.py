"""What one run on a server is given: what clients encrypted, and inputs in the clear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.record import Fields, Record, Word, record_of
from cloakwork.errors import ProgramMismatchError
from cloakwork.runtime import container
from cloakwork.runtime.clear_inputs import clear_inputs, values_of_clear
from cloakwork.runtime.encrypted import Encrypted, encrypted_inputs
from cloakwork.runtime.interface import Interface
from cloakwork.runtime.program import Program
from cloakwork.runtime.row import require_plain
from cloakwork.runtime.saved import Saved
from cloakwork.schemes.base import ReadLimits

# Of what clients encrypted, each of which has one or more inputs.
_MOST = 1 << 10
_MOST_PORTS = 1 << 16


@dataclass(frozen=True, slots=True)
class StateBefore:
    """Which state a step is of.

    Args:
        name: What it is called.
        key_id: What its secret key is known by, in hexadecimal digits.
        version: Its version before the step.
    """

    name: Word
    key_id: Word
    version: Word


class RunInputs(Saved):
    """What a run is given, as it goes to a server: its hash is a part of that of the request.

    Args:
        encrypted: What clients encrypted, or results of programs that the program follows.
        clear: The bits of the inputs in the clear, by the numbers of their ports.
        state: Of a step, its state.

    Example:
        >>> import cloakwork as cw
        >>> client, _ = cw.compile(lambda x: x.sum(), (4,)).keygen()
        >>> sent = RunInputs.of(client.program, client.encrypt([0.5] * 4))
        >>> RunInputs.from_bytes(sent.to_bytes()).to_bytes() == sent.to_bytes()
        True
    """

    _kind = "run inputs file"

    def __init__(
        self,
        encrypted: Sequence[Encrypted],
        clear: Mapping[int, NDArray[np.uint8]],
        state: StateBefore | None = None,
    ) -> None:
        self.encrypted, self._clear, self.state = tuple(encrypted), clear, state

    @classmethod
    def of(
        cls,
        program: Program | Interface,
        inputs: Encrypted | Sequence[Encrypted],
        clear: Mapping[str, Any] | None = None,
        state: StateBefore | None = None,
    ) -> Self:
        """What `Evaluator.run` takes, refused where that refuses it whatever the program.

        Raises:
            InvalidArgumentError: They are not encrypted inputs, or the program takes none in the
                clear.
            CloakworkError: What `Evaluator.run` raises of inputs in the clear.
        """
        action = f"run {program.name}"
        if program.row:
            require_plain(action, clear=clear, state=state)
        known = clear_inputs(program, clear, action)
        return cls(encrypted_inputs(inputs, action, least=int(state is None)), known, state)

    @property
    def runs(self) -> int:
        """How many runs of the program they are."""
        return max((each.runs for each in self.encrypted), default=1)

    def to_bytes(self) -> bytes:
        """It as bytes, the same of the same inputs."""
        return container.to_bytes(self._kind, self._record())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` made.

        Raises:
            MalformedBytesError: They are damaged, or of something else.
        """
        return cls._of(container.read_bytes(data, cls._kind), ReadLimits())

    def require_for(self, program: Program) -> None:
        """Refuse what was encrypted for other programs.

        Raises:
            ProgramMismatchError: Something was.
        """
        own = {("inputs", each.fingerprint) for each in program.parts}
        own |= {("outputs", link.program.fingerprint) for link in program.after}
        given = [one for each in self.encrypted for one in (each, *each.beside)]
        wrong = [each for each in given if (each.role, each.program) not in own]
        if wrong:
            raise ProgramMismatchError(
                f"cannot run {program.name}: expected inputs encrypted for it, got "
                f"{wrong[0].role} of another program or of another version of it; encrypt with its "
                "interface as it is now"
            )

    def clear(self, program: Program) -> dict[str, Any] | None:
        """The inputs in the clear by name; None where there are none.

        Raises:
            MalformedBytesError: They are not bits of the program's inputs.
        """
        return values_of_clear(program, self._clear, f"run {program.name}")

    def _record(self) -> Record:
        state = {} if self.state is None else {"state": record_of(self.state)}
        return {
            **state,
            "encrypted": [each._record() for each in self.encrypted],
            "clear": [
                {"number": number, "bits": np.asarray(self._clear[number], np.uint8)}
                for number in sorted(self._clear)
            ],
        }

    @classmethod
    def _of(cls, fields: Fields, limits: ReadLimits) -> Self:
        encrypted = [
            Encrypted._of(each, limits) for each in fields.several("encrypted", most=_MOST)
        ]
        known = {
            each.integer("number", least=0, most=_MOST_PORTS): each.array("bits", "uint8")
            for each in fields.several("clear", most=_MOST_PORTS)
        }
        state = fields.within("state").made(StateBefore) if fields.has("state") else None
        return cls(encrypted, known, state)

    def __repr__(self) -> str:
        return f"RunInputs({len(self.encrypted)} encrypted, {len(self._clear)} in the clear)"
