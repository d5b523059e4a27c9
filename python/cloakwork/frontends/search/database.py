"""A table in a folder, encrypted or in the clear, in blocks that are read one after another."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from cloakwork.errors import FileMissingError
from cloakwork.frontends.search.block_files import CLEAR, ENCRYPTED, BlockFiles
from cloakwork.runtime.encoded_inputs import EncodedInputs
from cloakwork.runtime.encrypted import Encrypted
from cloakwork.runtime.evaluator import Evaluator
from cloakwork.runtime.load import load

if TYPE_CHECKING:
    from cloakwork.frontends.search.index import Index


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
        self._files = BlockFiles(Path(folder), ENCRYPTED)
        self._files.require_alone("search")
        if not self.blocks:
            raise FileMissingError(
                f"cannot search: expected blocks of encrypted rows in {self.folder}, got none; "
                "encrypt a table into it by cloakwork.index(...).encrypt"
            )

    @property
    def folder(self) -> Path:
        """Where the blocks are."""
        return self._files.folder

    @property
    def blocks(self) -> tuple[int, ...]:
        """The numbers of the blocks there are."""
        return self._files.numbers

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
        parts = [load(path, Encrypted) for path in self._files.of_block(number)]
        return [evaluator.run([*parts, query]) for query in queries]


class ClearDatabase(Database):
    """Blocks of rows in a folder in the clear, which are searched by encrypted queries.

    Whoever has the folder reads the rows; what is asked, and what is found, it does not see.

    Args:
        folder: The folder; one without blocks is a table without rows.
        index: The index that the table is searched by.

    Raises:
        InvalidArgumentError: The folder has encrypted rows.

    Example:
        >>> import tempfile, numpy as np, cloakwork as cw
        >>> index = cw.index(np.eye(4)[:3], log_n=10, insecure=True, rows_in_block=4)
        >>> database = index.encode(tempfile.mkdtemp())
        >>> database.add([[0.6, 0.8, 0, 0]])
        range(4, 5)
        >>> database.keep(0, [0, 2])
        >>> client, evaluator = index.keygen()
        >>> answers = database.search(evaluator, index.query(client, [0.6, 0.8, 0, 0]))
        >>> index.found(client, answers).scores.round(1) + 0.0
        array([ 0.6, -1. ,  0. , -1. ,  1. , -1. , -1. , -1. ])
    """

    def __init__(self, folder: str | os.PathLike[str], index: Index) -> None:
        """Take a folder as a table of an index."""
        self._files = BlockFiles(Path(folder), CLEAR)
        self._files.require_alone("search a table in the clear")
        self._index = index

    def add(self, vectors: ArrayLike, payloads: ArrayLike | None = None) -> range:
        """Write more rows into new blocks.

        Returns:
            The numbers of the rows; a block begins at a multiple of `rows_in_block`.

        Raises:
            ShapeMismatchError: Vectors or payloads have another width than those of the table.
            ValueOutOfRangeError: A vector is longer than the radius, or a payload too large.
        """
        return self._index._write_rows(self._files, self._encoded, vectors, payloads)

    def keep(self, block: int, rows: Sequence[int]) -> None:
        """Count some rows of a block and no others: the rest are removed from the table.

        Args:
            block: The number of the block.
            rows: The numbers of the rows that stay, those of the whole table.

        Raises:
            IndexOutOfRangeError: There is no such block, or a row is of another one.
        """
        self._files.require_block(block, "remove rows")
        self._index._write_live(self._files, self._encoded, block, rows)

    def _encoded(self, **named: Any) -> EncodedInputs:
        return EncodedInputs.of(self._index.program, named)

    def _answers(
        self, evaluator: Evaluator, number: int, queries: Sequence[Encrypted]
    ) -> list[Encrypted]:
        rows, live = (load(path, EncodedInputs) for path in self._files.of_block(number))
        return [evaluator.run(query, rows.beside(live)) for query in queries]
