"""Who may ask: tokens of users, of which a server keeps hashes alone."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from cloakwork.errors import AccessDeniedError, CloakworkError, InvalidArgumentError
from cloakwork.runtime.container import unchanged
from cloakwork.runtime.storage import named_full_disk, named_reading
from cloakwork.runtime.whole_files import name_for_good, written_whole

_USER = re.compile(r"[A-Za-z0-9_.@-]{1,64}")
_BYTES = 32
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LOGGER = logging.getLogger("cloakwork.service")
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
        advice = "make it by cloakwork token"
        # What is no file of tokens may be large: its first line tells.
        with named_reading(path, advice), path.open(errors="replace") as file:
            for number, line in enumerate(file, 1):
                try:
                    found.append(_hashed(line))
                except ValueError:
                    raise InvalidArgumentError(
                        f"cannot read tokens of {path}: expected a user, a hash and a time in line "
                        f"{number}; name a file that cloakwork token made, or a new one for it"
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


class TokenFile:
    """The tokens of a file, as it is whenever somebody asks.

    Args:
        path: The file.

    Raises:
        FileMissingError, FileAccessError: It cannot be read.
        InvalidArgumentError: A line of it is no token's.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        # It may be changed while it is read, and is then read again.
        self._seen = _stamp(path)
        self._tokens: AccessTokens | None = AccessTokens.read(path)

    def user_of(self, header: str | None) -> str:
        """Whose token a header has.

        Raises:
            AccessDeniedError: Nobody's, or it has expired, or the file cannot be read any more.
        """
        stamp = _stamp(self._path)
        if stamp != self._seen:
            self._seen, self._tokens = stamp, self._read_again()
        if self._tokens is None:
            raise AccessDeniedError(
                "cannot answer: expected the server's file of tokens, got none that it can read; "
                "tell the operator, whom its log tells more"
            )
        return self._tokens.user_of(header)

    def _read_again(self) -> AccessTokens | None:
        """Those of now; none where the file is gone or is no file of tokens."""
        try:
            return AccessTokens.read(self._path)
        except CloakworkError as error:
            _LOGGER.error("nobody is let in: %s", error)
            return None


def new_token(path: Path, user: str, until: datetime) -> str:
    """Make a token for a user, and add its hash to a file.

    Raises:
        InvalidArgumentError: The user's name has other characters than letters, digits and `_.@-`,
            or the file is there and has something else than tokens.
        FileMissingError: There is no folder for it.
        FileAccessError: It cannot be read or written.
        StorageFullError: The disk is full.
    """
    if not _USER.fullmatch(user):
        raise InvalidArgumentError(
            "cannot make a token: expected a user's name of up to 64 letters, digits and _.@-, "
            f"got {user!r}; give another"
        )
    token = secrets.token_urlsafe(_BYTES)
    # A link to the file stays, and nobody adds another token meanwhile.
    target = path.resolve()
    with unchanged(target):
        _add_line(target, f"{user} {_digest(token)} {until.isoformat()}")
    return token


def _add_line(path: Path, line: str) -> None:
    """Write a file of tokens anew, with a line more."""
    there = path.stat() if path.exists() else None
    lines = []
    if there:
        AccessTokens.read(path)
        lines = path.read_text().splitlines()
    data = "".join(f"{each}\n" for each in [*lines, line]).encode()
    with (
        named_full_disk(f"{path}", "give another path"),
        written_whole({path: lambda file: file.write(data)}) as partials,
    ):
        if there and there.st_uid != os.geteuid():
            # A server of another user goes on to read it.
            os.chown(partials[path], there.st_uid, there.st_gid)
        name_for_good(partials)


def _stamp(path: Path) -> tuple[int, ...] | None:
    """What changes when a file does; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _hashed(line: str) -> _Hashed:
    """What a line of a file says.

    Raises:
        ValueError: It says something else.
    """
    user, digest, until = line.split()
    if not _USER.fullmatch(user) or not _DIGEST.fullmatch(digest):
        raise ValueError(line)
    return _Hashed(user, digest, _moment(until))


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
