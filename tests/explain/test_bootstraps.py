"""Mapped programs explained."""

import re

import pytest
from cloakwork.explain.bootstraps import explain_mapped
from cloakwork.plan.cost.measured_tfhe import measured_target

import cloakwork as cw
from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.boolean.circuit import BooleanProgram, Port
from cloakwork.plan.boolean.map import MappedProgram, map_gates
from cloakwork.plan.cost.tfhe import published_target
from cloakwork.programs.gates import GateBuilder, GateKind, GateProgram


def ands(count: int) -> GateProgram:
    """ANDs beside each other, then one of the first two."""
    builder = GateBuilder("ands", (Port("a", "bits", 2 * count),))
    made = [builder.append(GateKind.AND, 2 * each, 2 * each + 1) for each in range(count)]
    last = builder.append(GateKind.AND, made[0], made[1])
    builder.output(Port("y", "bits", count + 1), [*made, last])
    return builder.finish()


def facts(text: str) -> dict[str, str]:
    return dict(re.findall(r"^  (\w+) {2,}(\S.*)$", text, flags=re.MULTILINE))


def test_what_runs_is_counted() -> None:
    mapped = map_gates(ands(4), measured_target("boxes4"), 2)
    text = cw.explain(mapped)
    assert "on ciphertexts: TFHE with the parameters boxes4, 128-bit secure" in text
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
        r".* on 1 thread, .* on 2 threads, .* on 16 threads, modelled; mapped for 2 threads",
        told["time"],
    )
    lines = text.split("\n")
    bars = lines[lines.index("  bootstraps per level") + 1 :]
    assert [bar.split() for bar in bars] == [["1", "#" * 40, "4"], ["2", "#" * 10, "1"]]


def test_the_key_is_as_long_as_told() -> None:
    mapped = map_gates(ands(2), measured_target("boxes4"), 1)
    _, evaluator = mapped.keygen()
    data = evaluator.key.to_bytes()
    assert len(data) == evaluator.key.parameters.evaluation_key_bytes
    assert facts(cw.explain(mapped))["key"] == f"{len(data) / 2**20:.1f} MiB for the evaluator"


def test_probabilities_are_bounds() -> None:
    mapped = map_gates(ands(4), measured_target("boxes8"), 1)
    told = facts(cw.explain(mapped))["failure"]
    found = re.fullmatch(r"2\^(-\d+) for one .*, 2\^(-\d+) for the program, at most", told)
    assert found
    worst, total = map(int, found.groups())
    assert mapped.failure.worst <= worst < mapped.failure.worst + 1
    assert mapped.failure.total <= total < mapped.failure.total + 1


def test_a_program_without_bootstraps() -> None:
    builder = GateBuilder("none", ())
    builder.output(Port("y", "bits", 1), [builder.append(GateKind.ONE)])
    text = cw.explain(map_gates(builder.finish(), measured_target("boxes4"), 1))
    told = facts(text)
    assert (told["bootstraps"], told["depth"]) == ("0", "0")
    assert told["failure"] == "0 for one bootstrap or output, 0 for the program, at most"
    assert "per level" not in text


def test_gates_and_ciphertexts_are_told_apart() -> None:
    program = BooleanProgram(ands(2))
    clear, encrypted = cw.explain(program).split("\non ciphertexts: ")
    assert "\ngates on bits in the clear: hides nothing\n  gates   3: 3 and" in clear
    assert "hides nothing" not in encrypted
    assert encrypted in cw.explain(program.mapped())


def test_a_target_that_the_engine_has_not_is_refused() -> None:
    mapped = map_gates(ands(2), published_target(), 1)
    for act in (lambda: explain_mapped(mapped), mapped.keygen):
        with pytest.raises(InvalidArgumentError, match="boxes4"):
            act()
    assert isinstance(mapped, MappedProgram)
