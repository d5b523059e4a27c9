"""Plans how a table of vectors is searched by encrypted queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cloakwork.base.arguments import integer, shown
from cloakwork.errors import InvalidArgumentError, ShapeMismatchError
from cloakwork.frontends.search.compaction import Compaction, least_size
from cloakwork.frontends.search.index import Index, meaning_of
from cloakwork.frontends.search.metrics import Metric, Nearness, table, two_axes
from cloakwork.frontends.search.shape import Shape
from cloakwork.frontends.tensors.compile import compile as compile_function
from cloakwork.frontends.tensors.functions import greater, within
from cloakwork.programs.spec import Spec

# Rows of a table that are looked at together.
_READ = 1 << 14
# Slots of the rings that are cheapest with a threshold and without.
_ROWS_OF_MATCHES, _ROWS_OF_SCORES = 1 << 14, 1 << 12
_FEWEST_ROWS = 1 << 10
_MOST_FOUND = 1 << 20
# Bits after the binary point.
_PRECISION, _PRECISION_OF_TOTALS = 8, 2


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
            default a search gives the scores of all rows. With `count_only` it may be several, and
            the rows beyond each are counted by one pass over the table.
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
    size = rows_in_block or _usual_size(len(rows), least, scores=not thresholds)
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
        _of_block(nearness, thresholds, gap or 1 / 16, count_only, len(specs) > 3, compaction),
        *specs,
        precision=bits,
        log_n=log_n,
        insecure=insecure,
    )
    # Rows and queries are encrypted each by itself, so that no client could look at their products:
    # these are within [-1, 1] by the lengths that are accepted of both.
    program = replace(
        program,
        packing=_with_lengths(program.packing, *nearness.lengths),
        ranges=(),
        meaning=meaning_of(nearness, compaction),
    )
    shape = Shape(len(rows), rows.shape[1], 0 if data is None else data.shape[1], size)
    return Index(program, nearness, shape, thresholds, count_only, compaction, rows, data)


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


def _with_lengths(packing: Any, of_rows: float, of_query: float) -> Any:
    """A packing that takes no longer rows and queries."""
    lengths = {"columns": of_rows, "query": of_query}
    inputs = (replace(port, length=lengths.get(port.name, 0.0)) for port in packing.inputs)
    return replace(packing, inputs=tuple(inputs))


def _usual_size(rows: int, least: int | None, *, scores: bool) -> int:
    """How many rows a block has where nobody says: with a threshold no more than the table needs.

    Args:
        rows: How many the table has.
        least: The places that compaction takes; None where there is no compaction.
        scores: Whether all scores are asked for, without a threshold.
    """
    if scores:
        return _ROWS_OF_SCORES
    needed = max(_FEWEST_ROWS, 1 << (rows - 1).bit_length())
    return max(least or 0, min(_ROWS_OF_MATCHES, needed))


def _of_block(
    nearness: Nearness,
    thresholds: Sequence[float],
    gap: float,
    count_only: bool,
    has_payloads: bool,
    compaction: Compaction | None,
) -> Any:
    """The function that searches a block."""

    def scores(columns: Any, live: Any, query: Any) -> Any:
        return (query @ columns + 1.0) * live - 1.0

    if not thresholds:
        return scores
    each_least = [nearness.product_of(threshold) for threshold in thresholds]

    def matches_of_each(columns: Any, live: Any, query: Any) -> list[Any]:
        products = within(query @ columns, -1.0, 1.0)
        return [greater(products, least, gap) * live for least in each_least]

    def matches(columns: Any, live: Any, query: Any) -> Any:
        return matches_of_each(columns, live, query)[0]

    def count(columns: Any, live: Any, query: Any) -> Any:
        counts = tuple(each.sum() for each in matches_of_each(columns, live, query))
        return counts if len(counts) > 1 else counts[0]

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
