"""The database of a server: opened whole, or refused by name."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from cloakwork.errors import MalformedBytesError, NewerFormatError

# Of a server's tables: counted on where they change.
_VERSION = 1


def opened_database(path: Path, tables: Sequence[str]) -> sqlite3.Connection:
    """A database with tables, whose rows are as these say.

    Args:
        path: Its file, which is made where there is none.
        tables: What makes them, and their indexes, where they are not there.

    Raises:
        MalformedBytesError: It is damaged, or its rows are not a server's.
        NewerFormatError: A server of a later release has written it.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "notes"
        >>> opened_database(path, ["create table if not exists notes (text text)"]).close()
        >>> path.write_bytes(b"something else, of at least a hundred bytes" * 9) > 100
        True
        >>> opened_database(path, [])
        Traceback (most recent call last):
        cloakwork.errors.MalformedBytesError: cannot read ...: expected the database of a server...
    """
    # What SQLite writes beside it is as open to others as the file.
    path.touch(mode=0o600)
    # The event loop's thread alone asks.
    base = sqlite3.connect(path, isolation_level=None)
    try:
        ((written,),) = base.execute("pragma user_version")
        if written > _VERSION:
            base.close()
            raise NewerFormatError(
                f"cannot read {path}: expected version {_VERSION} of a server's database, got "
                f"{written}; start a release as new as the one that wrote it, or go back to a "
                "backup of the folder"
            )
        base.execute("pragma journal_mode=wal")
        base.execute(f"pragma user_version={_VERSION}")
        for table in tables:
            base.execute(table)
        ((found, *_),) = base.execute("pragma quick_check(1)")
    except (sqlite3.Error, UnicodeDecodeError) as error:
        found = str(error)
    if found == "ok":
        return base
    base.close()
    raise MalformedBytesError(
        f"cannot read {path}: expected the database of a server, got one that is damaged "
        f"({found}); move it away, with the jobs and states that it has"
    )
