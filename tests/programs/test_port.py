"""Inputs and outputs."""

import pytest

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.port import Port


@pytest.mark.parametrize("kind", ["real", "bits"])
def test_a_port_has_a_name(kind: str) -> None:
    with pytest.raises(InvalidProgramError, match="cannot make the port '': its name is empty"):
        Port("", kind)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "shape", "length"),
    [("real", (2,), -1.0), ("real", (2,), float("inf")), ("real", (), 1.0), ("integer", (2,), 1.0)],
)
def test_a_length_is_of_vectors_of_reals(kind: str, shape: tuple[int, ...], length: float) -> None:
    with pytest.raises(InvalidProgramError, match="expected a length of vectors of reals"):
        Port("x", kind, 0, shape, length=length)  # type: ignore[arg-type]
