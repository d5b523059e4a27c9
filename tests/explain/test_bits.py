"""Programs over bits explained: their gates, and what runs on ciphertexts."""

import re

import pytest

import cloakwork as cw
from cloakwork.explain.bits import explain_gates
from cloakwork.explain.quantities import duration
from cloakwork.frontends.boolean.circuit import Circuit
from cloakwork.plan.boolean.map import map_gates
from cloakwork.plan.cost.tfhe import measured_set, node_seconds
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.gates import GateBuilder, GateKind, GateProgram
from cloakwork.programs.packing.bits import BitPacking
from cloakwork.programs.port import Port
from cloakwork.schemes.tfhe import Tfhe


def ands(count: int) -> GateProgram:
    """ANDs beside each other, then one of the first two."""
    builder = GateBuilder("ands", (Port("a", "bits", 2 * count),))
    made = [builder.append(GateKind.AND, 2 * each, 2 * each + 1) for each in range(count)]
    last = builder.append(GateKind.AND, made[0], made[1])
    builder.output(Port("y", "bits", count + 1), [*made, last])
    return builder.finish()


def chain(lengths: list[int]) -> GateProgram:
    """As many gates at each level."""
    builder = GateBuilder("chain", (Port("a", "unsigned", 1),))
    last = 0
    for length in lengths:
        last, *_ = [builder.append(GateKind.NOT, last) for _ in range(length)]
    builder.output(Port("y", "signed", 2, shape=(1,)), [last, last])
    return builder.finish()


def program_of(gates: GateProgram, name: str, threads: int) -> cw.Program:
    """The gates under one parameter set, for 2^-64: with less noise space4 takes no two outputs."""
    body = map_gates(gates, measured_set(name, 64), threads).program
    return cw.Program(Tfhe(name, 64), body, BitPacking(body.inputs, body.outputs), threads=threads)


def facts(text: str) -> dict[str, str]:
    return dict(re.findall(r"^  (\w+) {2,}(\S.*)$", text, flags=re.MULTILINE))


def test_ports_gates_and_levels() -> None:
    assert cw.explain(Circuit(chain([8, 4, 1]))).split("\n") == [
        "chain",
        "  input   a: unsigned, 1 bit",
        "  output  y: 1 x signed, 2 bits",
        "",
        "gates on bits in the clear: hides nothing",
        "  gates   13: 13 not",
        "  depth   3",
        "",
        "  gates per level",
        "    1  " + "#" * 40 + "  8",
        "    2  " + "#" * 20 + " " * 20 + "  4",
        "    3  " + "#" * 5 + " " * 35 + "  1",
    ]


def test_many_levels_share_bars() -> None:
    lines = explain_gates(chain([2] * 12 + [1] * 13)).split("\n")
    bars = lines[lines.index("  gates per level") + 1 :]
    assert [bar.split()[0] for bar in bars[:2]] == ["1-3", "4-6"]
    assert bars[-1].split()[0] == "25"
    assert [bar.count("#") for bar in bars] == [40] * 4 + [20] * 5
    assert bars[0].endswith("2 each")


def test_many_ports_are_not_all_told() -> None:
    builder = GateBuilder("t", [Port(f"a{number}", "bits", 1) for number in range(14)])
    text = explain_gates(builder.finish())
    assert "input   a11" in text
    assert "a12" not in text
    assert "and 2 more inputs" in text
    assert text.endswith("  gates   0\n  depth   0")


def test_what_runs_is_counted() -> None:
    text = cw.explain(program_of(ands(4), "space4", 2))
    assert text.startswith("ands\n  input   a: bits, 8 bits\n  output  y: bits, 5 bits\n\n")
    assert "\nTFHE with the parameters space4, 128-bit secure\n" in text
    assert "hides nothing" not in text
    told = facts(text)
    assert told["bootstraps"] == "5: 5 of 1 output"
    assert told["depth"] == "2"
    signal = 1537 * 4
    assert told["bits"] == (
        f"{8 * signal / 1024:.1f} KiB in 8 ciphertexts go in, {5 * signal / 1024:.1f} KiB in 5 "
        "come out"
    )
    assert re.fullmatch(
        r".* on 1 thread, .* on 2 threads, .* on 16 threads, modelled; made for 2 threads",
        told["time"],
    )
    lines = text.split("\n")
    bars = lines[lines.index("  bootstraps per level") + 1 :]
    assert [bar.split() for bar in bars] == [["1", "#" * 40, "4"], ["2", "#" * 10, "1"]]


@pytest.mark.parametrize("threads", [1, 2])
def test_the_cpu_time_is_that_of_all_bootstraps(threads: int) -> None:
    # A chain, on which a second thread has nothing to do.
    gates = GateBuilder("row", (Port("a", "bits", 9),))
    last = 0
    for each in range(1, 9):
        last = gates.append(GateKind.AND if each % 2 else GateKind.OR, last, each)
    gates.output(Port("y", "bits", 1), [last])
    program = program_of(gates.finish(), "space4", threads)
    found = cw.estimate(program, runs=3)
    costs = measured_set("space4", 64)
    assert isinstance(program.body, BootstrapProgram)
    assert found.seconds == pytest.approx(3 * sum(node_seconds(program.body, costs)))
    shown = facts(cw.explain(program))["time"]
    assert shown.startswith(f"{duration(found.seconds / 3)} on 1 thread,")


def test_what_was_measured_is_told() -> None:
    program = program_of(ands(2), "space4", 1)
    client, evaluator = program.keygen()
    profile = cw.Profile()
    evaluator.run(client.encrypt([1, 1, 0, 1]), profile=profile)
    assert profile.seconds > 0
    assert " from start to end; 3 bootstraps of " in facts(cw.explain(program, profile))["measured"]
    assert "measured" not in facts(cw.explain(program))


def test_the_key_is_as_long_as_told() -> None:
    program = program_of(ands(2), "space4", 1)
    scheme = program.scheme
    data = scheme.dump(scheme.evaluation_keys(scheme.secret_key(), program.body))["data"]
    assert len(data) == scheme.parameters.evaluation_key_bytes == program.key_bytes
    assert facts(cw.explain(program))["key"] == f"{len(data) / 2**20:.1f} MiB for the evaluator"


def test_probabilities_are_bounds() -> None:
    program = program_of(ands(4), "space8", 1)
    told = facts(cw.explain(program))["failure"]
    found = re.fullmatch(r"2\^(-\d+) for one .*, 2\^(-\d+) for the program, at most", told)
    assert found
    worst, total = map(int, found.groups())
    failure = program.scheme.failure(program.body)
    assert failure.worst <= worst < failure.worst + 1
    assert failure.total <= total < failure.total + 1


def test_a_program_without_bootstraps() -> None:
    builder = GateBuilder("none", ())
    builder.output(Port("y", "bits", 1), [builder.append(GateKind.ONE)])
    text = cw.explain(program_of(builder.finish(), "space4", 1))
    told = facts(text)
    assert (told["bootstraps"], told["depth"]) == ("0", "0")
    assert told["failure"] == "0 for one bootstrap or output, 0 for the program, at most"
    assert "per level" not in text


def test_gates_and_ciphertexts_are_told_apart() -> None:
    circuit = Circuit(ands(2))
    assert "\ngates on bits in the clear: hides nothing\n  gates   3: 3 and" in cw.explain(circuit)
    program = circuit.compile(threads=1)
    assert "hides nothing" not in cw.explain(program)
    in_clear = cw.explain(program.in_clear())
    assert in_clear.count("clear backend: hides nothing") == 1
    assert facts(in_clear)["bootstraps"] == facts(cw.explain(program))["bootstraps"]
    assert {"key", "failure", "time"}.isdisjoint(facts(in_clear))


def test_explaining_measures_and_maps_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = program_of(ands(3), "space4", 1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("empty")))
    told = facts(cw.explain(program))
    assert "time" not in told
    assert told["bootstraps"] == "4: 4 of 1 output"
