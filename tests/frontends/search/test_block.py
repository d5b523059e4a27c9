"""What searches of tables take, by their sizes, and that they find the same however rows lie."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork._native import Parameters
from cloakwork.errors import InvalidParametersError
from cloakwork.frontends.search.asked import Search
from cloakwork.frontends.search.block import block_program
from cloakwork.programs.packing.rows import RowsPacking
from cloakwork.programs.slots import Input, SlotProgram
from cloakwork.runtime.program import Program

FEW: dict[str, Any] = {
    "ends": (-1.0, 1.0),
    "cuts": (0.8,),
    "gap": 1 / 16,
    "width": 128,
    "size": None,
    "lengths": (1.0, 1.0),
    "payload_width": 0,
    "bound": 1.0,
    "precision": 3,
    "is_total": True,
}
WITH_PAYLOADS: dict[str, Any] = {"answer": "payloads", "payload_width": 8, "precision": 12}


def planned(**options: Any) -> tuple[Program, Parameters, Counter[str]]:
    program = block_program(Search(**{**FEW, **options}), "", None, insecure=False)
    assert isinstance(program.body, SlotProgram)
    return program, program.scheme.parameters, Counter(o.kind for o in program.body.operations)


def table_bytes(program: Program) -> int:
    """Bytes of the vectors of a block, of each of which one polynomial is stored."""
    assert isinstance(program.body, SlotProgram)
    parameters = program.scheme.parameters
    levels = [
        each.level
        for each in program.body.operations
        if isinstance(each, Input) and each.name == "columns"
    ]
    return sum(4 * parameters.n * parameters.prime_count(level) for level in levels)


@pytest.mark.parametrize("options", [{"answer": "count"}, WITH_PAYLOADS])
def test_a_thousand_rows_take_eight_products_of_the_smallest_ring(options: Any) -> None:
    program, parameters, counts = planned(rows=1000, **options)
    assert (parameters.log_n, counts["twice_real"], counts["polynomial"]) == (14, 2, 4)
    is_count = options["answer"] == "count"
    assert counts["mul"] == (8 if is_count else 10)
    assert counts["rotate"] == 4 + (9 if is_count else 0)
    assert parameters.levels <= (9 if is_count else 10)
    assert table_bytes(program) < 7 << 20


def test_fifty_thousand_rows_take_a_product_a_coordinate_of_two_rows_a_slot() -> None:
    for options, levels, answers in (({"answer": "count"}, 9, 0), (WITH_PAYLOADS, 10, 8)):
        program, parameters, counts = planned(rows=50_000, **options)
        assert isinstance(program.packing, RowsPacking)
        assert program.packing.rows.size == 1 << 14
        assert (parameters.log_n, counts["mul"]) == (14, 128 + answers)
        assert parameters.levels <= levels
        assert 4 * table_bytes(program) < 410e6


def test_a_million_rows_stand_in_twelve_words_a_number() -> None:
    many = {"rows": 1_000_000, "width": 256, "gap": 0.08}
    for options, most in (({"answer": "count"}, 11), (WITH_PAYLOADS, 12)):
        program, parameters, counts = planned(**many, **options)
        assert (parameters.log_n, counts["polynomial"]) == (14, 4)
        assert table_bytes(program) <= 256 * (1 << 14) * 4 * most


def test_scores_take_no_key_switch_but_that_of_products() -> None:
    program, parameters, counts = planned(rows=50_000, answer="scores", cuts=(), precision=8)
    assert (parameters.log_n, parameters.levels) == (12, 1)
    assert counts["rotate"] == counts["twice_real"] == 0
    assert 13 * table_bytes(program) < 120e6


@pytest.mark.parametrize("size", [2, 5, 8, 64, 1024])
def test_rows_are_found_however_many_share_a_ciphertext(size: int) -> None:
    rng = np.random.default_rng(size)
    rows = rng.normal(size=(size, 11))
    payloads = rng.integers(0, 256, (size, 3))
    options: dict[str, Any] = {"log_n": 10, "insecure": True, "rows_in_block": size}
    index = cw.index(rows, payloads, threshold=0.3, gap=0.1, **options)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    query = units[0] + rng.normal(size=11) / 8
    query /= np.linalg.norm(query)
    live = np.arange(size) % 3 != 1
    matches, found = index.program.run_clear(
        columns=units.T, live=live * 1.0, query=query, payloads=payloads.T
    )
    scores = units @ query
    is_apart = np.abs(scores - 0.3) > 0.1
    expected = (scores > 0.3) & live
    assert np.abs(matches - expected)[is_apart].max() < 0.01
    assert np.abs(found - payloads.T * expected)[:, is_apart].max() < 0.01


def test_more_rows_than_a_ring_has_places_for_are_refused() -> None:
    with pytest.raises(InvalidParametersError, match="expected 1024 rows in a block at most"):
        cw.index(np.eye(4), rows_in_block=1025, log_n=10, insecure=True)
