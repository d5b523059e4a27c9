"""Names of ports, by patterns, annotations and types; Clash is not needed."""

import pytest

from cloakwork.errors import HaskellError, InvalidProgramError, NotBitsError
from cloakwork.frontends.boolean.haskell_names import Name, Pattern
from cloakwork.frontends.boolean.haskell_ports import require_ports_of_bits, with_haskell_ports
from cloakwork.frontends.boolean.haskell_types import (
    Constructed,
    Constructor,
    Field,
    HaskellScalar,
    HaskellSignature,
    HaskellVector,
    Meaning,
)
from cloakwork.programs.gates import GateBuilder, GateProgram
from cloakwork.programs.port import Port

BIT = HaskellScalar("unsigned", 1)
BYTE = HaskellScalar("bits", 8)
UNIT = Constructed((Constructor("()", ()),))


def held(name: str, *fields: Meaning | tuple[str, Meaning]) -> Constructor:
    named = (each if isinstance(each, tuple) else (None, each) for each in fields)
    return Constructor(name, tuple(Field(*each) for each in named))


def product(name: str, *fields: Meaning | tuple[str, Meaning]) -> Constructed:
    return Constructed((held(name, *fields),))


def newtype(name: str, field: Meaning | tuple[str, Meaning]) -> Constructed:
    return Constructed((held(name, field),), is_newtype=True)


PAIR = product("(,)", HaskellScalar("signed", 3), BIT)
POINT = product("Point", ("x", HaskellScalar("signed", 3)), ("y", BIT))
MAYBE = Constructed((held("Nothing"), held("Just", BYTE)))
SHAPE = Constructed((held("Dot"), held("Line", BIT, POINT), held("Disc", ("size", BYTE))))


def copied(meaning: Meaning) -> GateProgram:
    """A program whose output is its input."""
    width = meaning.width
    builder = GateBuilder("", [Port("x0", "unsigned", width)] if width else [])
    builder.output(Port("out", "unsigned", max(width, 1)), range(width) if width else [])
    return builder.finish()


def names_of(meaning: Meaning, name: Name = None, annotated: tuple[Name, ...] = ()) -> list[str]:
    signature = HaskellSignature(("", ""), (meaning, meaning), annotated)
    program = with_haskell_ports(copied(meaning), "f", [name], signature)
    return [port.name for port in program.inputs]


@pytest.mark.parametrize(
    ("meaning", "name", "names"),
    [
        (BIT, None, ["x0"]),
        (BIT, "a", ["a"]),
        (PAIR, None, ["x0_0", "x0_1"]),
        (PAIR, "p", ["p_0", "p_1"]),
        (PAIR, ["a", None], ["a", "x0_1"]),
        (PAIR, Pattern("Point", ["a", "b"]), ["x0_0", "x0_1"]),
        (POINT, None, ["x0_x", "x0_y"]),
        (POINT, "p", ["p_x", "p_y"]),
        (POINT, Pattern("Point", ["a", None]), ["a", "x0_y"]),
        (product("Box", POINT, BIT), Pattern("Box", ["p", None]), ["p_x", "p_y", "x0_1"]),
        (product("Box", POINT, BIT), Pattern("Box", [["a", "b"], "c"]), ["a", "b", "c"]),
        (product("One", BYTE), "o", ["o"]),
        (product("One", ("it", BYTE)), "o", ["o_it"]),
        (newtype("Key", HaskellVector(2, BYTE)), Pattern("Key", ["k"]), ["k"]),
        (newtype("Key", HaskellVector(2, BYTE)), Pattern("Key", [None]), ["x0"]),
        (newtype("Key", ("unKey", BYTE)), "key", ["key"]),
        (newtype("Wrapped", POINT), Pattern("Wrapped", [Pattern("Point", ["a", "b"])]), ["a", "b"]),
        (HaskellVector(2, POINT), "ps", ["ps_x", "ps_y"]),
        (HaskellVector(2, HaskellVector(3, PAIR)), "ps", ["ps_0", "ps_1"]),
        (HaskellVector(3, newtype("Byte", BYTE)), "text", ["text"]),
        (MAYBE, "m", ["m", "m_Just"]),
        (MAYBE, Pattern("Just", ["m"]), ["x0", "x0_Just"]),
        (SHAPE, "s", ["s", "s_Line_0", "s_Line_1_x", "s_Line_1_y", "s_Disc_size"]),
        (product("(,)", UNIT, BIT), "p", ["p_1"]),
        (product("(,)", HaskellVector(0, PAIR), BIT), "p", ["p_1"]),
        (product("(,)", HaskellScalar("bits", 0), BIT), "p", ["p_1"]),
    ],
)
def test_names(meaning: Meaning, name: Name, names: list[str]) -> None:
    assert names_of(meaning, name) == names


def test_an_annotation_goes_before_the_equations() -> None:
    assert names_of(POINT, "p", (["a", "b"], "out")) == ["a", "b"]
    assert names_of(POINT, "p", ("q", "out")) == ["q_x", "q_y"]
    assert names_of(POINT, "p", (None, "out")) == ["p_x", "p_y"]
    assert names_of(HaskellScalar("bits", 2), "p", (["a", "b"], "out")) == ["a_b"]


def test_two_ports_of_one_name_are_refused() -> None:
    signature = HaskellSignature(("",) * 3, (BIT, BIT, BIT), ())
    builder = GateBuilder("", [Port("x0", "unsigned", 1), Port("x1", "unsigned", 1)])
    builder.output(Port("out", "unsigned", 1), [0])
    with pytest.raises(InvalidProgramError, match="'a' comes twice among its inputs"):
        with_haskell_ports(builder.finish(), "f", ["a", "a"], signature)


def test_widths_that_differ_from_those_of_the_types_are_refused() -> None:
    with pytest.raises(HaskellError, match=r"expected widths of \[8\] bits, got \[1\]"):
        with_haskell_ports(copied(BIT), "f", ["a"], HaskellSignature(("", ""), (BYTE, BIT), ()))


@pytest.mark.parametrize(
    "meaning", [UNIT, HaskellVector(0, BIT), product("(,)", UNIT, HaskellScalar("bits", 0))]
)
def test_types_without_bits_are_refused_by_name(meaning: Meaning) -> None:
    with pytest.raises(NotBitsError, match=r"argument key: its type has no bits: T; leave it out"):
        require_ports_of_bits(["key"], HaskellSignature(("T", "Bit"), (meaning, BIT), ()))
    with pytest.raises(NotBitsError, match=r"argument x0: its type has no bits: T; leave it out"):
        require_ports_of_bits([], HaskellSignature(("T", "Bit"), (meaning, BIT), ()))
    with pytest.raises(NotBitsError, match=r"of the result: its type has no bits: T; expected"):
        require_ports_of_bits(["key"], HaskellSignature(("Bit", "T"), (BIT, meaning), ()))


def test_the_first_component_has_the_most_significant_bits() -> None:
    packed = HaskellScalar("bits", 15)
    signature = HaskellSignature(("", ""), (SHAPE, packed), ())
    program = with_haskell_ports(copied(packed), "f", ["s"], signature)
    # Where each bit comes from among those of 2, 1, 3, 1 and 8 bits of the inputs in their order.
    number, line, x, y, size = [0, 1], [2], [3, 4, 5], [6], [7, 8, 9, 10, 11, 12, 13, 14]
    assert [port.bits for port in program.inputs] == [2, 1, 3, 1, 8]
    assert program.output_values.tolist() == [*size, *y, *x, *line, *number]
