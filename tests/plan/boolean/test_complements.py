"""Complements of inputs and outputs, put back where the rest of a circuit is mapped."""

import random

import numpy as np
import pytest
from hypothesis import given

from cloakwork.base.record import digest_of, record_of
from cloakwork.plan.boolean.complements import complements_of
from cloakwork.plan.boolean.parts import map_parts
from cloakwork.plan.cost.tfhe import stated_sets
from cloakwork.programs.gates import GateBuilder, GateKind, GateProgram
from cloakwork.programs.port import Port
from cloakwork.schemes.clear_bits import run_clear_bootstraps
from cloakwork.schemes.clear_gates import ClearGates
from tests.plan.boolean import circuits
from tests.programs.random_gates import gate_programs
from tests.thoroughness import part

SETS = stated_sets(128)


def turned(gates: GateProgram, seed: int) -> tuple[GateProgram, list[int], list[int]]:
    """A circuit between random complements, and what is added to its inputs and outputs."""
    rng = random.Random(seed)
    inputs = [rng.getrandbits(1) for _ in range(gates.input_bits)]
    outputs = [rng.getrandbits(1) for _ in range(gates.output_bits)]
    builder = GateBuilder(gates.title, gates.inputs)
    one = builder.append(GateKind.ONE)

    def complement(value: int) -> int:
        if rng.getrandbits(1):
            return builder.append(GateKind.NOT, value)
        return builder.append(GateKind.XOR, *rng.sample([value, one], 2))

    values = [complement(bit) if added else bit for bit, added in enumerate(inputs)]
    for kind, operands, table in gates.gates():
        values.append(builder.append(kind, *(values[each] for each in operands), table=table))
    leaving = [values[each] for each in gates.output_values.tolist()]
    leaving = [
        complement(each) if added else each for each, added in zip(leaving, outputs, strict=True)
    ]
    for port in gates.outputs:
        builder.output(port, [leaving.pop(0) for _ in range(port.bits)])
    return builder.finish(), inputs, outputs


@pytest.mark.parametrize("seed", range(part(20)))
def test_complements_take_no_bootstrap(seed: int) -> None:
    gates = circuits.adder(3)
    made, inputs, outputs = turned(gates, seed)
    found = complements_of(made)
    assert found.inputs.tolist() == inputs
    assert found.outputs.tolist() == outputs
    plain = map_parts(found.program, SETS, 1)
    body = found.put_back(plain.program)
    assert body.bootstrap_count == map_parts(gates, SETS, 1).program.bootstrap_count
    runs = np.random.default_rng(seed).integers(0, 2, (64, gates.input_bits), dtype=np.uint8)
    expected = ClearGates(gates).run(runs ^ np.array(inputs, np.uint8)) ^ np.array(outputs)
    assert (run_clear_bootstraps(body, runs) == expected).all()


def test_circuits_between_complements_are_one() -> None:
    first, second = (complements_of(turned(circuits.adder(3), seed)[0]).program for seed in (1, 2))
    assert digest_of(record_of(first)) == digest_of(record_of(second))


@given(gate_programs())
def test_any_circuit_is_the_same_with_its_complements_put_back(gates: GateProgram) -> None:
    found = complements_of(gates)
    runs = np.random.default_rng(1).integers(0, 2, (16, gates.input_bits), dtype=np.uint8)
    expected = ClearGates(gates).run(runs)
    made = ClearGates(found.program).run(runs ^ found.inputs) ^ found.outputs
    assert (made == expected).all()


@pytest.mark.parametrize("seed", range(part(200)))
def test_complements_of_complements_are_followed(seed: int) -> None:
    rng = random.Random(seed)
    builder = GateBuilder("chains", (Port("a", "bits", 4),))
    one = builder.append(GateKind.ONE)
    values = list(range(4))
    for _ in range(rng.randrange(1, 12)):
        value = rng.choice(values[-6:])
        match rng.randrange(5):
            case 0 | 1:
                values.append(builder.append(GateKind.NOT, value))
            case 2 | 3:
                values.append(builder.append(GateKind.XOR, *rng.sample([value, one], 2)))
            case _:
                values.append(builder.append(GateKind.AND, value, rng.choice(values)))
    builder.output(Port("y", "bits", 5), [rng.choice(values) for _ in range(5)])
    gates = builder.finish()
    found = complements_of(gates)
    runs = np.indices((2,) * 4, dtype=np.uint8).reshape(4, -1).T
    body = found.put_back(map_parts(found.program, SETS, 1).program)
    assert (run_clear_bootstraps(body, runs) == ClearGates(gates).run(runs)).all()
