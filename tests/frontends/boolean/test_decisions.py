"""Decisions by name give what numpy gives, with as few gates as is known."""

from typing import Literal, TypeAlias

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.programs.gates import GateKind

Kind: TypeAlias = Literal["signed", "unsigned"]

SHAPES = [2, 3, 5, 8, 13, 31]


def _port(kind: Kind, count: int) -> cw.Port:
    return cw.Port("x", kind, 6, shape=(count,))


def _numbers(kind: Kind, count: int, seed: int) -> np.ndarray:
    low, high = (-32, 32) if kind == "signed" else (0, 64)
    return np.random.default_rng(seed).integers(low, high, count)


@pytest.mark.parametrize("kind", ["signed", "unsigned"])
@pytest.mark.parametrize("count", SHAPES)
def test_the_greatest_come_in_falling_order_with_their_places(kind: Kind, count: int) -> None:
    for kept in {1, 2, (count + 1) // 2, count}:
        circuit = cw.boolean.top(_port(kind, count), kept)
        for seed in range(4):
            x = _numbers(kind, count, seed)
            found = circuit.run_clear(x=x)
            places = np.atleast_1d(found["indices"])
            assert len(set(places.tolist())) == kept
            assert np.atleast_1d(found["greatest"]).tolist() == sorted(x, reverse=True)[:kept]
            assert x[places].tolist() == sorted(x, reverse=True)[:kept]


@pytest.mark.parametrize("kind", ["signed", "unsigned"])
@pytest.mark.parametrize("count", SHAPES)
def test_a_sort_is_that_of_numpy(kind: Kind, count: int) -> None:
    circuit = cw.boolean.sort(_port(kind, count))
    for seed in range(4):
        x = _numbers(kind, count, seed)
        assert circuit.run_clear(x=x)["sorted"].tolist() == np.sort(x).tolist()


@pytest.mark.parametrize("count", SHAPES)
def test_an_argmax_is_the_first_of_the_greatest(count: int) -> None:
    circuit = cw.boolean.argmax(_port("signed", count))
    for seed in range(8):
        x = _numbers("signed", count, seed) // 8  # several are equal
        found = circuit.run_clear(x=x)
        assert (found["index"], found["greatest"]) == (np.argmax(x), x.max())


@pytest.mark.parametrize("count", SHAPES)
def test_one_bit_is_that_of_the_first_of_the_greatest(count: int) -> None:
    circuit = cw.boolean.one_hot(_port("signed", count))
    for seed in range(8):
        x = _numbers("signed", count, seed) // 8  # several are equal
        expected = np.arange(count) == np.argmax(x)
        assert circuit.run_clear(x=x)["chosen"].tolist() == expected.tolist()


def test_lists_are_merged_no_further_than_they_are_kept() -> None:
    circuit = cw.boolean.top(cw.Port("x", "unsigned", 8, shape=(100,)), 5)
    ands = int(np.count_nonzero(circuit.gates.kinds == GateKind.AND))
    # 354 exchanges: 8 comparisons, 8 bits of numbers and up to 7 of places, all for both rows.
    assert ands <= 354 * (8 + 2 * (8 + 7))
    assert ands == 11_306
