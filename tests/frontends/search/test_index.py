"""Encrypted tables give for encrypted queries what numpy gives in the clear."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import cloakwork as cw
from cloakwork.errors import (
    FileMissingError,
    InvalidArgumentError,
    KeyMismatchError,
    MalformedBytesError,
    NotFiniteError,
    NotReplaceableError,
    ProgramMismatchError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.frontends.search.found import Found
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime import container

SMALL: dict[str, Any] = {"log_n": 10, "insecure": True, "rows_in_block": 8}
FEW: dict[str, Any] = {"log_n": 8, "insecure": True, "rows_in_block": 128}
BUCKETS: dict[str, Any] = {"threshold": 0.5, "gap": 0.25, "at_most": 1, **FEW}
Array = NDArray[np.float64]


def drawn(rng: np.random.Generator) -> tuple[Array, Array]:
    """A table of three blocks, the last of which is not full, and a query."""
    return rng.normal(size=(20, 5)), rng.normal(size=5)


def nearness(metric: str, rows: Array, query: Array) -> Array:
    match metric:
        case "cosine":
            lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(query)
            return np.asarray(rows @ query / lengths)
        case "dot":
            return np.asarray(rows @ query)
        case _:
            return np.asarray(np.linalg.norm(rows - query, axis=1))


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
def test_scores_are_those_of_numpy(metric: Any, tmp_path: Path) -> None:
    rows, query = drawn(np.random.default_rng(0))
    index = cw.index(rows, metric=metric, radius=6.0, precision=16, **SMALL)
    client, evaluator = index.keygen()
    database = index.encrypt(client, tmp_path)
    assert database.blocks == (0, 1, 2)
    found = index.found(client, database.search(evaluator, index.query(client, query)))
    assert found.scores is not None
    assert found.scores.shape == (20,)
    assert np.abs(found.scores - nearness(metric, rows, query)).max() < 0.01
    index.add(client, tmp_path, rows[:2])
    for others in ([7], [16], [-1]):
        with pytest.raises(cw.errors.IndexOutOfRangeError, match="8 to 15"):
            index.keep(client, tmp_path, 1, others)
    index.keep(client, tmp_path, 1, range(8, 15))
    more = index.found(client, database.search(evaluator, index.query(client, query))).scores
    assert more is not None
    assert more.shape == (32,)
    assert np.abs(more[24:26] - found.scores[:2]).max() < 0.01
    least = {"cosine": -1.0, "dot": -36.0, "euclidean": 12.0}[metric]
    empty = [15, *range(20, 24), *range(26, 32)]
    assert np.abs(more[empty] - least).max() < 0.01


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
def test_nearest_rows_of_several_queries_are_those_of_numpy(metric: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    rows, queries = rng.normal(size=(20, 5)), rng.normal(size=(4, 5))
    index = cw.index(rows, metric=metric, radius=6.0, precision=16, **SMALL)
    client, evaluator = index.keygen()
    database = index.encrypt(client, tmp_path)
    sent = [index.query(client, query) for query in queries]
    by_query = zip(*database.search_each(evaluator, sent), strict=True)
    for query, answers in zip(queries, by_query, strict=True):
        scores = nearness(metric, rows, query)
        expected = np.argsort(scores if metric == "euclidean" else -scores)[:5]
        assert index.found(client, answers).nearest(5).tolist() == expected.tolist()


def test_no_score_is_lost_of_a_table_of_other_rows_than_those_of_the_index(tmp_path: Path) -> None:
    rows, query = drawn(np.random.default_rng(5))
    index = cw.index(rows[:5], **SMALL)
    client, evaluator = index.keygen()
    index.add(client, tmp_path, rows[:7])
    database = cw.Database(tmp_path)
    found = index.found(client, database.search(evaluator, index.query(client, query)))
    assert found.scores is not None
    assert found.scores.shape == (8,)
    assert np.abs(found.scores[:7] - nearness("cosine", rows[:7], query)).max() < 0.01


def test_nearest_rows_are_told_of_all_scores_alone() -> None:
    with pytest.raises(InvalidArgumentError, match="got what lies beyond a threshold"):
        Found(count=2.0).nearest(1)


def middle_of_widest_gap(scores: Array) -> float:
    """A threshold that no score is near to, with some on either side."""
    ordered = np.sort(scores)[1:-1]
    place = int(np.diff(ordered).argmax())
    return float(ordered[place : place + 2].mean())


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
def test_rows_above_a_threshold_are_found(metric: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows, query = drawn(rng)
    payloads = rng.integers(0, 4096, (20, 3))
    scores = nearness(metric, rows, query)
    threshold = middle_of_widest_gap(scores)
    radius = float(np.linalg.norm([*rows, query], axis=1).max())
    index = cw.index(
        rows, payloads, metric=metric, radius=radius, threshold=threshold, gap=1 / 256, **SMALL
    )
    client, evaluator = index.keygen()
    database = index.encrypt(client, tmp_path)
    found = index.found(client, database.search(evaluator, index.query(client, query)))
    expected = np.flatnonzero(scores < threshold if metric == "euclidean" else scores > threshold)
    assert found.rows is not None
    assert found.payloads is not None
    assert found.rows.tolist() == expected.tolist()
    assert (found.payloads.round() == payloads[expected]).all()


def test_payloads_of_scores_within_the_gap_are_right(tmp_path: Path) -> None:
    rows = np.array([[np.cos(angle), np.sin(angle)] for angle in np.linspace(0, 1, 16)])
    payloads = np.arange(16)[:, None]
    index = cw.index(rows, payloads, threshold=0.8, gap=0.25, **SMALL)
    client, evaluator = index.keygen()
    database = index.encrypt(client, tmp_path)
    found = index.found(client, database.search(evaluator, index.query(client, [1.0, 0.0])))
    assert found.rows is not None
    assert found.payloads is not None
    assert found.rows.tolist() == np.flatnonzero(rows[:, 0] > 0.8).tolist()
    assert (found.payloads[:, 0].round() == found.rows).all()


def test_few_payloads_of_many_rows_are_a_small_answer(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(300, 12))
    payloads = rng.integers(0, 64, (300, 1))
    rows[[7, 140, 290]] = rows[7] + rng.normal(size=(3, 12)) / 32
    small = {**SMALL, "log_n": 8, "rows_in_block": 128}
    index = cw.index(rows, payloads, threshold=0.95, gap=1 / 32, at_most=1, **small)
    client, evaluator = index.keygen()
    database = index.encrypt(client, tmp_path)
    query = index.query(client, rows[7])
    total = database.total(evaluator, query)
    assert (total.added, total.numbers()) == (3, frozenset({0, 1, 2}))
    for answers in (total, database.search(evaluator, query)):
        found = index.found(client, answers)
        assert found.rows is not None
        assert found.payloads is not None
        assert found.rows.tolist() == [7, 140, 290]
        assert (found.payloads.round() == payloads[found.rows]).all()
    index.keep(client, tmp_path, 1, [*range(128, 140), *range(141, 256)])
    left = index.found(client, database.total(evaluator, query)).rows
    assert left is not None
    assert left.tolist() == [7, 290]
    with pytest.raises(ValueOutOfRangeError, match="payloads"):
        index.add(client, tmp_path, rows[:1], [[64]])


def test_totals_in_which_rows_are_lost_are_refused(tmp_path: Path) -> None:
    index = cw.index(np.eye(5)[[0, 1, 0, 2, 0, 3, 4, 0, 1]], **SMALL)
    client, evaluator = index.keygen()
    database = index.encrypt(client, tmp_path)
    total = database.total(evaluator, index.query(client, np.eye(5)[0]))
    with pytest.raises(InvalidArgumentError, match="answer of each block"):
        index.found(client, total)


def test_rows_are_added_removed_and_counted(tmp_path: Path) -> None:
    rows = np.eye(5)[[0, 1, 0, 2, 0, 3, 4, 0, 1]]
    index = cw.index(rows, threshold=0.5, gap=0.25, count_only=True, **SMALL)
    client, evaluator = index.keygen()
    database = index.encrypt(client, tmp_path)
    query = index.query(client, np.eye(5)[0])

    def count() -> float:
        found = index.found(client, database.total(evaluator, query))
        assert found.count is not None
        return found.count

    assert abs(count() - 4) < 0.1
    assert index.add(client, tmp_path, np.eye(5)[[0, 1]]) == range(16, 18)
    assert abs(count() - 5) < 0.1
    index.keep(client, tmp_path, 0, [0, 1, 2, 3])
    assert abs(count() - 3) < 0.1
    # A table may have several times as many blocks as the index was planned for.
    index.add(client, tmp_path, np.eye(5)[[0] * 97])
    assert abs(count() - 100) < 0.1


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_rows_beyond_several_thresholds_are_counted_in_one_pass(
    metric: Any, tmp_path: Path
) -> None:
    angles = np.linspace(0.05, 3.1, 20)
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    query = np.array([1.0, 0.0])
    scores = nearness(metric, rows, query)
    cuts = np.sort(scores)[[4, 11, 16]] + np.diff(np.sort(scores))[[4, 11, 16]] / 2
    options = {"metric": metric, "radius": 1.0, "gap": 1 / 256, "count_only": True, **SMALL}
    index = cw.index(rows, threshold=tuple(cuts), **options)
    alone = cw.index(rows, threshold=cuts[0], **options)
    several, one = (
        Counter(each.kind for each in made.program.body.operations)["mul"]
        for made in (index, alone)
        if isinstance(made.program.body, SlotProgram)
    )
    assert several < 3 * one
    index.save(tmp_path / "index")
    client, evaluator = index.keygen()
    database = index.encrypt(client, tmp_path / "table")
    total = database.total(evaluator, index.query(client, query))
    found = cw.load(tmp_path / "index", cw.Index, insecure=True).found(client, total)
    beyond = scores < cuts[:, None] if metric == "euclidean" else scores > cuts[:, None]
    assert found.counts is not None
    assert found.counts.round().tolist() == beyond.sum(axis=1).tolist()
    assert found.count == found.counts[0]


def test_a_table_in_a_file_is_read_block_by_block(tmp_path: Path) -> None:
    rows, query = drawn(np.random.default_rng(2))
    np.save(tmp_path / "rows.npy", rows.astype(np.float32))
    index = cw.index(np.load(tmp_path / "rows.npy", mmap_mode="r"), **SMALL)
    assert isinstance(index.vectors, np.memmap)
    client, evaluator = index.keygen()
    database = index.encrypt(client, tmp_path / "blocks")
    found = index.found(client, database.search(evaluator, index.query(client, query)))
    assert found.scores is not None
    assert np.abs(found.scores - nearness("cosine", rows, query)).max() < 0.01


SAVED: list[dict[str, Any]] = [
    {"metric": "euclidean", "radius": 6.0, "precision": 16, **SMALL},
    {"threshold": 0.5, "gap": 0.25, **SMALL},
    {"threshold": 0.5, "gap": 0.25, "count_only": True, **SMALL},
    BUCKETS,
]


@pytest.mark.parametrize("options", SAVED)
def test_an_index_of_a_file_adds_rows_and_finds_them(
    options: dict[str, Any], tmp_path: Path
) -> None:
    rows = np.eye(5)
    payloads = np.arange(5)[:, None] if "threshold" in options else None
    made = cw.index(rows, payloads, **options)
    made.save(tmp_path / "index")
    index = cw.load(tmp_path / "index", cw.Index, insecure=True)
    assert index.program.fingerprint == made.program.fingerprint
    client, evaluator = made.keygen()
    assert index.add(client, tmp_path / "table", rows, payloads) == range(5)
    database = cw.Database(tmp_path / "table")
    answers = list(database.search(evaluator, index.query(client, rows[3])))
    for each in (index, made):
        found = each.found(client, answers)
        if found.scores is not None:
            assert (found.scores.shape, found.nearest(1).tolist()) == ((5,), [3])
        else:
            assert round(found.count or 0.0) == 1
        if found.payloads is not None:
            assert found.payloads.round().tolist() == [[3.0]]
    with pytest.raises(InvalidArgumentError, match="encrypt its rows by add"):
        index.encrypt(client, tmp_path / "more")


@pytest.mark.parametrize(
    "change",
    [
        {"nearness": {"metric": "dot", "radius": 5.0}},
        {"nearness": {"metric": "dot", "radius": -6.0}},
        {"shape": {"rows": 20, "width": 4, "payload_width": 0, "rows_in_block": 8}},
        {"shape": {"rows": 20, "width": 5, "payload_width": 1, "rows_in_block": 8}},
        {"compaction": {"size": 128, "width": 1, "bound": 8.0, "at_most": 1}},
        {"thresholds": "high"},
    ],
)
def test_a_file_whose_parts_are_not_of_one_index_is_refused(
    change: dict[str, Any], tmp_path: Path
) -> None:
    index = cw.index(np.ones((20, 5)), metric="dot", radius=6.0, **SMALL)
    container.write(tmp_path / "index", "index file", {**index._record(), **change})
    with pytest.raises(MalformedBytesError):
        cw.load(tmp_path / "index", cw.Index, insecure=True)


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
def test_longer_vectors_are_refused_by_whatever_way_they_are_encrypted(metric: Any) -> None:
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(7, 5))
    index = cw.index(rows, metric=metric, radius=6.0, **SMALL)
    client, _ = index.keygen()
    longest = [12.0, 0.0, 0.0, 0.0, 0.0]
    if metric != "cosine":
        longest[0] = 6.0
    query, columns = index.nearness.query(np.array(longest)), np.zeros((index.nearness.width(5), 8))
    columns[:, 3] = index.nearness.rows(np.array([longest]))[0]
    lengths = np.linalg.norm(columns, axis=0).max(), np.linalg.norm(query)
    np.testing.assert_allclose(lengths, index.nearness.lengths)
    client.encrypt(query=query)
    client.encrypt(columns=columns)
    for given in ({"query": query * 1.01}, {"columns": columns * 1.01}):
        with pytest.raises(ValueOutOfRangeError):
            client.encrypt(**given)
    with pytest.raises(NotFiniteError):
        index.query(client, [np.nan, 0.0, 0.0, 0.0, 1.0])
    with pytest.raises(ValueOutOfRangeError, match="vectors of length"):
        client.encrypt(query=np.full(query.shape, 0.9))


def test_wrong_use_is_named(tmp_path: Path) -> None:
    rows = np.eye(4)
    index = cw.index(rows, rows[:, :2], metric="dot", threshold=0.5, **SMALL)
    client, evaluator = index.keygen()
    database = index.encrypt(client, tmp_path)
    with pytest.raises(ShapeMismatchError, match="a query of shape"):
        index.query(client, [1.0, 0.0])
    with pytest.raises(ValueOutOfRangeError, match="larger radius"):
        index.query(client, [5.0, 0.0, 0.0, 0.0])
    with pytest.raises(ShapeMismatchError, match="vectors of 4 numbers"):
        index.add(client, tmp_path, np.eye(3), np.ones((3, 2)))
    with pytest.raises(ShapeMismatchError, match="payloads of 2 numbers"):
        index.add(client, tmp_path, rows, np.ones((4, 3)))
    with pytest.raises(ShapeMismatchError, match="one for each vector"):
        index.add(client, tmp_path, rows)
    with pytest.raises(NotReplaceableError, match="has blocks of one"):
        index.encrypt(client, tmp_path)
    other, _ = index.keygen()
    with pytest.raises(KeyMismatchError):
        next(database.search(evaluator, index.query(other, rows[0])))
    with pytest.raises(FileMissingError, match="blocks of encrypted rows"):
        cw.Database(tmp_path / "empty")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"metric": "dot", "radius": 2.0}, {"metric": "dot", "radius": 3.0}),
        ({"metric": "dot", "radius": 2.0}, {"metric": "dot"}),
        ({"metric": "cosine"}, {"metric": "dot", "radius": 1.0}),
        (
            {"metric": "euclidean", "radius": 2.0, "threshold": 1.0, "gap": 0.25},
            {"metric": "euclidean", "radius": 4.0, "threshold": 2.0, "gap": 0.25},
        ),
    ],
)
def test_indexes_whose_scores_differ_refuse_one_another(
    first: dict[str, Any], second: dict[str, Any], tmp_path: Path
) -> None:
    rows = np.eye(4)
    index, again, other = (cw.index(rows, **each, **SMALL) for each in (first, first, second))
    require_apart(index, other, tmp_path)
    client, evaluator = index.keygen()
    database = again.encrypt(client, tmp_path)
    found = again.found(client, database.search(evaluator, again.query(client, rows[0])))
    nearest = found.nearest(1) if found.rows is None else found.rows
    assert nearest.tolist() == [0]


def test_indexes_whose_payloads_are_of_other_units_refuse_one_another(tmp_path: Path) -> None:
    rows = np.eye(4)
    index, other = (cw.index(rows, rows[:, :1] * most, **BUCKETS) for most in (8, 7))
    require_apart(index, other, tmp_path)


def require_apart(index: cw.Index, other: cw.Index, folder: Path) -> None:
    """See that an index refuses whatever it is given of another one."""
    rows, payloads = other.vectors, other.payloads
    assert rows is not None
    client, evaluator = index.keygen()
    database = index.encrypt(client, folder / "first")
    query = index.query(client, rows[0])
    answers = list(database.search(evaluator, query))
    another, searches = other.keygen()
    uses: list[Callable[[], Any]] = [
        lambda: other.query(client, rows[0]),
        lambda: other.encrypt(client, folder / "second"),
        lambda: other.add(client, folder / "first", rows, payloads),
        lambda: other.keep(client, folder / "first", 0, [0]),
        lambda: other.found(client, answers),
        lambda: another.decrypt(answers[0]),
        lambda: next(database.search(searches, query)),
    ]
    for use in uses:
        with pytest.raises(ProgramMismatchError):
            use()


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "said"),
    [
        ((np.ones(4),), {}, InvalidArgumentError, "as a table"),
        (([["a"]],), {}, InvalidArgumentError, "of numbers"),
        (([[np.nan]],), {}, NotFiniteError, "finite vectors"),
        (([[0.0, 0.0], [1.0, 1.0]],), {}, ValueOutOfRangeError, "with a direction"),
        ((np.eye(2),), {"metric": "far"}, InvalidArgumentError, "a metric of cosine, dot"),
        ((np.eye(2),), {"metric": "dot", "radius": -1}, InvalidArgumentError, "radius to be"),
        ((np.eye(2),), {"count_only": True}, InvalidArgumentError, "expected a threshold"),
        ((np.eye(2),), {"threshold": 0.5, "at_most": 1}, InvalidArgumentError, "at_most without"),
        ((np.eye(2),), {"threshold": (0.5, 0.7)}, InvalidArgumentError, "without count_only"),
        ((np.eye(2),), {"threshold": "high"}, InvalidArgumentError, "as finite numbers"),
        ((np.eye(2),), {"threshold": ()}, InvalidArgumentError, "as finite numbers"),
        ((np.eye(2),), {"threshold": np.nan}, InvalidArgumentError, "as finite numbers"),
        ((np.eye(2), np.eye(3)), {"threshold": 0.5}, ShapeMismatchError, "payloads for 2"),
    ],
)
def test_tables_that_cannot_be_searched_are_refused(
    arguments: Any, options: dict[str, Any], kind: type[Exception], said: str, tmp_path: Path
) -> None:
    def encrypt() -> None:
        index = cw.index(*arguments, **{**options, **SMALL})
        index.encrypt(index.keygen()[0], tmp_path)

    with pytest.raises(kind, match=said):
        encrypt()
