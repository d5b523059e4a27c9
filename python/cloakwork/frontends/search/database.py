"""An encrypted table in a folder, in blocks of rows that are read one after another."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from cloakwork.errors import FileMissingError
from cloakwork.runtime.encrypted import Encrypted
from cloakwork.runtime.evaluator import Evaluator
from cloakwork.runtime.load import load

_ROWS, _LIVE = "rows", "live"


class Database:
    """Blocks of encrypted rows in a folder, and which of their rows count, encrypted, too.

    Args:
        folder: The folder, which has one block or more.

    Raises:
        FileMissingError: It has none.

    Example:
        >>> import tempfile, numpy as np, cloakwork as cw
        >>> vectors = np.eye(4)
        >>> index = cw.index(vectors, log_n=10, insecure=True, rows_in_block=4)
        >>> client, evaluator = index.keygen()
        >>> database = index.encrypt(client, tempfile.mkdtemp())
        >>> answers = database.search(evaluator, index.query(client, [0, 1, 0, 0]))
        >>> index.found(client, answers).scores.round(2) + 0.0
        array([0., 1., 0., 0.])
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Find the blocks of a folder."""
        self.folder = Path(folder)
        if not self.blocks:
            raise FileMissingError(
                f"cannot search: expected blocks of encrypted rows in {self.folder}, got none; "
                "encrypt a table into it by cloakwork.index(...).encrypt"
            )

    @property
    def blocks(self) -> tuple[int, ...]:
        """The numbers of the blocks there are."""
        return tuple(sorted(int(path.stem) for path in self.folder.glob(f"*.{_ROWS}")))

    def search(self, evaluator: Evaluator, query: Encrypted) -> Iterator[Encrypted]:
        """The encrypted answers of one block after another.

        No more than one block is in memory.

        Raises:
            KeyMismatchError: The query, or the table, is of another key than the evaluator.
            ProgramMismatchError: They are of another program.
        """
        for (answer,) in self.search_each(evaluator, [query]):
            yield answer

    def total(self, evaluator: Evaluator, query: Encrypted) -> Encrypted:
        """The sum of the answers of all blocks, as small as one of them.

        It is of an index that counts rows, or has payloads of `at_most` so many: of others the
        sum of rows of several blocks tells nothing.

        Raises:
            CloakworkError: What `search` raises.
        """
        return evaluator.total(self.search(evaluator, query))

    def search_each(
        self, evaluator: Evaluator, queries: Sequence[Encrypted]
    ) -> Iterator[list[Encrypted]]:
        """For one block after another its encrypted answers to each of several queries.

        Each block is read once for all of them.

        Raises:
            CloakworkError: What `search` raises.

        Example:
            >>> import tempfile, numpy as np, cloakwork as cw
            >>> index = cw.index(np.eye(4), log_n=10, insecure=True, rows_in_block=2)
            >>> client, evaluator = index.keygen()
            >>> database = index.encrypt(client, tempfile.mkdtemp())
            >>> queries = [index.query(client, row) for row in np.eye(4)[[2, 1]]]
            >>> by_query = zip(*database.search_each(evaluator, queries))
            >>> [index.found(client, each).nearest(1).tolist() for each in by_query]
            [[2], [1]]
        """
        for number in self.blocks:
            yield self._answers(evaluator, number, queries)

    def _answers(
        self, evaluator: Evaluator, number: int, queries: Sequence[Encrypted]
    ) -> list[Encrypted]:
        """Those of one block, which is out of memory when this returns."""
        parts = [load(block_path(self.folder, number, kind), Encrypted) for kind in _KINDS]
        return [evaluator.run([*parts, query]) for query in queries]


_KINDS = _ROWS, _LIVE


def block_path(folder: Path, number: int, kind: str) -> Path:
    """The file of a block: its `rows`, or which of them are `live`."""
    return folder / f"{number:06}.{kind}"
