"""ORs of sides that exclude each other: XORs, and the same functions."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork.plan.boolean.exclusive import with_exclusive_ors
from cloakwork.programs.gates import GateBuilder, GateKind, GateProgram
from cloakwork.programs.port import Port
from tests.programs.random_gates import evaluated, gate_programs


@given(gate_programs(), st.integers(0, 2**32))
@settings(deadline=None)
def test_the_function_stays_the_same(gates: GateProgram, seed: int) -> None:
    made = with_exclusive_ors(gates)
    rng = random.Random(seed)
    for _ in range(8):
        bits = [rng.randrange(2) for _ in range(gates.input_bits)]
        assert evaluated(made, bits) == evaluated(gates, bits)


def retrieval(entries: int, index_bits: int, *, nands: bool) -> GateProgram:
    """The entry of a number, of one bit each; ORs are taken one after another."""
    ports = Port("index", "unsigned", index_bits), Port("entries", "bits", entries)
    builder = GateBuilder("entry", ports)
    inverted = [builder.append(GateKind.NOT, bit) for bit in range(index_bits)]
    masked = []
    for entry in range(entries):
        selected = 0 if entry & 1 else inverted[0]
        for bit in range(1, index_bits):
            literal = bit if entry >> bit & 1 else inverted[bit]
            selected = builder.append(GateKind.AND, selected, literal)
        kind = GateKind.NAND if nands else GateKind.AND
        masked.append(builder.append(kind, selected, index_bits + entry))
    while len(masked) > 1:
        a, b = masked.pop(0), masked.pop(0)
        if nands:
            joined = builder.append(GateKind.NAND, a, b)
            masked.append(builder.append(GateKind.NOT, joined))
        else:
            masked.append(builder.append(GateKind.OR, a, b))
    value = builder.append(GateKind.NOT, masked[0]) if nands else masked[0]
    builder.output(Port("entry", "bits", 1), (value,))
    return builder.finish()


@pytest.mark.parametrize("nands", [False, True])
def test_no_or_is_left_in_a_retrieval(nands: bool) -> None:
    # 13 entries: sides of ORs are no cubes of the index.
    gates = retrieval(13, 4, nands=nands)
    kinds = [kind for kind, _, _ in with_exclusive_ors(gates).gates()]
    assert kinds.count(GateKind.XOR) == 12
    assert kinds.count(GateKind.OR) == 0
    assert kinds.count(GateKind.NAND) == (13 if nands else 0)


def test_all_kinds_of_ors() -> None:
    builder = GateBuilder("both", (Port("x", "bits", 3),))
    turned = builder.append(GateKind.NOT, 0)
    a, b = builder.append(GateKind.AND, 0, 1), builder.append(GateKind.AND, turned, 2)
    not_a, not_b = builder.append(GateKind.NAND, 0, 1), builder.append(GateKind.NOT, b)
    made = [
        builder.append(GateKind.OR, a, b),
        builder.append(GateKind.NOR, a, b),
        builder.append(GateKind.NAND, not_a, not_b),
        builder.append(GateKind.AND, not_a, not_b),
    ]
    builder.output(Port("y", "bits", 4), made)
    kinds = [kind for kind, _, _ in with_exclusive_ors(builder.finish()).gates()]
    assert kinds[-4:] == [GateKind.XOR, GateKind.XNOR, GateKind.XOR, GateKind.XNOR]


def test_sides_that_meet_stay_an_or() -> None:
    builder = GateBuilder("meet", (Port("x", "bits", 4),))
    turned = builder.append(GateKind.NOT, 0)
    a, b = builder.append(GateKind.AND, 0, 1), builder.append(GateKind.AND, turned, 2)
    either = builder.append(GateKind.XOR, a, b)
    # It needs x or not x: no literal.
    more = builder.append(GateKind.OR, either, builder.append(GateKind.AND, 0, 3))
    builder.output(Port("y", "bits", 1), (more,))
    assert with_exclusive_ors(builder.finish()).kinds.tolist().count(GateKind.OR) == 1
