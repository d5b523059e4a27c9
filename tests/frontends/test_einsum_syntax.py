"""The language of einsum expressions."""

import pytest

from cloakwork.errors import EinsumSyntaxError, ShapeMismatchError
from cloakwork.frontends.einsum_syntax import parse, sizes


@pytest.mark.parametrize(
    ("text", "inputs", "output"),
    [
        ("bi,ci->bc", ("bi", "ci"), "bc"),
        (" b i , c i -> b c ", ("bi", "ci"), "bc"),
        ("ba", ("ba",), "ab"),
        ("ij,jk", ("ij", "jk"), "ik"),
        ("ii", ("ii",), ""),
        ("->", ("",), ""),
        (",i->i", ("", "i"), "i"),
        ("iJ->Ji", ("iJ",), "Ji"),
    ],
)
def test_parse(text: str, inputs: tuple[str, ...], output: str) -> None:
    expression = parse(text)
    assert (expression.inputs, expression.output) == (inputs, output)


@pytest.mark.parametrize(
    ("text", "reason", "place"),
    [
        ("i1->i", "'1' is no label", 1),
        ("ij-i", "'-' is no label", 2),
        ("ij->i->j", "'-' is no label", 5),
        ("ij->ii", "i is in the output twice", 5),
        ("ij,jk->iz", "z is in no operand", 8),
        ("i,j,k->ijk", "at most 2 operands", 3),
        ("...i->i", "ellipsis is not supported", 0),
        ("ié->i", "'é' is no label", 1),
    ],
)
def test_errors_point_to_the_place(text: str, reason: str, place: int) -> None:
    with pytest.raises(EinsumSyntaxError) as caught:
        parse(text)
    first, repeated, caret = str(caught.value).split("\n")
    assert reason in first
    assert repeated == f"  {text}"
    assert caret.index("^") == 2 + place


@pytest.mark.parametrize(
    ("text", "shapes", "reason", "place"),
    [
        ("ij,jk->ik", [(2, 3)], "has 2 operand(s), 1 came", 0),
        ("ij,jk->ik", [(2, 3), (3,)], "operand 2 has 1 axes, its term 2 label(s)", 3),
        ("ij,jk->ik", [(2, 3), (4, 5)], "j is 3 before and 4 in operand 2", 3),
        ("ii->i", [(2, 3)], "i is 2 and 3 within operand 1", 1),
        (",i->i", [(2,), (3,)], "operand 1 has 1 axes", 0),
    ],
)
def test_shapes_that_do_not_fit(
    text: str, shapes: list[tuple[int, ...]], reason: str, place: int
) -> None:
    with pytest.raises(ShapeMismatchError) as caught:
        sizes(parse(text), shapes)
    first, _, caret = str(caught.value).split("\n")
    assert reason in first
    assert caret.index("^") == 2 + place


def test_an_axis_of_one_stretches() -> None:
    assert sizes(parse("i,i->i"), [(1,), (4,)]) == (("i", 4),)
