"""Parts of gate programs that are the same: mapped once, copied, the same results."""

import random

import numpy as np
import pytest

from cloakwork.plan.boolean.map import map_gates
from cloakwork.plan.boolean.parts import by_share, map_parts, separate_parts
from cloakwork.plan.cost.tfhe import stated_sets
from cloakwork.programs.gates import GateBuilder, GateKind, GateProgram
from cloakwork.programs.port import Port
from cloakwork.schemes.clear_bits import run_clear_bootstraps
from cloakwork.schemes.clear_gates import ClearGates
from tests.thoroughness import part

SETS = stated_sets(64)
PAIRS = (GateKind.AND, GateKind.OR, GateKind.XOR, GateKind.XNOR)


def repeated(seed: int) -> GateProgram:
    """Several kinds of random parts, some often, one gate of each part after the other."""
    rng = random.Random(seed)
    counts = [rng.randint(1, 6) for _ in range(rng.randint(1, 3))]
    widths = [rng.randint(1, 4) for _ in counts]
    bits = sum(count * width for count, width in zip(counts, widths, strict=True))
    order = list(range(bits))
    rng.shuffle(order)
    builder = GateBuilder("parts", (Port("a", "bits", bits),))
    builder.append(GateKind.AND, 0, bits - 1)  # Needed by no output.
    constant = builder.append(GateKind.ONE)
    leaving = [constant]
    for count, width in zip(counts, widths, strict=True):
        parts = [sorted(order.pop() for _ in range(width)) for _ in range(count)]
        for _ in range(rng.randint(0, 8)):
            kind = rng.choice(PAIRS)
            places = [rng.randint(-1, len(parts[0]) - 1) for _ in range(2)]
            for own in parts:
                taken = [constant if place < 0 else own[place] for place in places]
                own.append(builder.append(kind, *taken))
        leaving += [own[place] for place in (-1, 0) for own in parts]
    builder.output(Port("y", "bits", len(leaving)), leaving)
    return builder.finish()


@pytest.mark.parametrize("seed", range(part(60)))
@pytest.mark.parametrize("threads", [1, 8])
def test_copies_compute_the_same_within_the_noise(seed: int, threads: int) -> None:
    gates = repeated(seed)
    mapped = map_parts(gates, SETS, threads)
    runs = np.random.default_rng(seed).integers(0, 2, (64, gates.input_bits), dtype=np.uint8)
    assert (run_clear_bootstraps(mapped.program, runs) == ClearGates(gates).run(runs)).all()
    assert (mapped.program.inputs, mapped.program.outputs) == (gates.inputs, gates.outputs)
    assert mapped.failure.worst <= -64
    assert mapped.threads == threads


def less_in_rows(rows: int) -> GateProgram:
    """Whether the numbers of rows are less than others, of four bits each."""
    builder = GateBuilder("less", [Port(name, "unsigned", 4, (rows,)) for name in "ab"])
    made = []
    for row in range(rows):
        less = builder.append(GateKind.ZERO)
        for bit in range(4 * row, 4 * row + 4):
            differ = builder.append(GateKind.XOR, bit, bit + 4 * rows)
            less = builder.append(GateKind.MUX, differ, bit + 4 * rows, less)
        made.append(less)
    builder.output(Port("y", "unsigned", 1, (rows,)), made)
    return builder.finish()


def test_rows_take_as_many_bootstraps_as_one_each() -> None:
    one, many = less_in_rows(1), less_in_rows(50)
    alone, mapped = map_gates(one, SETS, 1), map_parts(many, SETS, 1)
    assert mapped.program.bootstrap_count == 50 * alone.program.bootstrap_count
    assert mapped.costs.name == alone.costs.name
    assert mapped.seconds == pytest.approx(50 * alone.seconds)


def test_what_is_rare_and_small_has_no_say() -> None:
    many = less_in_rows(20)
    builder = GateBuilder("and one more", (*many.inputs, Port("c", "bits", 2)))
    for kind, operands, table in many.gates():
        moved = [value + 2 * (value >= many.input_bits) for value in operands]
        builder.append(kind, *moved, table=table)
    last = builder.append(GateKind.AND, many.input_bits, many.input_bits + 1)
    builder.output(many.outputs[0], [value + 2 for value in many.output_values.tolist()])
    builder.output(Port("both", "bits", 1), [last])
    gates = builder.finish()
    assert [list(map(len, kinds)) for kinds in by_share(separate_parts(gates))] == [[20], [1]]
    mapped = map_parts(gates, SETS, 1)
    alone = map_gates(less_in_rows(1), SETS, 1)
    assert mapped.program.bootstrap_count == 20 * alone.program.bootstrap_count + 1


def test_bits_that_leave_as_they_came_are_parts_without_gates() -> None:
    builder = GateBuilder("turned", (Port("a", "bits", 3),))
    builder.output(Port("y", "bits", 3), (2, 1, 0))
    mapped = map_parts(builder.finish(), SETS, 1)
    assert mapped.program.bootstrap_count == 0
    runs = np.array([[1, 1, 0], [0, 1, 1]], dtype=np.uint8)
    assert (run_clear_bootstraps(mapped.program, runs) == runs[:, ::-1]).all()
