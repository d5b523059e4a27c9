"""Which chains are tried for a program that bootstraps."""

from __future__ import annotations

import math

import pytest

from cloakwork.errors import ImpreciseError
from cloakwork.plan.reals.options import RealOptions
from cloakwork.plan.reals.refreshed import RefreshingChain, RoughChainError, on_first_chain


@pytest.mark.parametrize("kind", [ImpreciseError, RoughChainError])
@pytest.mark.parametrize(
    ("missing", "tried", "tried_of_rough"),
    [
        (1.0, [21, 18, 16, 13, 10], [21, 18, 16, 13, 10]),
        # Levels of 28 bits, of 31, of 32 and of 36; bootstraps gain more.
        (4.2, [21, 18, 16, 13, 10], [21, 16, 13, 10]),
        (5.0, [21, 16, 13, 10], [21, 13, 10]),
        (8.0, [21, 13, 10], [21, 13, 10]),
        (20.0, [21, 10], [21, 10]),
        (math.inf, [21, 18, 16, 13, 10], [21, 18, 16, 13, 10]),
    ],
)
def test_a_chain_that_is_far_off_tells_which_others_are(
    kind: type[ImpreciseError], missing: float, tried: list[int], tried_of_rough: list[int]
) -> None:
    """The thinnest levels lack some bits, all others half a bit."""
    seen: list[int] = []

    def attempt(chain: RefreshingChain) -> None:
        seen.append(chain.refreshing.output_level - chain.refreshing.input_level)
        raise kind("less precise than asked", missing if len(seen) == 1 else 0.5)

    with pytest.raises(ImpreciseError, match="less precise"):
        on_first_chain(RealOptions(precision=5), 16, attempt)
    assert seen == (tried_of_rough if kind is RoughChainError else tried)
