"""A table of vectors that is searched by encrypted queries."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.base.arguments import integer, positive
from cloakwork.errors import (
    InvalidArgumentError,
    NotReplaceableError,
    ProgramMismatchError,
    ShapeMismatchError,
)
from cloakwork.frontends.search.compaction import MOST_BLOCKS, Compaction, least_size
from cloakwork.frontends.search.database import Database, block_path
from cloakwork.frontends.search.metrics import Metric, Nearness, table, two_axes
from cloakwork.frontends.tensors.compile import compile as compile_function
from cloakwork.frontends.tensors.functions import greater, within
from cloakwork.programs.spec import Spec
from cloakwork.runtime.client import Client
from cloakwork.runtime.encrypted import Encrypted
from cloakwork.runtime.evaluator import Evaluator
from cloakwork.runtime.program import Program

# Rows of a table that are looked at together.
_READ = 1 << 14
# Slots of the rings that are cheapest with a threshold and without.
_ROWS_OF_MATCHES, _ROWS_OF_SCORES = 1 << 14, 1 << 12
_FEWEST_ROWS = 1 << 10
_MOST_FOUND = 1 << 20
# Bits after the binary point.
_PRECISION, _PRECISION_OF_TOTALS = 8, 2


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a search found, in the clear.

    Args:
        scores: The nearness of each row, `scores[row]`: cosines, dot products, or distances, not
            their squares. Rows that were removed have the least there can be: -1, minus the square
            of the radius, or twice the radius; so have the places behind the rows of a block, where
            there are more or other blocks than those of the index's table. None with a threshold.
        count: How many rows are nearer than the threshold; None without one.
        rows: Their numbers; None without a threshold, or where they are only counted.
        payloads: Their payloads, a row each; None where there are none.
        metric: What the scores are.
    """

    scores: NDArray[np.float64] | None = None
    count: float | None = None
    rows: NDArray[np.int64] | None = None
    payloads: NDArray[np.float64] | None = None
    metric: Metric = "cosine"

    def nearest(self, count: int) -> NDArray[np.int64]:
        """The numbers of the rows that are nearest, the nearest first, of all scores.

        Args:
            count: How many; rows that were removed come last.

        Raises:
            InvalidArgumentError: The index has a threshold, or there are not as many scores.

        Example:
            >>> Found(scores=np.array([0.1, 0.9, 0.5])).nearest(2).tolist()
            [1, 2]
        """
        if self.scores is None:
            raise InvalidArgumentError(
                "cannot tell the nearest rows: expected all scores, got what lies beyond a "
                "threshold; make the index without one"
            )
        most = integer(count, "count", "tell the nearest rows", least=1, most=len(self.scores))
        falling = self.scores if self.metric == "euclidean" else -self.scores
        return np.argsort(falling, kind="stable")[:most]


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """A plan of searching a table; made by `cloakwork.index`.

    The owner makes keys, encrypts the table and queries, and reads answers by it. What searches is
    the `Database` that `encrypt` makes, with the evaluator.

    Args:
        program: Searches one block of rows.
        nearness: The metric.
        vectors: The table, a row each.
        payloads: What a row that is found gives, a row each; None for nothing.
        rows_in_block: How many rows a block has.
        threshold: The nearness from which on rows are found; None where all scores are asked for.
        count_only: Whether rows are only counted.
        compaction: How payloads are added up in a small answer; None where each row has its place.

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

    program: Program
    nearness: Nearness
    vectors: NDArray[np.float64]
    payloads: NDArray[np.float64] | None
    rows_in_block: int
    threshold: float | None
    count_only: bool
    compaction: Compaction | None = None

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
        """
        if any(Path(folder).glob("*.rows")):
            raise NotReplaceableError(
                f"cannot encrypt a table: {folder} has blocks of one; give another folder, or add "
                "rows to that table by add"
            )
        self.add(client, folder, self.vectors, self.payloads)
        return Database(folder)

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
        rows = two_axes(vectors, "vectors")
        data = None if payloads is None else two_axes(payloads, "payloads")
        _require_width(rows, self.vectors.shape[1], "vectors")
        if (data is None) != (self.payloads is None) or (
            data is not None and len(data) != len(rows)
        ):
            raise ShapeMismatchError(
                "cannot add rows: expected payloads as the table has them, one for each vector; "
                f"got {'none' if data is None else len(data)} for {len(rows)}"
            )
        if data is not None and self.payloads is not None:
            _require_width(data, self.payloads.shape[1], "payloads")
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        first = max((int(path.stem) + 1 for path in place.glob("*.rows")), default=0)
        size = self.rows_in_block
        self._require_numbers(first - (-len(rows) // size))
        for number, start in enumerate(range(0, len(rows), size), start=first):
            chunk = slice(start, start + size)
            self._write(client, place, number, rows[chunk], None if data is None else data[chunk])
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
            ProgramMismatchError: The client is of another index.
        """
        self._require_own(client, "remove rows")
        live = np.zeros(self.rows_in_block)
        live[np.asarray(rows, dtype=np.int64) - block * self.rows_in_block] = 1.0
        live = live[self._order(block)]
        client.encrypt(live=live).save(block_path(Path(folder), block, "live"))

    def query(self, client: Client, vector: ArrayLike) -> Encrypted:
        """An encrypted query.

        Raises:
            ShapeMismatchError: It has another dimension than the table's vectors.
            ValueOutOfRangeError: It is longer than the radius.
            ProgramMismatchError: The client is of another index.
        """
        self._require_own(client, "encrypt a query")
        given = np.asarray(vector, dtype=np.float64)
        if given.shape != self.vectors.shape[1:]:
            raise ShapeMismatchError(
                f"cannot search: expected a query of shape {self.vectors.shape[1:]}, as the "
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
        if self.threshold is None:
            products = self._of_rows(np.concatenate([np.ravel(part) for part in parts]))
            return Found(scores=self.nearness.of_products(products), metric=self.nearness.metric)
        if self.count_only:
            return Found(count=float(np.sum([np.ravel(part) for part in parts])))
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
        rows, size = len(self.vectors), self.rows_in_block
        if len(products) != -(-rows // size) * size:
            return products
        results = self.program.estimated_results
        assert results is not None, "an index is a program over reals"
        is_empty = products[rows:] < -1.0 + 2.0 ** -results[0].precision
        return products[:rows] if is_empty.all() else products

    def _told_apart(
        self, parts: Sequence[Any], added: Sequence[int], compaction: Compaction
    ) -> Found:
        """The rows of answers in which they are added up."""
        rows = [
            row
            for part, times in zip(parts, added, strict=True)
            for row in compaction.rows(part, (self.program.error or 0.0) * times)
            if row.match > 0.5
        ]
        numbers = [
            row.block * self.rows_in_block + self._order(row.block)[row.place] for row in rows
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
        places = np.arange(self.rows_in_block)
        if self.compaction is None:
            return places
        return np.random.default_rng(block).permutation(places)

    def _require_numbers(self, blocks: int) -> None:
        """Refuse more blocks than their numbers tell apart."""
        if self.compaction is not None and blocks > MOST_BLOCKS:
            raise InvalidArgumentError(
                f"cannot add rows: expected {MOST_BLOCKS} blocks at most, got {blocks}; make an "
                "index of more rows_in_block, or one without at_most"
            )

    @property
    def _has_payloads(self) -> bool:
        return self.payloads is not None and not self.count_only

    def _write(
        self,
        client: Client,
        folder: Path,
        number: int,
        rows: NDArray[np.float64],
        payloads: NDArray[np.float64] | None,
    ) -> None:
        size = self.rows_in_block
        units = self.nearness.rows(table(rows, "vectors"))
        order = self._order(number)
        given = {"columns": _filled(units.T, size)[:, order]}
        if payloads is not None and self._has_payloads:
            data = _filled(table(payloads, "payloads").T, size)[:, order]
            given["payloads"] = (
                data if self.compaction is None else self.compaction.of_block(data, number)
            )
        client.encrypt(**given).save(block_path(folder, number, "rows"))
        live = order < len(rows)
        client.encrypt(live=live.astype(np.float64)).save(block_path(folder, number, "live"))


def index(
    vectors: ArrayLike,
    payloads: ArrayLike | None = None,
    *,
    metric: Metric = "cosine",
    threshold: float | None = None,
    gap: float | None = None,
    count_only: bool = False,
    at_most: int | None = None,
    radius: float | None = None,
    precision: int | None = None,
    rows_in_block: int | None = None,
    log_n: int | None = None,
    insecure: bool = False,
) -> Index:
    """Plan how an encrypted table is searched by encrypted queries.

    Blocks of rows stand with one coordinate in each ciphertext, so that a score of every row takes
    as many products as vectors have coordinates, no rotation, and one key switch.

    Args:
        vectors: The table, a row each; a `numpy.memmap` is read block by block when it is
            encrypted.
        payloads: Numbers that a search gives of each row that it finds, a row each.
        metric: What is compared: `cosine`, `dot` products, or `euclidean` distances.
        threshold: Rows of a larger cosine or dot product, or a smaller distance, are found. By
            default a search gives the scores of all rows.
        gap: How far scores of rows are from the threshold, on the scale of cosines, at the least
            to be told apart for certain; by default 1/16. Of one that is closer the match, and its
            part of the count, is a number between 0 and 1.
        count_only: Whether a search gives nothing but the number of rows that it finds.
        at_most: How many rows with payloads a search finds at most: their payloads are added up in
            an answer that is small however large the table is, and of more rows `found` says that
            they are too many. By default an answer has a place for every row.
        radius: The largest length of a vector or query, for dot products and distances; by default
            that of the table's longest.
        precision: Bits after the binary point of scores, matches and payloads; by default 8, and 2
            with `at_most`, so that payloads which are integers are right when they are rounded.
            Errors of a total are as many times as large as there are blocks.
        rows_in_block: How many rows are searched at once; by default one for each slot.
        log_n: As of `cloakwork.compile`.
        insecure: As of `cloakwork.compile`.

    Raises:
        InvalidArgumentError: A table is not one of finite numbers, or an option contradicts
            another.
        ShapeMismatchError: There are not as many payloads as vectors.
        ValueOutOfRangeError: A vector has no direction, or is longer than the radius.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> rows = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])
        >>> small = {"log_n": 10, "insecure": True, "rows_in_block": 4}
        >>> search = index(rows, metric="euclidean", threshold=1.2, gap=0.1, **small)
        >>> client, evaluator = search.keygen()
        >>> database = search.encrypt(client, tempfile.mkdtemp())
        >>> answers = database.search(evaluator, search.query(client, [0.8, 0.6]))
        >>> search.found(client, answers).rows.tolist()
        [0, 1]
    """
    rows = two_axes(vectors, "vectors")
    data = None if payloads is None else two_axes(payloads, "payloads")
    if data is not None and len(data) != len(rows):
        raise ShapeMismatchError(
            f"cannot search: expected payloads for {len(rows)} vectors, got {len(data)}; give one "
            "for each"
        )
    if threshold is None and (count_only or gap is not None or data is not None):
        raise InvalidArgumentError(
            "cannot search: expected a threshold, from which on rows are counted and give their "
            "payloads, got none; give one, or ask for scores alone"
        )
    longest = max(
        float(np.linalg.norm(table(rows[start : start + _READ], "vectors"), axis=1).max())
        for start in range(0, len(rows), _READ)
    )
    nearness = Nearness(metric, _radius(metric, radius, longest))
    most = (
        None
        if at_most is None
        else integer(at_most, "at_most", "search", least=1, most=_MOST_FOUND)
    )
    if most is not None and (data is None or count_only):
        raise InvalidArgumentError(
            "cannot search: expected payloads for the rows that are found, got at_most without "
            "them; leave it out, or give payloads"
        )
    least = None if most is None or data is None else least_size(data.shape[1], most)
    size = rows_in_block or _usual_size(len(rows), threshold, least)
    bound = 1.0 if data is None else float(np.abs(table(data, "payloads")).max()) or 1.0
    compaction = None
    if most is not None and data is not None:
        compaction = Compaction(size, data.shape[1], bound, most)
    columns = nearness.width(rows.shape[1])
    specs = [Spec((columns, size)), Spec((size,), low=0.0, high=1.0), Spec((columns,))]
    bits = _PRECISION if precision is None else precision
    if compaction is not None:
        specs.append(Spec((compaction.columns, size)))
        bits = compaction.bits(_PRECISION_OF_TOTALS if precision is None else precision)
    elif data is not None and not count_only:
        specs.append(Spec((data.shape[1], size), bound=bound))
    program = compile_function(
        _of_block(nearness, threshold, gap or 1 / 16, count_only, len(specs) > 3, compaction),
        *specs,
        precision=bits,
        log_n=log_n,
        insecure=insecure,
    )
    # Rows and queries come of `nearness`, whose products are within [-1, 1]; each is encrypted by
    # itself, so that no client could look at both.
    parts = [nearness.meaning] if compaction is None else [nearness.meaning, compaction.meaning]
    program = replace(program, ranges=(), meaning="; ".join(parts))
    return Index(program, nearness, rows, data, size, threshold, count_only, compaction)


def _radius(metric: Metric, asked: float | None, longest: float) -> float:
    """What vectors are divided by, beyond the length of each where that does not count."""
    if metric == "cosine":
        return 1.0
    return (longest or 1.0) if asked is None else positive(asked, "radius", "search")


def _usual_size(rows: int, threshold: float | None, least: int | None) -> int:
    """How many rows a block has where nobody says: with a threshold no more than the table needs.

    Args:
        rows: How many the table has.
        threshold: That of the index.
        least: The places that compaction takes; None where there is no compaction.
    """
    if threshold is None:
        return _ROWS_OF_SCORES
    needed = max(_FEWEST_ROWS, 1 << (rows - 1).bit_length())
    return max(least or 0, min(_ROWS_OF_MATCHES, needed))


def _of_block(
    nearness: Nearness,
    threshold: float | None,
    gap: float,
    count_only: bool,
    has_payloads: bool,
    compaction: Compaction | None,
) -> Any:
    """The function that searches a block."""

    def scores(columns: Any, live: Any, query: Any) -> Any:
        return (query @ columns + 1.0) * live - 1.0

    if threshold is None:
        return scores
    least = nearness.product_of(threshold)

    def matches(columns: Any, live: Any, query: Any) -> Any:
        return greater(within(query @ columns, -1.0, 1.0), least, gap) * live

    def count(columns: Any, live: Any, query: Any) -> Any:
        return matches(columns, live, query).sum()

    def found(columns: Any, live: Any, query: Any, payloads: Any) -> Any:
        which = matches(columns, live, query)
        return which, payloads * which

    def totals(columns: Any, live: Any, query: Any, payloads: Any) -> Any:
        assert compaction is not None
        return compaction.tables(matches(columns, live, query), payloads)

    if count_only:
        return count
    if compaction is not None:
        return totals
    return found if has_payloads else matches


def _require_width(rows: NDArray[np.float64], width: int, what: str) -> None:
    if rows.shape[1] != width:
        raise ShapeMismatchError(
            f"cannot add rows: expected {what} of {width} numbers, as the table has them, got "
            f"{rows.shape[1]}"
        )


def _filled(values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Columns of a block, with zeros behind them."""
    return np.pad(values, [(0, 0), (0, size - values.shape[1])])
