"""Every design is mapped, for every number of threads, and computes what its gates do."""

import math
import random
from pathlib import Path

import pytest

from cloakwork.frontends.boolean.verilog import from_verilog
from cloakwork.plan.boolean import xag
from cloakwork.plan.boolean.map import MappedProgram, map_gates
from cloakwork.plan.cost.tfhe import stated_sets
from cloakwork.programs.gates import ARITIES, GateBuilder, GateKind, GateProgram
from cloakwork.programs.port import Port
from tests.plan.boolean import circuits
from tests.plan.boolean.test_map import MIXES, require_same
from tests.thoroughness import slow

THREADS = (1, 2, 8, 64)
MOST_GATES = 5000


def require_mapped(gates: GateProgram, threads: int, failure_bits: int) -> MappedProgram:
    mapped = map_gates(gates, stated_sets(failure_bits), threads)
    require_same(gates, mapped.program)
    assert mapped.failure.worst <= -failure_bits
    return mapped


def random_circuit(seed: int, most_gates: int) -> GateProgram:
    """From 50 gates on, of which none is idle: what no gate uses is an output."""
    rng = random.Random(seed)
    kinds, near = rng.choice(MIXES), rng.choice([30, 300, most_gates])
    builder = GateBuilder("random", (Port("a", "bits", rng.choice([8, 32, 64, 256])),))
    used: set[int] = set()
    for _ in range(int(math.exp(rng.uniform(math.log(50), math.log(most_gates))))):
        kind = rng.choice(kinds)
        first = max(0, len(builder) - near)
        operands = [rng.randrange(first, len(builder)) for _ in range(int(ARITIES[kind]))]
        table = rng.getrandbits(1 << len(operands)) if kind >= GateKind.LUT1 else 0
        builder.append(kind, *operands, table=table)
        used.update(operands)
    outputs = [value for value in range(len(builder)) if value not in used]
    builder.output(Port("y", "bits", len(outputs)), outputs)
    return builder.finish()


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("failure_bits", [64, 128])
@pytest.mark.parametrize("width", [32, *slow(64)])
def test_the_larger_of_two_numbers(width: int, failure_bits: int, threads: int) -> None:
    require_mapped(circuits.larger(width), threads, failure_bits)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("failure_bits", [64, 128])
def test_a_signed_number_within_bounds(failure_bits: int, threads: int) -> None:
    require_mapped(circuits.clamp(32), threads, failure_bits)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize(
    "design",
    [
        *(f"[{n - 1}:0] a, b, output [{2 * n - 1}:0] y); assign y = a * b" for n in (23, 24, 25)),
        *(f"[{n}:0] a, b, output [{n}:0] y); assign y = a > b ? a : b" for n in (31, 63)),
        "signed [31:0] x, l, h, output signed [31:0] y); assign y = x < l ? l : x > h ? h : x",
    ],
)
def test_designs_that_sums_once_outgrew(design: str, threads: int, tmp_path: Path) -> None:
    path = tmp_path / "design.v"
    path.write_text(f"module design(input {design}; endmodule")
    require_mapped(from_verilog(path, "design"), threads, 64)


@pytest.mark.parametrize("seed", [*range(6), *slow(*range(6, 24))])
def test_random_circuits(seed: int) -> None:
    require_mapped(random_circuit(seed, 400), THREADS[seed % 4], (64, 128)[seed // 4 % 2])


@pytest.mark.parametrize("seed", [*range(10), *slow(*range(10, 40))])
def test_long_sums_are_inputs_of_others(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # What else takes thousands of gates.
    monkeypatch.setattr(xag, "MAX_FORM", (3, 6, 12)[seed % 3])
    require_mapped(random_circuit(seed, 200), THREADS[seed % 4], 64)


@pytest.mark.slow
@pytest.mark.parametrize("hundred", range(20))
def test_two_thousand_random_circuits(hundred: int) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        # Large circuits take seconds each.
        gates = random_circuit(seed, 500 if seed % 9 else MOST_GATES)
        require_mapped(gates, THREADS[seed % 4], (64, 128)[seed // 4 % 2])
