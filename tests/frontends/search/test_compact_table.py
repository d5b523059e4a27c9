"""Tables that take few bytes: scores are refreshed before the threshold, and are those of numpy."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import cloakwork as cw
from cloakwork.errors import (
    DeviceOperationError,
    IndexOutOfRangeError,
    InvalidArgumentError,
    TableBudgetError,
)
from cloakwork.programs.packing.rows import RowsPacking
from cloakwork.programs.slots import Input, SlotProgram
from cloakwork.schemes.device.backend import require_device_operations

SMALL: dict[str, Any] = {"log_n": 8, "insecure": True}
# Two blocks of 256 rows, of 6 columns and which rows count, in 3 words a number.
BUDGET = 2 * 7 * 256 * 12
# What a file says of a ciphertext beside its polynomial, and of itself.
BESIDE = 500
Array = NDArray[np.float64]


def drawn(seed: int) -> tuple[Array, Array, Array]:
    """A table of two blocks, a query, and their cosines, none of which is near 0.5."""
    rng = np.random.default_rng(seed)
    rows, query = rng.normal(size=(900, 6)), rng.normal(size=6)
    cosines = rows @ query / np.linalg.norm(rows, axis=1) / np.linalg.norm(query)
    is_apart = np.abs(cosines - 0.5) > 0.125
    return rows[is_apart][:400], query, cosines[is_apart][:400]


def compact(rows: Array, *payloads: Array, **options: Any) -> cw.Index:
    budget = BUDGET + (1 << 16 if payloads else 0)
    options = {"threshold": 0.5, "gap": 0.125, "table_budget": budget, **SMALL, **options}
    index = cw.index(rows, *payloads, **options)
    assert isinstance(index.program.packing, RowsPacking)
    assert index.program.packing.stored == "coefficients"
    return index


def test_counts_are_those_of_numpy_as_rows_come_and_go(tmp_path: Path) -> None:
    rows, query, cosines = drawn(0)
    index = compact(rows, count_only=True)
    client, evaluator = index.keygen()
    database = index.encrypt(client, tmp_path)
    assert database.blocks == (0, 1)
    nbytes = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert BUDGET <= nbytes < BUDGET + 2 * 7 * BESIDE
    asked = index.query(client, query)
    is_found = cosines > 0.5
    assert round(index.found(client, database.total(evaluator, asked)).count or 0) == sum(is_found)
    matching = np.flatnonzero(is_found)
    index.add(client, tmp_path, rows[matching[:2]])
    index.keep(client, tmp_path, 0, [row for row in range(256) if row != matching[0]])
    found = index.found(client, database.total(evaluator, asked))
    assert round(found.count or 0) == sum(is_found) + 2 - 1


def test_an_index_of_a_file_asks_for_the_same(tmp_path: Path) -> None:
    rows, query, cosines = drawn(1)
    index = compact(rows, count_only=True)
    index.save(tmp_path / "index")
    again = cw.load(tmp_path / "index", cw.Index, insecure=True)
    assert again.program.fingerprint == index.program.fingerprint
    client, evaluator = again.keygen()
    database = index.encrypt(client, tmp_path / "table")
    evaluator.save(tmp_path / "evaluator")
    evaluator = cw.load(tmp_path / "evaluator", cw.Evaluator, insecure=True)
    found = again.found(client, database.total(evaluator, again.query(client, query)))
    assert round(found.count or 0) == sum(cosines > 0.5)


def test_rows_and_payloads_are_those_of_numpy(tmp_path: Path) -> None:
    rows, query, cosines = drawn(2)
    payloads = np.random.default_rng(0).integers(-99, 100, (len(rows), 3)).astype(np.float64)
    index = compact(rows, payloads)
    client, evaluator = index.keygen()
    answers = index.encrypt(client, tmp_path).search(evaluator, index.query(client, query))
    found = index.found(client, answers)
    assert found.rows is not None
    assert found.payloads is not None
    assert found.rows.tolist() == np.flatnonzero(cosines > 0.5).tolist()
    assert np.abs(found.payloads - payloads[found.rows]).max() < 0.5


def test_few_payloads_of_many_blocks_are_told_apart(tmp_path: Path) -> None:
    rows, query, cosines = drawn(3)
    query = rows[cosines.argmax()]
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    near = units @ query / np.linalg.norm(query)
    rows = rows[(near < 0.7) | (near > 0.99)]
    near = near[(near < 0.7) | (near > 0.99)]
    payloads = np.random.default_rng(0).integers(0, 512, (len(rows), 3)).astype(np.float64)
    index = compact(rows, payloads, threshold=0.85, at_most=1, rows_in_block=256)
    client, evaluator = index.keygen()
    database = index.encrypt(client, tmp_path)
    found = index.found(client, database.total(evaluator, index.query(client, query)))
    assert found.rows is not None
    assert found.payloads is not None
    assert found.rows.tolist() == np.flatnonzero(near > 0.99).tolist()
    assert (found.payloads.round() == payloads[found.rows]).all()


@pytest.mark.parametrize("metric", ["dot", "euclidean"])
def test_few_rows_of_other_metrics_repeat_in_coefficients(metric: Any, tmp_path: Path) -> None:
    rows, query, _ = drawn(4)
    rows, query = rows[:40], rows[0] + 0.1 * query
    products, distances = rows @ query, np.linalg.norm(rows - query, axis=1)
    nearness = products if metric == "dot" else -distances
    cut = float(np.sort(nearness)[-4:-2].mean())
    index = cw.index(
        rows,
        metric=metric,
        radius=6.0,
        threshold=abs(cut),
        gap=0.01,
        count_only=True,
        table_budget=8 * 256 * 16 * 2,
        **SMALL,
    )
    client, evaluator = index.keygen()
    database = index.encrypt(client, tmp_path)
    found = index.found(client, database.total(evaluator, index.query(client, query)))
    assert abs((found.count or 0) - 3) < 1


@pytest.mark.slow
def test_a_million_rows_take_three_words_a_number() -> None:
    row = np.random.default_rng(0).normal(size=(1, 256))
    index = cw.index(
        np.broadcast_to(row, (1_000_000, 256)),
        threshold=0.8,
        gap=0.08,
        count_only=True,
        table_budget=4_000_000_000,
    )
    body, parameters = index.program.body, index.program.scheme.parameters
    assert isinstance(body, SlotProgram)
    counts = Counter(each.kind for each in body.operations)
    assert (counts["bootstrap_of_coefficients"], counts["polynomial"]) == (1, 4)
    assert index.shape.rows_in_block == parameters.n == 1 << 16
    levels = {each.level for each in body.operations if isinstance(each, Input)}
    assert [parameters.prime_count(level) for level in levels] == [3]


def test_the_faster_layout_is_taken_where_it_fits_and_none_beyond_the_budget() -> None:
    rows, _, _ = drawn(5)
    options: dict[str, Any] = {"threshold": 0.5, "gap": 0.125, "count_only": True, **SMALL}
    index = cw.index(rows, table_budget=1 << 30, **options)
    assert isinstance(index.program.packing, RowsPacking)
    assert index.program.packing.stored == "slots"
    assert index.program.fingerprint == cw.index(rows, **options).program.fingerprint
    with pytest.raises(TableBudgetError, match="allow table_budget=") as refused:
        cw.index(rows, table_budget=1 << 10, **options)
    assert refused.value.least == BUDGET
    compact(rows, table_budget=refused.value.least, count_only=True)
    with pytest.raises(TableBudgetError, match="within 1024 bytes"):
        cw.index(rows, table_budget=1 << 10, **SMALL)


def test_devices_do_not_refresh_coefficients() -> None:
    body = compact(drawn(6)[0], count_only=True).program.body
    assert isinstance(body, SlotProgram)
    with pytest.raises(DeviceOperationError, match="devices have no bootstrap_of_coefficients"):
        require_device_operations(body)


def test_what_such_a_table_cannot_is_refused(tmp_path: Path) -> None:
    rows, _, _ = drawn(0)
    index = compact(rows, count_only=True)
    with pytest.raises(InvalidArgumentError, match="leave that out, as a clear table"):
        index.encode(tmp_path / "clear")
    client, _ = index.keygen()
    index.encrypt(client, tmp_path / "table")
    with pytest.raises(IndexOutOfRangeError, match=r"a block from 0 to 1 of .*, got 2;"):
        index.keep(client, tmp_path / "table", 2, [])
    with pytest.raises(InvalidArgumentError, match="a query of numbers"):
        index.query(client, "abc")
