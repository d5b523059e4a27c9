"""Chains of gate programs against running one after the other."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cloakwork as cw
from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.boolean.circuit import Circuit
from cloakwork.programs.gate_chain import chained
from cloakwork.programs.gates import GateBuilder, GateKind, GateProgram
from cloakwork.programs.port import Port
from tests.programs.random_gates import evaluated, gate_programs


@st.composite
def pairs(draw: st.DrawFn) -> tuple[GateProgram, GateProgram, dict[str, str]]:
    """Two programs, and wires from the first to some inputs of the second."""
    first, second = draw(gate_programs(least_inputs=1)), draw(gate_programs(least_inputs=1))
    renamed = tuple(replace(port, name=f"first {port.name}") for port in first.inputs)
    into = draw(st.lists(st.sampled_from(second.inputs), min_size=1, unique=True))
    values = st.integers(0, first.input_bits + first.gate_count - 1)
    wired = [draw(values) for port in into for _ in range(port.bits)]
    outputs = tuple(Port(f"wire {port.name}", "bits", port.bits) for port in into)
    made = replace(
        first,
        inputs=renamed,
        outputs=first.outputs + outputs,
        output_values=np.array([*first.output_values.tolist(), *wired], dtype=np.uint32),
    )
    return made, second, {f"wire {port.name}": port.name for port in into}


def by_name(ports: tuple[Port, ...], bits: list[int]) -> dict[str, list[int]]:
    left = iter(bits)
    return {port.name: [next(left) for _ in range(port.bits)] for port in ports}


@given(pairs(), st.randoms())
def test_a_chain_is_one_after_the_other(
    case: tuple[GateProgram, GateProgram, dict[str, str]], random: Any
) -> None:
    first, second, wires = case
    both = chained(first, second, wires)
    given = by_name(both.inputs, [random.getrandbits(1) for _ in range(both.input_bits)])
    between = by_name(
        first.outputs,
        evaluated(first, [bit for port in first.inputs for bit in given[port.name]]),
    )
    given |= {into: between[out] for out, into in wires.items()}
    wanted = evaluated(second, [bit for port in second.inputs for bit in given[port.name]])
    bits = [bit for port in both.inputs for bit in given[port.name]]
    assert evaluated(both, bits) == wanted
    left = tuple(port for port in second.inputs if port.name not in wires.values())
    assert both.inputs == first.inputs + left
    assert both.outputs == second.outputs


def negation(into: str, out: str, width: int = 1) -> Circuit:
    builder = GateBuilder(f"not {into}", (Port(into, "bits", width), Port("key", "bits", 1)))
    inverted = [builder.append(GateKind.NOT, bit) for bit in range(width)]
    builder.output(Port(out, "bits", width), inverted)
    builder.output(Port(f"{out} again", "bits", width), inverted)
    return Circuit(builder.finish())


@pytest.mark.parametrize(
    ("wires", "width", "reason"),
    [
        ({}, 1, "expected an output that becomes an input, got none"),
        ({"z": "x"}, 1, "the first has no output 'z'; it has y, y again"),
        ({"y": ["x"]}, 1, r"the second has no input \['x'\]; it has x, key"),
        ({"y": "z"}, 1, "the second has no input 'z'; it has x, key"),
        ({"y": "x"}, 2, "the output 'y' has 1 bits, the input 'x' 2"),
        ({"y": "x", "y again": "x"}, 1, "two outputs become the input 'x'"),
        ({"y": "x"}, 1, "both programs have an input 'key'"),
    ],
)
def test_wires_that_do_not_fit(wires: Mapping[str, Any], width: int, reason: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"cannot chain .*{reason}"):
        cw.boolean.chain(negation("a", "y"), negation("x", "w", width), wires)


def test_only_programs_over_bits_are_chained() -> None:
    with pytest.raises(InvalidArgumentError, match="cannot chain: expected a program over bits"):
        cw.boolean.chain(negation("a", "y"), "not a program", {"y": "x"})  # type: ignore[arg-type]


@pytest.mark.parametrize("wires", [None, 5, "yx", [("y", "x")]])
def test_wires_are_names_by_names(wires: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="by the names of outputs of the first, got"):
        cw.boolean.chain(negation("a", "y"), negation("x", "w"), wires)


def test_a_second_input_of_one_name_may_be_wired_away() -> None:
    program = cw.boolean.chain(negation("a", "y"), negation("x", "w"), {"y": "x", "y again": "key"})
    assert program.run_clear(a=[1], key=[0])["w"].tolist() == [1]
