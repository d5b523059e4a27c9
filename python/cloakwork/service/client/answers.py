"""What a server answers, as a client reads it: nothing of it is trusted."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cloakwork.base.record import Fields
from cloakwork.errors import AnswerMismatchError, MalformedBytesError, ServerUnreachableError
from cloakwork.service.problems import told_error

if TYPE_CHECKING:
    import httpx

# An answer takes so many seconds, and as many more as its bytes do at the slowest.
SECONDS = 60.0
LEAST_BYTES_A_SECOND = 1 << 12
_BYTES, _JSON = "application/octet-stream", "application/json"


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer.

    Args:
        status: Its status.
        headers: What it says of itself, by names in small letters.
        content: Its bytes.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes

    def field(self, name: str) -> str:
        """A text of an answer in JSON.

        Raises:
            AnswerMismatchError: It has none of the name.
        """
        try:
            found = self._json()[name]
        except (KeyError, TypeError):
            found = None
        if not _is_text(found):
            raise self.strange()
        return str(found)

    def told(self, name: str, *fields: str) -> list[dict[str, str]]:
        """A list of an answer in JSON, of records whose fields are texts.

        Raises:
            AnswerMismatchError: It has none of the name.
        """
        try:
            found = [{field: each[field] for field in fields} for each in self._json()[name]]
        except (KeyError, TypeError):
            raise self.strange() from None
        if not all(_is_text(text) for each in found for text in each.values()):
            raise self.strange()
        return found

    def fields(self) -> Fields:
        """What an answer in JSON says by names.

        Raises:
            AnswerMismatchError: It is not such.
        """
        try:
            return Fields(self._json(), "an answer")
        except (ValueError, MalformedBytesError):
            raise self.strange() from None

    def octets(self) -> bytes:
        """The bytes of an answer that is not a text.

        Raises:
            AnswerMismatchError: It is one.
        """
        self._require_type(_BYTES)
        return self.content

    def offset(self, size: int) -> int:
        """How many bytes of a file a server says that it has.

        Raises:
            AnswerMismatchError: It says something else.
        """
        text = self.headers.get("upload-offset", "")
        if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= size):
            raise AnswerMismatchError(
                f"cannot send evaluation keys: expected up to {size} bytes to be there, got "
                f"{text!r:.30}; look whether the URL is that of a server of Cloakwork"
            )
        return int(text)

    def require_of(self, request: str) -> None:
        """Refuse an answer to another request.

        Raises:
            AnswerMismatchError: It is one.
        """
        told = self.headers.get("cloakwork-request")
        if told != request:
            raise AnswerMismatchError(
                f"cannot take an answer: expected one to the request {request[:12]}, got one to "
                f"{told!r:.20}; ask another server"
            )

    def require_success(self) -> None:
        """Raise what a server refuses by.

        Raises:
            CloakworkError: The error that it tells of.
            AnswerMismatchError: It tells of none, or sends its client elsewhere.
        """
        if 200 <= self.status < 300:
            return
        if 300 <= self.status < 400:
            raise AnswerMismatchError(
                "cannot take an answer: expected one of the server itself, got status "
                f"{self.status}, which leads to {self.headers.get('location', '')!r:.100}; connect "
                "to the URL where the server is"
            )
        raise told_error(self._parsed()) or self.strange()

    def strange(self) -> AnswerMismatchError:
        """What is raised for an answer that no server of Cloakwork gives."""
        return AnswerMismatchError(
            "cannot take an answer: expected one of a server of Cloakwork, got something else with "
            f"status {self.status}; look whether the URL is right"
        )

    def _json(self) -> Any:
        self._require_type(_JSON)
        return self._parsed()

    def _parsed(self) -> Any:
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError):
            raise self.strange() from None

    def _require_type(self, expected: str) -> None:
        told = self.headers.get("content-type", "").partition(";")[0].strip()
        if told != expected:
            raise AnswerMismatchError(
                f"cannot take an answer: expected {expected} of a server of Cloakwork, got "
                f"{told!r:.60}; look whether the URL is right"
            )


def _is_text(value: object) -> bool:
    """Whether it is text that may be shown and sent again."""
    return isinstance(value, str) and value.isprintable()


class TakenIn:
    """The bytes of an answer as they come.

    Args:
        most: How many there may be.
    """

    def __init__(self, most: int) -> None:
        self._most, self._size, self._blocks = most, 0, list[bytes]()
        self._began = time.monotonic()

    def add(self, block: bytes) -> None:
        """Take further bytes.

        Raises:
            AnswerMismatchError: There are too many.
            ServerUnreachableError: They come too slowly.
        """
        self._blocks.append(block)
        self._size += len(block)
        if self._size > self._most:
            raise AnswerMismatchError(
                f"cannot take an answer: expected at most {self._most} bytes, got more; look "
                "whether the URL is that of a server of Cloakwork"
            )
        seconds = time.monotonic() - self._began
        if seconds > SECONDS + self._size / LEAST_BYTES_A_SECOND:
            raise ServerUnreachableError(
                f"cannot take an answer: expected {LEAST_BYTES_A_SECOND} bytes a second, got "
                f"{self._size} bytes in {seconds:.0f} seconds; try again, or by another way to the "
                "server"
            )

    def answer(self, response: httpx.Response) -> HttpAnswer:
        """The whole answer."""
        return HttpAnswer(response.status_code, response.headers, b"".join(self._blocks))
