"""Plans how a table of vectors is searched by encrypted queries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from cloakwork.base.arguments import bytes_limit, integer, positive, shown
from cloakwork.errors import InvalidArgumentError, ShapeMismatchError
from cloakwork.frontends.search.asked import Answer, Search
from cloakwork.frontends.search.block import program_within
from cloakwork.frontends.search.compaction import Compaction
from cloakwork.frontends.search.index import Index, meaning_of
from cloakwork.frontends.search.metrics import Metric, Nearness, table, two_axes
from cloakwork.frontends.search.shape import Shape
from cloakwork.programs.layout import MAX_SLOTS

# Rows of a table that are looked at together.
_READ = 1 << 14
_MOST_FOUND = 1 << 20
# Bits after the binary point.
_PRECISION, _PRECISION_OF_TOTALS, _MOST_BITS = 8, 3, 60


def index(
    vectors: ArrayLike,
    payloads: ArrayLike | None = None,
    *,
    metric: Metric = "cosine",
    threshold: float | Sequence[float] | None = None,
    gap: float | None = None,
    count_only: bool = False,
    at_most: int | None = None,
    radius: float | None = None,
    precision: int | None = None,
    rows_in_block: int | None = None,
    table_budget: int | None = None,
    log_n: int | None = None,
    insecure: bool = False,
) -> Index:
    """Plan how an encrypted table is searched by encrypted queries.

    Blocks of rows stand with one coordinate in each ciphertext and two rows in each slot, so that
    the scores of a block take as many products as vectors have coordinates, no rotation, and one
    key switch. Where rows are few, ciphertexts hold several coordinates.

    Args:
        vectors: The table, a row each; a `numpy.memmap` is read block by block when it is
            encrypted.
        payloads: Numbers that a search gives of each row that it finds, a row each.
        metric: What is compared: `cosine`, `dot` products, or `euclidean` distances.
        threshold: Rows of a larger cosine or dot product, or a smaller distance, are found. By
            default a search gives the scores of all rows. With `count_only` it may be several, and
            the rows beyond each are counted by one pass over the table.
        gap: How far scores of rows are from the threshold, on the scale of cosines, at the least
            to be told apart for certain; by default 1/16. Of one that is closer the match, and its
            part of the count, is a number between 0 and 1.
        count_only: Whether a search gives nothing but the number of rows that it finds.
        at_most: How many rows with payloads a search finds at most: blocks are added up in an
            answer that is small however large the table is, and where two of the rows meet there,
            as of many some do, `found` says so. By default an answer has a place for every row.
        radius: The largest length of a vector or query, for dot products and distances; by default
            that of the table's longest.
        precision: Bits after the binary point of scores, matches and payloads; by default 8. With
            `count_only` and `at_most` those of the total of as many blocks as the table has; by
            default 3, so that counts, and payloads which are integers, are right when they are
            rounded.
        rows_in_block: How many rows are searched at once; by default two for each slot.
        table_budget: Bytes that the encrypted table may take on disk, by default any number. A
            search with a threshold takes longer where it is that of the smaller of two layouts.
        log_n: As of `cloakwork.compile`.
        insecure: As of `cloakwork.compile`.

    Raises:
        InvalidArgumentError: A table is not one of finite numbers, or an option contradicts
            another.
        ShapeMismatchError: There are not as many payloads as vectors.
        ValueOutOfRangeError: A vector has no direction, or is longer than the radius.
        TableBudgetError: No layout of the table is within `table_budget`.

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
    budget = bytes_limit(table_budget, "table_budget", "search")
    rows = two_axes(vectors, "vectors")
    data = None if payloads is None else two_axes(payloads, "payloads")
    if data is not None and len(data) != len(rows):
        raise ShapeMismatchError(
            f"cannot search: expected payloads for {len(rows)} vectors, got {len(data)}; give one "
            "for each"
        )
    thresholds = _thresholds(threshold)
    if not thresholds and (count_only or gap is not None or data is not None):
        raise InvalidArgumentError(
            "cannot search: expected a threshold, from which on rows are counted and give their "
            "payloads, got none; give one, or ask for scores alone"
        )
    if len(thresholds) > 1 and not count_only:
        raise InvalidArgumentError(
            f"cannot search: expected one threshold, got {len(thresholds)} without count_only; say "
            "count_only=True, or make an index for each"
        )
    longest = max(
        float(np.linalg.norm(table(rows[start : start + _READ], "vectors"), axis=1).max())
        for start in range(0, len(rows), _READ)
    )
    nearness = Nearness(metric, _radius(metric, radius, longest or 1.0))
    most = _checked(at_most, "at_most", 1, _MOST_FOUND)
    bits = _checked(precision, "precision", 0, _MOST_BITS)
    if most is not None and (data is None or count_only):
        raise InvalidArgumentError(
            "cannot search: expected payloads for the rows that are found, got at_most without "
            "them; leave it out, or give payloads"
        )
    bound = 1.0 if data is None else float(np.abs(table(data, "payloads")).max()) or 1.0
    compaction = None
    if bits is None:
        bits = _PRECISION_OF_TOTALS if count_only or most is not None else _PRECISION
    if most is not None and data is not None:
        compaction = Compaction(data.shape[1], bound, most)
        bits = compaction.bits(bits)
    has_payloads = data is not None and not count_only
    answers: dict[Answer, bool] = {
        "scores": not thresholds,
        "count": count_only,
        "payloads": has_payloads,
        "matches": True,
    }
    numbers = 0 if data is None else data.shape[1]
    search = Search(
        answer=next(answer for answer, is_asked in answers.items() if is_asked),
        ends=nearness.ends,
        cuts=tuple(nearness.product_of(threshold) for threshold in thresholds),
        gap=positive(gap or 1 / 16, "gap", "search"),
        width=nearness.width(rows.shape[1]),
        size=_checked(rows_in_block, "rows_in_block", 1, 2 * MAX_SLOTS),
        rows=len(rows),
        lengths=nearness.lengths,
        payload_width=compaction.columns if compaction else numbers,
        bound=1.0 if compaction else bound,
        precision=bits,
        is_total=count_only or most is not None,
    )
    meaning = meaning_of(nearness, compaction)
    program = program_within(search, meaning, budget, log_n, insecure=insecure)
    (size,) = program.inputs[1].shape
    shape = Shape(len(rows), rows.shape[1], numbers, size)
    return Index(program, nearness, shape, thresholds, count_only, compaction, rows, data)


def _checked(given: int | None, name: str, least: int, most: int) -> int | None:
    return None if given is None else integer(given, name, "search", least=least, most=most)


def _thresholds(given: float | Sequence[float] | None) -> tuple[float, ...]:
    """Those that are given, none for the scores of all rows."""
    if given is None:
        return ()
    try:
        found = np.atleast_1d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        found = np.array([])
    if found.ndim != 1 or not found.size or not np.isfinite(found).all():
        raise InvalidArgumentError(
            f"cannot search: expected a threshold, or several, as finite numbers, got "
            f"{shown(given)}; leave it out for the scores of all rows"
        )
    return tuple(found.tolist())


def _radius(metric: Metric, asked: float | None, longest: float) -> float:
    """What vectors are divided by, beyond the length of each where that does not count."""
    if metric == "cosine":
        return 1.0
    return longest if asked is None else asked
