"""A plan of searching a table: the owner's keys, rows, queries and answers."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.base.arguments import integer, shown
from cloakwork.base.record import Fields, Record, record_of
from cloakwork.errors import (
    IndexOutOfRangeError,
    InvalidArgumentError,
    NotReplaceableError,
    ProgramMismatchError,
    ShapeMismatchError,
)
from cloakwork.frontends.search.block_files import CLEAR, ENCRYPTED, BlockFiles
from cloakwork.frontends.search.compaction import MOST_BLOCKS, Compaction, Row
from cloakwork.frontends.search.database import ClearDatabase, Database
from cloakwork.frontends.search.found import Found
from cloakwork.frontends.search.metrics import Nearness, table, two_axes
from cloakwork.frontends.search.shape import MOST_ROWS, Shape
from cloakwork.programs.packing.rows import RowsPacking
from cloakwork.runtime.client import Client
from cloakwork.runtime.encrypted import Encrypted
from cloakwork.runtime.evaluator import Evaluator
from cloakwork.runtime.program import Program
from cloakwork.runtime.saved import Saved
from cloakwork.schemes.base import ReadLimits

KIND = "index file"


@dataclass(frozen=True, slots=True, eq=False)
class Index(Saved):
    """A plan of searching a table; made by `cloakwork.index`.

    The owner makes keys, encrypts the table and queries, and reads answers by it. What searches is
    the `Database` that `encrypt` makes, with the evaluator. `save` writes all but the table to a
    file, and `cloakwork.load(path, cloakwork.Index)` reads it.

    Args:
        program: Searches one block of rows.
        nearness: The metric.
        shape: How large the table is.
        thresholds: The nearness from which on rows are found; several where rows are counted for
            each, none where all scores are asked for.
        count_only: Whether rows are only counted.
        compaction: How payloads are added up in a small answer; None where each row has its place.
        vectors: The table, a row each; None where the index is of a file.
        payloads: What a row that is found gives, a row each; None for nothing.

    Example:
        >>> import tempfile, numpy as np, cloakwork as cw
        >>> index = cw.index(np.eye(4)[:3], log_n=10, insecure=True, rows_in_block=4)
        >>> client, evaluator = index.keygen()
        >>> folder = tempfile.mkdtemp()
        >>> database = index.encrypt(client, folder)
        >>> query = index.query(client, [0.6, 0.8, 0, 0])
        >>> found = index.found(client, database.search(evaluator, query))
        >>> found.scores.round(1) + 0.0, found.nearest(1)
        (array([0.6, 0.8, 0. ]), array([1]))
        >>> index.add(client, folder, [[0.6, 0.8, 0, 0]])
        range(4, 5)
        >>> index.keep(client, folder, 0, [0, 2])
        >>> found = index.found(client, database.search(evaluator, query))
        >>> found.scores.round(1) + 0.0
        array([ 0.6, -1. ,  0. , -1. ,  1. , -1. , -1. , -1. ])
    """

    _kind: ClassVar[str] = KIND

    program: Program
    nearness: Nearness
    shape: Shape
    thresholds: tuple[float, ...]
    count_only: bool
    compaction: Compaction | None = None
    vectors: NDArray[np.float64] | None = None
    payloads: NDArray[np.float64] | None = None

    def keygen(self) -> tuple[Client, Evaluator]:
        """The owner's keys, and the evaluator that searches."""
        return self.program.keygen()

    def encrypt(self, client: Client, folder: str | os.PathLike[str]) -> Database:
        """Encrypt the table into a folder, one block after another.

        Args:
            client: Whose key the table is encrypted by; queries are, too.
            folder: Where the blocks go, which has none yet.

        Raises:
            NotReplaceableError: It has some.
            InvalidArgumentError: The index is of a file, which has no table.
        """
        vectors = self._new_table(BlockFiles(Path(folder), ENCRYPTED), "encrypt")
        self.add(client, folder, vectors, self.payloads)
        return Database(folder)

    def encode(self, folder: str | os.PathLike[str]) -> ClearDatabase:
        """Write the table into a folder in the clear, one block after another.

        For a server that may see it, and neither the encrypted queries nor what they find.

        Args:
            folder: Where the blocks go, which has none yet.

        Raises:
            NotReplaceableError: It has some.
            InvalidArgumentError: The index is of a file, which has no table.

        Example:
            >>> import tempfile, numpy as np, cloakwork as cw
            >>> index = cw.index(np.eye(4), log_n=10, insecure=True, rows_in_block=4)
            >>> database = index.encode(tempfile.mkdtemp())
            >>> client, evaluator = index.keygen()
            >>> answers = database.search(evaluator, index.query(client, [0, 1, 0, 0]))
            >>> index.found(client, answers).scores.round(2) + 0.0
            array([0., 1., 0., 0.])
        """
        packing = self.program.packing
        if isinstance(packing, RowsPacking) and packing.stored == "coefficients":
            raise InvalidArgumentError(
                "cannot encode a table: expected an index of the usual layout, got one that "
                "refreshes scores to keep to table_budget=; leave that out, as a clear table takes "
                "four bytes a number in any case"
            )
        vectors = self._new_table(BlockFiles(Path(folder), CLEAR), "encode")
        database = ClearDatabase(folder, self)
        database.add(vectors, self.payloads)
        return database

    def _new_table(self, files: BlockFiles, verb: str) -> NDArray[np.float64]:
        """The table, where the index has it and a folder has none yet."""
        action = f"{verb} a table"
        if self.vectors is None:
            raise InvalidArgumentError(
                f"cannot {action}: expected the index that cloakwork.index made of it, got one of "
                f"a file, which has no table; {verb} its rows by add"
            )
        files.require_alone(action)
        if files.numbers:
            raise NotReplaceableError(
                f"cannot {action}: {files.folder} has blocks of one; give another folder, or add "
                "rows to that table by add"
            )
        return self.vectors

    def add(
        self,
        client: Client,
        folder: str | os.PathLike[str],
        vectors: ArrayLike,
        payloads: ArrayLike | None = None,
    ) -> range:
        """Encrypt more rows into new blocks of a folder.

        Returns:
            The numbers of the rows; a block begins at a multiple of `rows_in_block`.

        Raises:
            ShapeMismatchError: Vectors or payloads have another width than those of the table.
            ValueOutOfRangeError: A vector is longer than the radius, or a payload too large.
            ProgramMismatchError: The client is of another index.
        """
        self._require_own(client, "encrypt rows")
        return self._write_rows(
            BlockFiles(Path(folder), ENCRYPTED), client.encrypt, vectors, payloads
        )

    def _write_rows(
        self,
        files: BlockFiles,
        made: Callable[..., Saved],
        vectors: ArrayLike,
        payloads: ArrayLike | None,
    ) -> range:
        """Write rows into new blocks, as `made` makes them of a block's numbers by name."""
        rows = two_axes(vectors, "vectors")
        data = None if payloads is None else two_axes(payloads, "payloads")
        _require_width(rows, self.shape.width, "vectors")
        if (data is not None) != bool(self.shape.payload_width) or (
            data is not None and len(data) != len(rows)
        ):
            raise ShapeMismatchError(
                "cannot add rows: expected payloads as the table has them, one for each vector; "
                f"got {'none' if data is None else len(data)} for {len(rows)}"
            )
        if data is not None:
            _require_width(data, self.shape.payload_width, "payloads")
        files.require_alone("add rows")
        files.folder.mkdir(parents=True, exist_ok=True)
        first = max(files.numbers, default=-1) + 1
        size = self.shape.rows_in_block
        self._require_numbers(first - (-len(rows) // size))
        for number, start in enumerate(range(0, len(rows), size), start=first):
            chunk = slice(start, start + size)
            of_rows, of_live = files.of_block(number)
            given = self._block(number, rows[chunk], None if data is None else data[chunk])
            made(**given).save(of_rows)
            live = self._order(number) < len(rows[chunk])
            made(live=live.astype(np.float64)).save(of_live)
        return range(first * size, first * size + len(rows))

    def keep(
        self, client: Client, folder: str | os.PathLike[str], block: int, rows: Sequence[int]
    ) -> None:
        """Count some rows of a block and no others: the rest are removed from the table.

        Args:
            client: The owner.
            folder: Where the table is.
            block: The number of the block.
            rows: The numbers of the rows that stay, those of the whole table.

        Raises:
            IndexOutOfRangeError: There is no such block, or a row is of another one.
            ProgramMismatchError: The client is of another index.
        """
        self._require_own(client, "remove rows")
        files = BlockFiles(Path(folder), ENCRYPTED)
        files.require_block(block, "remove rows")
        self._write_live(files, client.encrypt, block, rows)

    def _write_live(
        self, files: BlockFiles, made: Callable[..., Saved], block: int, rows: Sequence[int]
    ) -> None:
        """Write which rows of a block count, as `made` makes it of numbers by name."""
        size = self.shape.rows_in_block
        first = integer(block, "block", "remove rows", least=0, most=MOST_ROWS) * size
        places = np.asarray(rows, dtype=np.int64) - first
        if ((places < 0) | (places >= size)).any():
            raise IndexOutOfRangeError(
                f"cannot remove rows: expected rows of block {block}, {first} to "
                f"{first + size - 1}, got {shown(rows)}; keep those of other blocks by themselves"
            )
        live = np.zeros(size)
        live[places] = 1.0
        _, of_live = files.of_block(block)
        made(live=live[self._order(block)]).save(of_live)

    def query(self, client: Client, vector: ArrayLike) -> Encrypted:
        """An encrypted query.

        Raises:
            ShapeMismatchError: It has another dimension than the table's vectors.
            ValueOutOfRangeError: It is longer than the radius.
            ProgramMismatchError: The client is of another index.
        """
        self._require_own(client, "encrypt a query")
        given = table(vector, "a query")
        if given.shape != (self.shape.width,):
            raise ShapeMismatchError(
                f"cannot search: expected a query of shape {(self.shape.width,)}, as the "
                f"table's vectors have it, got {given.shape}; make it by the same embedding"
            )
        return client.encrypt(query=self.nearness.query(given))

    def found(self, client: Client, answers: Encrypted | Iterable[Encrypted]) -> Found:
        """What the answers of all blocks say, or their total.

        Raises:
            InvalidArgumentError: A total is of an index whose rows it does not tell apart.
            RowsOverlapError: A total has too many rows to be told apart.
            ProgramMismatchError: The client or the answers are of another index.
        """
        self._require_own(client, "tell what a search found")
        given = [answers] if isinstance(answers, Encrypted) else list(answers)
        if self.compaction is None and not self.count_only and any(a.added > 1 for a in given):
            raise InvalidArgumentError(
                "cannot tell what a search found: expected the answer of each block, got a sum of "
                "several, in which rows cannot be told apart; have it made by Database.search, or "
                "make the index with at_most or count_only"
            )
        parts = [client.decrypt(each) for each in given]
        if self.compaction is not None:
            return self._told_apart(parts, [each.added for each in given], self.compaction)
        if not self.thresholds:
            products = self._of_rows(np.concatenate([np.ravel(part) for part in parts]))
            products = np.maximum(products, self.nearness.ends[0])
            return Found(scores=self.nearness.of_products(products), metric=self.nearness.metric)
        if self.count_only:
            counts = np.sum([np.reshape(part, -1) for part in parts], axis=0)
            return Found(count=float(counts[0]), counts=counts)
        matches = np.concatenate([part[0] if self._has_payloads else part for part in parts])
        rows = np.flatnonzero(matches > 0.5)
        if not self._has_payloads:
            return Found(count=float(len(rows)), rows=rows)
        # Of a score within the gap the match, which multiplied its payload, is less than 1.
        weighted = np.concatenate([part[1].T for part in parts])[rows]
        payloads = weighted / matches[rows, None]
        return Found(count=float(len(rows)), rows=rows, payloads=payloads)

    def _require_own(self, client: Client, action: str) -> None:
        """Refuse a client of another index, whose numbers stand for something else."""
        if client.program.fingerprint != self.program.fingerprint:
            raise ProgramMismatchError(
                f"cannot {action}: expected a client of this index, of {self.program.meaning}, got "
                "one of another program; make the index by the options that the client's was made "
                "by, its radius= among them"
            )

    def _of_rows(self, products: NDArray[np.float64]) -> NDArray[np.float64]:
        """Products of the table's rows, without the empty places behind them.

        All where others were added, or an answer is not that of each block: what lies there then,
        only whoever added it knows.
        """
        rows, size = self.shape.rows, self.shape.rows_in_block
        if len(products) != -(-rows // size) * size:
            return products
        results = self.program.estimated_results
        assert results is not None, "an index is a program over reals"
        is_empty = products[rows:] < -1.0 + 2.0 ** -results[0].precision
        return products[:rows] if is_empty.all() else products

    def _told_apart(
        self, parts: Sequence[Any], added: Sequence[int], compaction: Compaction
    ) -> Found:
        """The rows of answers in which they are added up, of so many blocks each."""
        planned = -(-self.shape.rows // self.shape.rows_in_block)
        assert self.program.error is not None, "an index is a program over reals"
        rows: list[Row] = []
        for (matches, totals), blocks in zip(parts, added, strict=True):
            # Of more blocks than were planned the errors grow as independent ones do.
            error = self.program.error * math.sqrt(max(1.0, blocks / planned))
            rows += compaction.rows(matches, totals, error)
        numbers = [
            row.block * self.shape.rows_in_block + self._order(row.block)[row.place] for row in rows
        ]
        order = np.argsort(np.array(numbers, dtype=np.int64))
        payloads = np.array([row.payload for row in rows]).reshape(len(rows), compaction.width)
        return Found(
            count=float(len(rows)),
            rows=np.array(numbers, dtype=np.int64)[order],
            payloads=payloads[order],
        )

    def _order(self, block: int) -> NDArray[np.int64]:
        """For each place of a block its row: any, where rows that lie together share buckets."""
        places = np.arange(self.shape.rows_in_block)
        if self.compaction is None:
            return places
        # Tables outlive versions of numpy, whose newer generators may change their streams.
        return np.random.RandomState(block).permutation(places)

    def _require_numbers(self, blocks: int) -> None:
        """Refuse more blocks than have codes."""
        if self.compaction is not None and blocks > MOST_BLOCKS:
            raise InvalidArgumentError(
                f"cannot add rows: expected {MOST_BLOCKS} blocks at most, got {blocks}; make an "
                "index of more rows_in_block, or one without at_most"
            )

    @property
    def _has_payloads(self) -> bool:
        return bool(self.shape.payload_width) and not self.count_only

    def _record(self) -> Record:
        return {
            "program": self.program.to_record(),
            "nearness": record_of(self.nearness),
            "shape": record_of(self.shape),
            "thresholds": list(self.thresholds),
            "count_only": self.count_only,
            "compaction": record_of(self.compaction),
        }

    @classmethod
    def _of(cls, fields: Fields, limits: ReadLimits) -> Self:
        made = cls(
            Program.from_fields(fields.within("program"), limits),
            fields.value("nearness", Nearness),
            fields.value("shape", Shape),
            fields.value("thresholds", tuple[float, ...]),
            fields.value("count_only", bool),
            fields.value("compaction", Compaction | None),
        )
        shapes = {port.name: port.shape for port in made.program.inputs}
        meaning = meaning_of(made.nearness, made.compaction)
        if shapes != made._shapes() or made.program.meaning != meaning:
            raise fields.wrong("program", "one that searches such a table")
        return made

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of what the program takes, by name."""
        size, columns = self.shape.rows_in_block, self.nearness.width(self.shape.width)
        shapes: dict[str, tuple[int, ...]] = {
            "columns": (columns, size),
            "live": (size,),
            "query": (columns,),
        }
        if self._has_payloads:
            width = self.compaction.columns if self.compaction else self.shape.payload_width
            shapes["payloads"] = (width, size)
        return shapes

    def _block(
        self, number: int, rows: NDArray[np.float64], payloads: NDArray[np.float64] | None
    ) -> dict[str, NDArray[np.float64]]:
        """The numbers of a block, by the names of inputs."""
        size = self.shape.rows_in_block
        units = self.nearness.rows(table(rows, "vectors"))
        order = self._order(number)
        given = {"columns": _filled(units.T, size)[:, order]}
        if payloads is not None and self._has_payloads:
            data = _filled(table(payloads, "payloads").T, size)[:, order]
            given["payloads"] = (
                data if self.compaction is None else self.compaction.of_block(data, number)
            )
        return given


def meaning_of(nearness: Nearness, compaction: Compaction | None) -> str:
    """What the numbers of an index's program stand for, which it does not say itself."""
    if compaction is None:
        return nearness.meaning
    return f"{nearness.meaning}; {compaction.meaning}"


def _require_width(rows: NDArray[np.float64], width: int, what: str) -> None:
    if rows.shape[1] != width:
        raise ShapeMismatchError(
            f"cannot add rows: expected {what} of {width} numbers, as the table has them, got "
            f"{rows.shape[1]}"
        )


def _filled(values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Columns of a block, with zeros behind them."""
    return np.pad(values, [(0, 0), (0, size - values.shape[1])])
