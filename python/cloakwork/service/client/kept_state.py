"""A state that a server keeps, as its client knows it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from cloakwork.base.arguments import shown
from cloakwork.base.record import Fields
from cloakwork.errors import AnswerMismatchError, InvalidArgumentError
from cloakwork.runtime.state import EncryptedState
from cloakwork.service.client.answers import HttpAnswer
from cloakwork.service.client.connection import HttpRequest
from cloakwork.service.hashes import first_version
from cloakwork.service.names import require_name

_MOST = 1 << 16
_MOST_STEP = 1 << 53
_ORIGIN_BYTES = 32


@dataclass(slots=True)
class KeptState:
    """A state that a server keeps under the key of an evaluator, which starts it and lists it.

    A run whose results have come makes it the state of the next step.

    Args:
        name: What it is called.
        step: Steps that led to it.
        version: The hash of all that it was made of.
    """

    name: str
    step: int
    version: str

    @classmethod
    def of(cls, fields: Fields) -> KeptState:
        """One that a server tells of.

        Raises:
            MalformedBytesError: It tells of something else.
        """
        step = fields.integer("step", least=0, most=_MOST_STEP)
        return cls(fields.word("name"), step, fields.word("version"))

    def advance(self, before: str, after: str) -> None:
        """Be what a step made of a version; once that was taken note of, nothing happens."""
        if self.version == before:
            self.version, self.step = after, self.step + 1


class StatePlace:
    """Where the states of a key and a program are, on a server.

    Args:
        program: Where the program is.
        key_id: What the secret key is known by, in hexadecimal digits.
    """

    def __init__(self, program: str, key_id: str) -> None:
        self._path, self._query = f"{program}/states", f"?key_id={key_id}"

    def listing(self) -> HttpRequest:
        """What asks for all of them."""
        return HttpRequest("GET", self._path + self._query)

    def removal(self, state: KeptState) -> HttpRequest:
        """What has one removed."""
        return HttpRequest("DELETE", f"{self._path}/{own_state(state).name}{self._query}")

    def start(self, name: str, initial: EncryptedState, **said: str) -> Start:
        """What has one kept.

        Args:
            name: What it is called.
            initial: What `Client.start` made.
            said: Further headers.

        Raises:
            InvalidArgumentError: It is something else.
        """
        if not isinstance(initial, EncryptedState) or not isinstance(name, str):
            raise InvalidArgumentError(
                "cannot keep a state: expected a name, and what start() of the client made, got "
                f"{shown(name)} and {shown(initial)}; give both"
            )
        require_name(name, "keep a state")
        # Sent again it is the same start.
        origin, data = secrets.token_hex(_ORIGIN_BYTES), initial.to_bytes()
        headers = {"cloakwork-origin": origin} | {
            each.replace("_", "-"): said[each] for each in said
        }
        request = HttpRequest("PUT", f"{self._path}/{name}{self._query}", data, headers)
        return Start(request, KeptState(name, initial.step, first_version(origin, data)))


@dataclass(frozen=True, slots=True)
class Start:
    """A state that a server is to keep.

    Args:
        request: What asks for it.
        state: What it is then.
    """

    request: HttpRequest
    state: KeptState

    def kept(self, answer: HttpAnswer) -> KeptState:
        """The state, where the server says that it keeps this one.

        Raises:
            AnswerMismatchError: It keeps another.
        """
        told = KeptState.of(answer.fields())
        if told != self.state:
            raise AnswerMismatchError(
                f"cannot keep the state {self.state.name:.80}: expected the server to keep what "
                "was sent, got another; look for the states that are there"
            )
        return told


def states_of(answer: HttpAnswer) -> tuple[KeptState, ...]:
    """The states that a server lists."""
    return tuple(map(KeptState.of, answer.fields().several("states", most=_MOST)))


def own_state(state: object) -> KeptState:
    """A state that a server keeps.

    Raises:
        InvalidArgumentError: It is something else.
    """
    if not isinstance(state, KeptState):
        raise InvalidArgumentError(
            f"cannot find a state: expected one that the evaluator started or lists, got "
            f"{shown(state)}; give such"
        )
    return state
