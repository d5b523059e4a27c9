"""Gates in the clear against an evaluation bit by bit in Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork.errors import ShapeMismatchError
from cloakwork.programs.gates import GateBuilder, GateKind, GateProgram
from cloakwork.programs.port import Port
from cloakwork.schemes import clear_gates
from cloakwork.schemes.clear_gates import ClearGates
from tests.programs.random_gates import evaluated, gate_programs


@given(gate_programs(), st.sampled_from([0, 1, 63, 64, 65, 200]), st.integers(0, 2**32))
@settings(deadline=None)
def test_as_bit_by_bit(program: GateProgram, runs: int, seed: int) -> None:
    shape = runs, program.input_bits
    inputs = np.random.default_rng(seed).integers(0, 2, shape, dtype=np.uint8)
    outputs = ClearGates(program).run(inputs)
    assert outputs.shape == (runs, program.output_bits)
    assert outputs.tolist() == [evaluated(program, row) for row in inputs.tolist()]


@given(gate_programs(), st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_turns_and_pieces_change_nothing(program: GateProgram, seed: int) -> None:
    inputs = np.random.default_rng(seed).integers(0, 2, (300, program.input_bits), dtype=np.uint8)
    whole = ClearGates(program).run(inputs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clear_gates, "_STATE_WORDS", 1)
        patch.setattr(clear_gates, "_PIECE_WORDS", 1)
        assert (ClearGates(program).run(inputs) == whole).all()


def test_rows_are_used_again() -> None:
    builder = GateBuilder("chain", (Port("a", "bits", 2),))
    last = 0
    for _ in range(1000):
        last = builder.append(GateKind.XOR, last, 1)
    builder.output(Port("y", "bits", 1), [last])
    assert ClearGates(builder.finish()).rows <= 4


def test_bits_of_another_number_are_refused() -> None:
    builder = GateBuilder("t", (Port("a", "bits", 2),))
    with pytest.raises(ShapeMismatchError, match="runs of 2 bits each"):
        ClearGates(builder.finish()).run(np.zeros((5, 3), dtype=np.uint8))
