"""Inputs and outputs."""

import pytest

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.port import Port


@pytest.mark.parametrize("kind", ["real", "bits"])
def test_a_port_has_a_name(kind: str) -> None:
    with pytest.raises(InvalidProgramError, match="cannot make the port '': its name is empty"):
        Port("", kind)  # type: ignore[arg-type]
