"""What client, encryptor and evaluator have in common: a program, and one key for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from cloakwork._native import SigningKey
from cloakwork.base.arguments import shown
from cloakwork.base.record import Fields, Record
from cloakwork.base.unpicklable import Unpicklable
from cloakwork.errors import (
    InvalidArgumentError,
    KeyMismatchError,
    MalformedBytesError,
    ParametersMismatchError,
    ProgramMismatchError,
)
from cloakwork.runtime.encrypted import Encrypted, Role, read_key_id
from cloakwork.runtime.saved import Saved

if TYPE_CHECKING:
    from cloakwork.runtime.interface import Interface
    from cloakwork.runtime.program import Program


class Served(Saved):
    """What keys are made for: a program, or the interface of one."""

    # What files of key holders call it.
    held_as: ClassVar[str]
    scheme: Any

    @property
    def name(self) -> str:
        """What the program computes."""
        raise NotImplementedError


class KeyHolder(Unpicklable, Saved):
    """Holds a key of a program, and what its secret key is known by."""

    # What `Scheme.read_key` calls it, in files too.
    _key_kind: ClassVar[str]

    program: Program | Interface

    def __init__(self, program: Program | Interface, key: Any, key_id: bytes) -> None:
        self.program = program
        self._key = key
        self._key_id = key_id

    def _values(self, given: Encrypted, role: Role, action: str) -> list[dict[int, Any]]:
        """For each run the values by number, where they are of this role, program and key."""
        self._require_own(given, role, action)
        return given.values(self.program.scheme, self.program.body_of(role))

    def _require_own(self, given: Encrypted, role: Role, action: str) -> None:
        """Refuse values of another role, program or key."""
        if given.role != role:
            raise InvalidArgumentError(
                f"cannot {action}: expected {role}, got {given.role}; encrypt gives inputs, and "
                "run makes outputs of them"
            )
        if given.program != self.program.fingerprint:
            raise ProgramMismatchError(
                f"cannot {action}: the {role} belong to another program, or to one compiled "
                "otherwise; encrypt, run and decrypt with one program"
            )
        self._require_runs(given, self.program.batch, action)
        self._require_key(given, action)

    def _require_runs(self, given: Encrypted, batch: int, action: str) -> None:
        """Refuse values of more or fewer runs than their evaluations take."""
        runs = -(-(given.count or 1) // batch)
        if given.runs != runs:
            raise MalformedBytesError(
                f"cannot {action}: expected the {given.role} of {given.count or 1} evaluations to "
                f"be those of {runs} runs, got {given.runs}; have them made or sent again"
            )

    def _require_key(self, given: Encrypted, action: str) -> None:
        """Refuse values of another key."""
        if given.key_id != self._key_id:
            raise KeyMismatchError(
                f"cannot {action}: the {given.role} were encrypted for another client than this "
                "key's; keygen makes client and evaluator as a pair"
            )

    def _require_served(self, program: object, action: str) -> None:
        """Refuse what is not a program of the same parameters, which this key serves."""
        if not isinstance(program, Served):
            raise InvalidArgumentError(f"cannot {action}: expected a program, got {shown(program)}")
        if program.scheme.key_set != self.program.scheme.key_set:
            raise ParametersMismatchError(
                f"cannot {action}: expected {program.name} to have the parameters of "
                f"{self.program.name}, {self.program.scheme}, got {program.scheme}; bring both "
                "together by cloakwork.together before keys are made"
            )

    def _encrypted(
        self,
        role: Role,
        ports: Sequence[str],
        runs: Sequence[Mapping[int, Any]],
        count: int | None,
        signing: SigningKey | None = None,
    ) -> Encrypted:
        """Values of this program and key, which are signed where there is something to sign by."""
        program = self.program
        return Encrypted(
            program.fingerprint,
            role,
            ports,
            runs,
            count,
            self._key_id,
            program.scheme.dump,
            signing,
        )

    def _record(self) -> Record:
        return {
            self.program.held_as: self.program.to_record(),
            self._key_kind: self.program.scheme.dump(self._key),
            "key_id": self._key_id,
        }

    @classmethod
    def _with(cls, program: Program | Interface, fields: Fields) -> Self:
        """What a record holds beside its program."""
        key = program.scheme.read_key(cls._key_kind, fields.within(cls._key_kind))
        return cls(program, key, read_key_id(fields))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.program!r})"
