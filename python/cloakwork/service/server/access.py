"""Who may ask: tokens of users, of which a server keeps hashes alone."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from cloakwork.errors import AccessDeniedError, InvalidArgumentError
from cloakwork.runtime.storage import named_reading

_USER = re.compile(r"[A-Za-z0-9_.@-]{1,64}")
_BYTES = 32
# Whoever asks where no tokens are needed.
ANYONE = "anyone"


@dataclass(frozen=True, slots=True)
class _Hashed:
    user: str
    digest: str
    until: datetime


class AccessTokens:
    """The tokens that a server accepts.

    Args:
        known: Users, hashes and ends; none where everyone may ask.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "tokens"
        >>> token = new_token(path, "ada", datetime(2100, 1, 1, tzinfo=UTC))
        >>> AccessTokens.read(path).user_of(f"Bearer {token}")
        'ada'
    """

    def __init__(self, known: Sequence[_Hashed] | None = None) -> None:
        self._known = known

    @classmethod
    def read(cls, path: Path) -> Self:
        """Those of a file: a user, the hash of a token and its end in each line.

        Raises:
            FileMissingError, FileAccessError: It cannot be read.
            InvalidArgumentError: A line is something else.
        """
        found: list[_Hashed] = []
        with named_reading(path, "make it by cloakwork token"):
            lines = path.read_text(errors="replace").splitlines()
        for number, line in enumerate(lines, 1):
            try:
                user, digest, until = line.split()
                found.append(_Hashed(user, bytes.fromhex(digest).hex(), _moment(until)))
            except ValueError:
                raise InvalidArgumentError(
                    f"cannot read tokens of {path}: expected a user, a hash and a time in line "
                    f"{number}; make it anew by cloakwork token"
                ) from None
        return cls(found)

    def user_of(self, header: str | None) -> str:
        """Whose token a header has.

        Raises:
            AccessDeniedError: Nobody's, or it has expired.
        """
        if self._known is None:
            return ANYONE
        kind, _, token = (header or "").partition(" ")
        digest = _digest(token)
        # All are compared, each in constant time.
        mine = [each for each in self._known if hmac.compare_digest(each.digest, digest)]
        if kind != "Bearer" or not mine or mine[0].until < datetime.now(UTC):
            raise AccessDeniedError(
                "cannot answer: expected the token of a user as a header, Authorization: Bearer "
                "TOKEN, got none that is known and has not expired; ask the operator for one"
            )
        return mine[0].user


def new_token(path: Path, user: str, until: datetime) -> str:
    """Make a token for a user, and add its hash to a file.

    Raises:
        InvalidArgumentError: The user's name has other characters than letters, digits and `_.@-`.
    """
    if not _USER.fullmatch(user):
        raise InvalidArgumentError(
            "cannot make a token: expected a user's name of up to 64 letters, digits and _.@-, "
            f"got {user!r}; give another"
        )
    token = secrets.token_urlsafe(_BYTES)
    with path.open("a") as file:
        path.chmod(0o600)
        file.write(f"{user} {_digest(token)} {until.isoformat()}\n")
    return token


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
