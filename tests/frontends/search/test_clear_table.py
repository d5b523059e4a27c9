"""Tables in the clear give for encrypted queries what numpy gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    IndexOutOfRangeError,
    InvalidArgumentError,
    KeyMismatchError,
    MalformedBytesError,
    NotReplaceableError,
    ProgramMismatchError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.runtime import container
from tests.frontends.search.test_index import (
    FEW,
    SMALL,
    Array,
    drawn,
    middle_of_widest_gap,
    nearness,
)

METRICS = ["cosine", "dot", "euclidean"]


def bytes_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


@pytest.mark.parametrize("metric", METRICS)
def test_scores_are_those_of_numpy(metric: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows, query = drawn(rng)
    index = cw.index(rows, metric=metric, radius=6.0, precision=16, **SMALL)
    client, evaluator = index.keygen()
    database = index.encode(tmp_path)
    assert database.blocks == (0, 1, 2)
    found = index.found(client, database.search(evaluator, index.query(client, query)))
    assert found.scores is not None
    assert found.scores.shape == (20,)
    assert np.abs(found.scores - nearness(metric, rows, query)).max() < 0.01
    assert database.add(rows[:2]) == range(24, 26)
    for others in ([7], [16], [-1]):
        with pytest.raises(IndexOutOfRangeError, match="8 to 15"):
            database.keep(1, others)
    database.keep(1, range(8, 15))
    more = index.found(client, database.search(evaluator, index.query(client, query))).scores
    assert more is not None
    assert more.shape == (32,)
    assert np.abs(more[24:26] - found.scores[:2]).max() < 0.01
    least = {"cosine": -1.0, "dot": -36.0, "euclidean": 12.0}[metric]
    empty = [15, *range(20, 24), *range(26, 32)]
    assert np.abs(more[empty] - least).max() < 0.01


@pytest.mark.parametrize("metric", METRICS)
def test_nearest_rows_of_several_queries_are_those_of_numpy(metric: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    rows, queries = rng.normal(size=(20, 5)), rng.normal(size=(4, 5))
    index = cw.index(rows, metric=metric, radius=6.0, precision=16, **SMALL)
    client, evaluator = index.keygen()
    database = index.encode(tmp_path)
    sent = [index.query(client, query) for query in queries]
    by_query = zip(*database.search_each(evaluator, sent), strict=True)
    for query, answers in zip(queries, by_query, strict=True):
        scores = nearness(metric, rows, query)
        expected = np.argsort(scores if metric == "euclidean" else -scores)[:5]
        assert index.found(client, answers).nearest(5).tolist() == expected.tolist()


@pytest.mark.parametrize("metric", METRICS)
def test_rows_above_a_threshold_are_found(metric: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows, query = drawn(rng)
    payloads = rng.integers(0, 4096, (20, 3))
    scores = nearness(metric, rows, query)
    threshold = middle_of_widest_gap(scores)
    radius = float(np.linalg.norm([*rows, query], axis=1).max())
    options = {"metric": metric, "radius": radius, "threshold": threshold, "gap": 1 / 64}
    index = cw.index(rows, payloads, **options, **SMALL)
    client, evaluator = index.keygen()
    database = index.encode(tmp_path)
    found = index.found(client, database.search(evaluator, index.query(client, query)))
    expected = np.flatnonzero(scores < threshold if metric == "euclidean" else scores > threshold)
    assert found.rows is not None
    assert found.payloads is not None
    assert found.rows.tolist() == expected.tolist()
    assert (found.payloads.round() == payloads[expected]).all()


def test_few_payloads_of_many_rows_are_a_small_answer(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(300, 12))
    payloads = rng.integers(0, 64, (300, 1))
    rows[[7, 140, 290]] = rows[7] + rng.normal(size=(3, 12)) / 32
    index = cw.index(rows, payloads, threshold=0.95, gap=1 / 32, at_most=1, **FEW)
    client, evaluator = index.keygen()
    database = index.encode(tmp_path)
    query = index.query(client, rows[7])
    total = database.total(evaluator, query)
    assert (total.added, total.numbers()) == (3, frozenset({0, 1, 2}))
    for answers in (total, database.search(evaluator, query)):
        found = index.found(client, answers)
        assert found.rows is not None
        assert found.payloads is not None
        assert found.rows.tolist() == [7, 140, 290]
        assert (found.payloads.round() == payloads[found.rows]).all()
    database.keep(1, [*range(128, 140), *range(141, 256)])
    left = index.found(client, database.total(evaluator, query)).rows
    assert left is not None
    assert left.tolist() == [7, 290]
    with pytest.raises(ValueOutOfRangeError, match="payloads"):
        database.add(rows[:1], [[64]])


@pytest.mark.parametrize("metric", METRICS)
def test_rows_beyond_several_thresholds_are_counted(metric: Any, tmp_path: Path) -> None:
    angles = np.linspace(0.05, 3.1, 20)
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    query = np.array([1.0, 0.0])
    scores = nearness(metric, rows, query)
    cuts = np.sort(scores)[[4, 11, 16]] + np.diff(np.sort(scores))[[4, 11, 16]] / 2
    options = {"metric": metric, "radius": 1.0, "gap": 1 / 256, "count_only": True, **SMALL}
    index = cw.index(rows, threshold=tuple(cuts), **options)
    client, evaluator = index.keygen()
    database = index.encode(tmp_path)
    total = database.total(evaluator, index.query(client, query))
    beyond = scores < cuts[:, None] if metric == "euclidean" else scores > cuts[:, None]
    counts = index.found(client, total).counts
    assert counts is not None
    assert counts.round().tolist() == beyond.sum(axis=1).tolist()


def test_an_index_of_a_file_opens_a_table_and_adds_rows(tmp_path: Path) -> None:
    rows, query = drawn(np.random.default_rng(5))
    made = cw.index(rows, **SMALL)
    made.encode(tmp_path / "table")
    made.save(tmp_path / "index")
    index = cw.load(tmp_path / "index", cw.Index, insecure=True)
    client, evaluator = index.keygen()
    for database in (
        cw.ClearDatabase(tmp_path / "table", index),
        cw.ClearDatabase(tmp_path / "new", index),
    ):
        database.add(rows[:4])
        answers = database.search(evaluator, index.query(client, query))
        scores = index.found(client, answers).scores
        assert scores is not None
        assert np.abs(scores[-8:][:4] - nearness("cosine", rows[:4], query)).max() < 0.01
    with pytest.raises(InvalidArgumentError, match="encode its rows by add"):
        index.encode(tmp_path / "more")


def table_of(rows: Array, folder: Path, **options: Any) -> tuple[cw.Index, int, int]:
    """An index, and the bytes of its table in the clear and encrypted."""
    index = cw.index(rows, **options)
    client, _ = index.keygen()
    index.encode(folder / "clear")
    index.encrypt(client, folder / "encrypted")
    return index, bytes_of(folder / "clear"), bytes_of(folder / "encrypted")


def test_a_clear_table_takes_a_number_for_each_of_the_table(tmp_path: Path) -> None:
    rows = np.random.default_rng(6).normal(size=(512, 32))
    options: dict[str, Any] = {"log_n": 9, "insecure": True, "rows_in_block": 512}
    _, clear, encrypted = table_of(rows, tmp_path, **options)
    # 32 bits for each number, and for whether each row counts.
    assert 4 * rows.size < clear < 4 * (rows.size + len(rows)) + 4096
    assert clear < encrypted / 2


def test_wrong_use_is_named(tmp_path: Path) -> None:
    rows = np.eye(4)
    index = cw.index(rows, rows[:, :2], metric="dot", threshold=0.5, **SMALL)
    other = cw.index(rows, rows[:, :2], metric="dot", threshold=0.5, radius=2.0, **SMALL)
    client, evaluator = index.keygen()
    database = index.encode(tmp_path / "clear")
    index.encrypt(client, tmp_path / "encrypted")
    query = index.query(client, rows[0])
    with pytest.raises(ShapeMismatchError, match="vectors of 4 numbers"):
        database.add(np.eye(3), np.ones((3, 2)))
    with pytest.raises(ShapeMismatchError, match="one for each vector"):
        database.add(rows)
    with pytest.raises(ValueOutOfRangeError, match="larger radius"):
        database.add(2 * rows, rows[:, :2])
    with pytest.raises(NotReplaceableError, match="has blocks of one"):
        index.encode(tmp_path / "clear")
    with pytest.raises(InvalidArgumentError, match=r"got rows in the clear.*cloakwork\.ClearDatab"):
        cw.Database(tmp_path / "clear")
    with pytest.raises(InvalidArgumentError, match=r"got encrypted rows.*cloakwork\.Database"):
        cw.ClearDatabase(tmp_path / "encrypted", index)
    with pytest.raises(InvalidArgumentError, match="got encrypted rows"):
        index.encode(tmp_path / "encrypted")
    with pytest.raises(InvalidArgumentError, match="got rows in the clear"):
        index.add(client, tmp_path / "clear", rows, rows[:, :2])
    another, searches = other.keygen()
    with pytest.raises(ProgramMismatchError):
        next(database.search(searches, other.query(another, rows[0])))
    with pytest.raises(ProgramMismatchError):
        next(database.search(searches, query))
    stranger, _ = index.keygen()
    with pytest.raises(KeyMismatchError):
        next(database.search(evaluator, index.query(stranger, rows[0])))


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ({"numbers": np.zeros(0, np.uint32)}, MalformedBytesError),
        ({"numbers": np.array([0, 0, 1, 2, 3], np.uint32)}, MalformedBytesError),
        ({"numbers": [0, 1, 2, 3, 4]}, MalformedBytesError),
        ({"integers": bytes(4 * 1024 * 5 - 1)}, MalformedBytesError),
        ({"integers": bytes(4 * 512 * 5)}, InvalidArgumentError),
        ({"widths": np.full(4, 4, np.uint8)}, MalformedBytesError),
        ({"widths": np.array([4, 4, 4, 4, 5], np.uint8)}, MalformedBytesError),
        ({"widths": np.array([4, 4, 4, 4, 8], np.uint8)}, MalformedBytesError),
        (
            {"widths": np.full(5, 8, np.uint8), "integers": b"\x7f" * (8 * 1024 * 5)},
            ValueOutOfRangeError,
        ),
        ({"numbers": np.array([0, 1, 2, 3, 1000], np.uint32)}, InvalidArgumentError),
        ({"program": "other"}, ProgramMismatchError),
    ],
)
def test_damaged_files_are_refused(
    change: dict[str, Any], refusal: type[Exception], tmp_path: Path
) -> None:
    rows, query = drawn(np.random.default_rng(7))
    index = cw.index(rows, **{**SMALL, "rows_in_block": 1024})
    client, evaluator = index.keygen()
    database = index.encode(tmp_path)
    path = tmp_path / "000000.clear-rows"
    fields = container.read(path, "clear inputs file")
    names = "program", "ports", "numbers", "widths", "integers"
    record = {name: fields.raw(name) for name in names}
    container.write(path, "clear inputs file", {**record, **change})
    with pytest.raises(refusal):
        next(database.search(evaluator, index.query(client, query)))


@pytest.mark.slow
def test_a_table_at_128_bits(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    rows = rng.normal(size=(3000, 16))
    query = rows[3] + rng.normal(size=16) / 4
    scores = nearness("cosine", rows, query)
    several: list[dict[str, Any]] = [{}, {"threshold": 0.6, "count_only": True}]
    for options in several:
        index = cw.index(rows, **options)
        client, evaluator = index.keygen()
        database = index.encode(tmp_path / str(len(options)))
        found = index.found(client, database.search(evaluator, index.query(client, query)))
        if found.scores is not None:
            assert np.abs(found.scores - scores).max() < 2.0**-8
        else:
            near = np.abs(scores - 0.6) < 1 / 16
            low, high = (scores > 0.6).sum() - near.sum(), (scores > 0.6).sum() + near.sum()
            assert found.count is not None
            assert low - 0.5 < found.count < high + 0.5
