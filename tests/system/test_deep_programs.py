"""Random programs deeper than their chain equal the clear backend within the stated error."""

from __future__ import annotations

import pytest

from cloakwork.plan.parameters.bootstrapping import refreshing_for
from tests.system.deep_programs import REFRESHED_BOUND, Bench, bootstraps, deep_program

_RING = 8
_FULL_RING = 16
# So many programs share their keys, as those of the full ring take a minute to make and 4 GB.
_AT_ONCE = 5


def worst_ratio(log_n: int, seeds: range) -> float:
    """The largest error of any of these programs, as a part of what is stated."""
    insecure = log_n == _RING
    refreshing = refreshing_for(log_n, bound=REFRESHED_BOUND, insecure=insecure)
    assert refreshing.chain.insecure is insecure
    programs = [deep_program(seed, refreshing) for seed in seeds]
    assert all(map(bootstraps, programs))
    bench = Bench(refreshing, programs)
    return max(bench.ratio(program, seed) for program, seed in zip(programs, seeds, strict=True))


def test_programs_deeper_than_their_chain() -> None:
    assert worst_ratio(_RING, range(300, 306)) <= 1


@pytest.mark.slow
def test_300_programs_deeper_than_their_chain() -> None:
    assert worst_ratio(_RING, range(300)) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 20, _AT_ONCE))
def test_programs_deeper_than_their_chain_at_full_security(first: int) -> None:
    assert worst_ratio(_FULL_RING, range(first, first + _AT_ONCE)) <= 1
