"""Gate programs explained."""

from cloakwork.explain.gates import explain_gates

import cloakwork as cw
from cloakwork.programs.gates import GateBuilder, GateKind, GateProgram
from cloakwork.programs.port import Port


def chain(lengths: list[int]) -> GateProgram:
    """As many gates at each level."""
    builder = GateBuilder("chain", (Port("a", "unsigned", 1),))
    last = 0
    for length in lengths:
        last, *_ = [builder.append(GateKind.NOT, last) for _ in range(length)]
    builder.output(Port("y", "signed", 2, shape=(1,)), [last, last])
    return builder.finish()


def test_ports_gates_and_levels() -> None:
    text = cw.explain(cw.boolean.BooleanProgram(chain([8, 4, 1])))
    gates, ciphertexts = text.split("\n\non ciphertexts: ")
    assert gates.split("\n") == [
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
    assert "hides nothing" not in ciphertexts


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
