"""Bootstrap programs in the clear: their meaning, and mistakes that must not pass."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.errors import MessageMissedError, ShapeMismatchError
from cloakwork.programs.bootstraps import EIGHTH, HALF, QUARTER, BootstrapBuilder, BootstrapProgram
from cloakwork.programs.port import Port
from cloakwork.schemes.clear_bits import run_clear_bootstraps

BITS = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=np.uint8)


def gate(
    encodings: tuple[int, int], table: tuple[int, ...], constant: int, weight: int = 1
) -> BootstrapProgram:
    """One bootstrap of two inputs; what leaves is in quarter encoding."""
    builder = BootstrapBuilder("gate", (Port("a", "bits", 2),))
    terms = [(builder.input(bit, encoding), weight) for bit, encoding in enumerate(encodings)]
    message_bits = len(table).bit_length()
    made = builder.bootstrap(terms, 0, message_bits, [table], [constant])
    builder.output(Port("y", "bits", 1), made, [QUARTER])
    return builder.finish()


@pytest.mark.parametrize(
    ("encodings", "table", "constant", "results"),
    [
        ((QUARTER, QUARTER), (-EIGHTH, -EIGHTH), EIGHTH, [0, 0, 0, 1]),
        ((QUARTER, QUARTER), (-EIGHTH, EIGHTH), EIGHTH, [0, 1, 1, 1]),
        ((QUARTER, QUARTER), (0, QUARTER), 0, [0, 1, 1, 0]),
        ((QUARTER, HALF), (-EIGHTH, -EIGHTH), EIGHTH, [0, 0, 1, 1]),
        ((QUARTER, HALF), (-EIGHTH, EIGHTH), EIGHTH, [0, 1, 1, 0]),
        ((EIGHTH, QUARTER), (0, QUARTER, QUARTER, 0), 0, [0, 1, 1, 0]),
    ],
)
def test_gates_of_one_bootstrap(
    encodings: tuple[int, int], table: tuple[int, ...], constant: int, results: list[int]
) -> None:
    program = gate(encodings, table, constant)
    assert run_clear_bootstraps(program, BITS)[:, 0].tolist() == results


@given(st.integers(0, 300))
def test_all_runs_come_back(runs: int) -> None:
    inputs = np.resize(BITS, (runs, 2))
    made = run_clear_bootstraps(gate((QUARTER, QUARTER), (-EIGHTH, -EIGHTH), EIGHTH), inputs)
    np.testing.assert_array_equal(made[:, 0], inputs[:, 0] & inputs[:, 1])


def test_a_phase_between_messages_is_an_error() -> None:
    with pytest.raises(MessageMissedError, match="node 0 falls between"):
        run_clear_bootstraps(gate((QUARTER, EIGHTH), (-EIGHTH, -EIGHTH), EIGHTH), BITS)


def test_an_output_that_is_no_bit_is_an_error() -> None:
    with pytest.raises(MessageMissedError, match="bit 0 of the outputs"):
        run_clear_bootstraps(gate((QUARTER, QUARTER), (-EIGHTH, -EIGHTH), 0), BITS)


def test_runs_of_other_bits_are_refused() -> None:
    with pytest.raises(ShapeMismatchError, match="runs of 2 bits"):
        run_clear_bootstraps(gate((QUARTER, QUARTER), (0, QUARTER), 0), BITS[:, :1])
