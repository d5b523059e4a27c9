"""The search for the least scale: what it tries, and where it ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cloakwork.errors import InvalidParametersError
from cloakwork.plan.parameters.scales import Scaled, raised_scale, without_spare_bits


def tried_by(lacking: dict[int, float], tried: list[int]) -> Callable[[int], Scaled[str]]:
    """An attempt of which it is known what lacks; any other scale is refused."""

    def attempt(bits: int) -> Scaled[str]:
        tried.append(bits)
        if bits not in lacking:
            raise InvalidParametersError(f"{bits}")
        return Scaled(bits, f"under {bits}", lacking[bits])

    return attempt


def test_a_scale_is_raised_by_what_is_lacking_and_no_further_than_a_step() -> None:
    tried: list[int] = []
    attempt = tried_by({20: 11.2, 28: 3.5, 32: -0.5}, tried)
    assert raised_scale(attempt, 20, longest_step=8) == (29, Scaled(32, "under 32", -0.5))
    assert tried == [20, 28, 32]


def test_after_so_many_attempts_the_last_is_given_whatever_it_lacks() -> None:
    tried: list[int] = []
    attempt = tried_by(dict.fromkeys(range(20, 40), 1.0), tried)
    assert raised_scale(attempt, 20, attempts=4) == (23, Scaled(23, "under 23", 1.0))
    assert tried == [20, 21, 22, 23]


@pytest.mark.parametrize(
    ("lacking", "bits"),
    [
        ({32: 2, 34: -1, 33: 0}, 33),
        ({32: 2, 34: -1, 33: 1}, 34),
        ({32: 4, 36: -2, 34: 1, 35: 0}, 35),
        # A scale that is refused ends the way down.
        ({32: 4, 36: -2}, 36),
        ({32: 0}, 32),
        ({32: -9}, 32),
    ],
)
def test_bits_to_spare_are_given_up_one_refused_scale_after_another(
    lacking: dict[int, float], bits: int
) -> None:
    attempt = tried_by(lacking, [])
    least, found = raised_scale(attempt, 32)
    kept = without_spare_bits(attempt, least, found, (InvalidParametersError,))
    assert (kept.bits, kept.made) == (bits, f"under {bits}")


def test_other_refusals_are_raised() -> None:
    attempt = tried_by({32: 4, 36: -2}, [])
    least, found = raised_scale(attempt, 32)
    with pytest.raises(InvalidParametersError, match="34"):
        without_spare_bits(attempt, least, found, ())
