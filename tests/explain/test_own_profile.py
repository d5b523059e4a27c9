"""A profile is shown with the program that it is of."""

import pytest

import cloakwork as cw
from cloakwork.errors import InvalidArgumentError
from tests.families import BITS, CIRCUITS, ENCRYPTED, NETWORKS, TENSORS, Family

# Of each family another, of whose program a profile is taken.
OTHERS = dict(zip(ENCRYPTED, (NETWORKS, TENSORS, BITS, CIRCUITS), strict=True))


@pytest.mark.parametrize("show", [cw.explain, cw.plot])
@pytest.mark.parametrize("family", ENCRYPTED, ids=str)
def test_a_profile_of_another_program_is_refused(family: Family, show: object) -> None:
    assert callable(show)
    other = OTHERS[family]
    _, evaluator = other.keys()
    profile = cw.Profile()
    evaluator.run(other.encrypted(), profile=profile)
    show(other.program, profile=profile)
    with pytest.raises(InvalidArgumentError, match="expected the profile of a run of this program"):
        show(family.program, profile=profile)
