"""A profile is shown with the program that it is of."""

from collections.abc import Callable

import pytest

import cloakwork as cw
from cloakwork.errors import InvalidArgumentError
from tests.families import BITS, CIRCUITS, NETWORKS, TENSORS, Family

# Each family, and another of whose program a profile is taken.
PAIRS = ((TENSORS, NETWORKS), (NETWORKS, TENSORS), (CIRCUITS, BITS), (BITS, CIRCUITS))


@pytest.mark.parametrize("show", [cw.explain, cw.plot])
@pytest.mark.parametrize(("family", "other"), PAIRS, ids=str)
def test_a_profile_of_another_program_is_refused(
    family: Family, other: Family, show: Callable[..., object]
) -> None:
    _, evaluator = other.keys()
    profile = cw.Profile()
    evaluator.run(other.encrypted(), profile=profile)
    show(other.program, profile=profile)
    with pytest.raises(InvalidArgumentError, match="expected the profile of a run of this program"):
        show(family.program, profile=profile)
