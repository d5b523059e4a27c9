"""The language of einsum expressions."""

import string
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork.errors import EinsumSyntaxError, ShapeMismatchError
from cloakwork.frontends.tensors.einsum_syntax import Expression, from_sublists, parse, sizes
from tests.frontends.tensors.random_einsums import RandomEinsum, random_einsums
from tests.thoroughness import part


@pytest.mark.parametrize(
    ("text", "inputs", "output"),
    [
        ("bi,ci->bc", ("bi", "ci"), "bc"),
        (" b i , c i -> b c ", ("bi", "ci"), "bc"),
        ("ba", ("ba",), "ab"),
        ("aB", ("aB",), "Ba"),
        ("ij,jk", ("ij", "jk"), "ik"),
        ("ij,jk,kl,lm", ("ij", "jk", "kl", "lm"), "im"),
        ("ii", ("ii",), ""),
        ("->", ("",), ""),
        ("", ("",), ""),
        (",i->i", ("", "i"), "i"),
        (",,", ("", "", ""), ""),
        ("iJ->Ji", ("iJ",), "Ji"),
    ],
)
def test_parse(text: str, inputs: tuple[str, ...], output: str) -> None:
    expression = parse(text, tuple(len(labels) for labels in inputs))
    assert (expression.inputs, expression.output) == (inputs, output)
    assert expression.operands == len(inputs)


@pytest.mark.parametrize(
    ("text", "ndims", "inputs", "output"),
    [
        ("...ij,...jk->...ik", (4, 3), ("abij", "bjk"), "abik"),
        ("a...c->c...", (4,), ("abdc",), "cbd"),
        ("z...a", (3,), ("zba",), "baz"),
        ("i...->i", (1,), ("i",), "i"),
        ("i->...i", (1,), ("i",), "i"),
        ("... i , ... -> ...", (2, 2), ("bi", "ab"), "ab"),
        ("...,...", (0, 1), ("", "a"), "a"),
    ],
)
def test_an_ellipsis_becomes_labels_of_its_own(
    text: str, ndims: tuple[int, ...], inputs: tuple[str, ...], output: str
) -> None:
    expression = parse(text, ndims)
    assert (expression.inputs, expression.output) == (inputs, output)


def test_an_ellipsis_of_many_axes_goes_beyond_ascii() -> None:
    expression = parse(string.ascii_letters + "...", (60,))
    assert len(set(expression.inputs[0])) == 60
    assert expression.inputs[0][52:].isalpha()


def test_the_axes_of_an_ellipsis_stand_at_its_place() -> None:
    assert parse("i...j", (4,)).places == ((0, 1, 1, 4),)


def check_points(caught: Exception, text: str, reason: str, place: int) -> None:
    first, repeated, caret = str(caught).split("\n")
    assert first.startswith("cannot einsum: ")
    assert reason in first
    assert repeated == f"  {text}"
    assert caret.index("^") == 2 + place


@pytest.mark.parametrize(
    ("text", "ndims", "reason", "place"),
    [
        ("i1->i", (2,), "'1' is not a label", 1),
        ("ij-i", (2,), "'-' is not a label", 2),
        ("ij- >i", (2,), "'-' is not a label", 2),
        ("ij->i->j", (2,), "'-' is not a label", 5),
        ("ij->i,j", (2,), "',' is not a label", 5),
        ("i\tj", (2,), r"'\t' is not a label", 1),
        ("ij->ii", (2,), "i is in the output twice", 5),
        ("ij,jk->iz", (2, 2), "z is in no operand", 8),
        ("ié->i", (2,), "'é' is not a label", 1),
        ("i..->i", (2,), "three dots", 1),
        ("i. ..->i", (2,), "three dots", 1),
        ("i....->i", (2,), "three dots", 4),
        ("...i...->i", (2,), "one ellipsis", 4),
        ("i...->......", (2,), "one ellipsis", 9),
        ("i...->i", (2,), "leaves out the ellipsis, which has 1 axis", 6),
        ("...i,...i->", (2, 3), "leaves out the ellipsis, which has 2 axis", 11),
    ],
)
def test_errors_point_to_the_place(
    text: str, ndims: tuple[int, ...], reason: str, place: int
) -> None:
    with pytest.raises(EinsumSyntaxError) as caught:
        parse(text, ndims)
    check_points(caught.value, text, reason, place)


@pytest.mark.parametrize(
    ("text", "shapes", "reason", "place"),
    [
        ("ij,jk->ik", [(2, 3)], "has 2 operand(s), 1 came", 0),
        ("ij->ij", [(2, 3), (2, 3)], "has 1 operand(s), 2 came", 0),
        ("ij,jk->ik", [(2, 3), (3,)], "operand 2 has 1 axes, its term 2 label(s)", 3),
        ("ij,jk->ik", [(2, 3), (4, 5)], "j is 3 before and 4 in operand 2", 3),
        ("ii->i", [(2, 3)], "i is 2 and 3 within operand 1", 1),
        ("ii->i", [(1, 3)], "i is 1 and 3 within operand 1", 1),
        (",i->i", [(2,), (3,)], "operand 1 has 1 axes", 0),
        ("ij->i", [(2, 0)], "j has size 0 in operand 1", 1),
        ("i,j...k->i...", [(2,), (3,)], "1 axes, its term 2 label(s) beside the ellipsis", 2),
        ("i,...->...", [(2,), (3, 0, 1)], "axis -2 of the ellipsis has size 0 in operand 2", 2),
        ("...,i...->...", [(3, 4), (2, 5)], "axis -1 of the ellipsis is 4 before and 5", 5),
    ],
)
def test_shapes_that_do_not_fit(
    text: str, shapes: list[tuple[int, ...]], reason: str, place: int
) -> None:
    with pytest.raises(ShapeMismatchError) as caught:
        sizes(parse(text, tuple(len(shape) for shape in shapes)), shapes)
    check_points(caught.value, text, reason, place)


def test_an_axis_of_one_stretches() -> None:
    assert sizes(parse("i,i->i", (1, 1)), [(1,), (4,)]) == (("i", 4),)


def shape_by_numpy(text: str, shapes: list[tuple[int, ...]]) -> tuple[int, ...] | None:
    try:
        result = np.einsum(text, *[np.zeros(shape) for shape in shapes])
    except ValueError:
        return None
    return np.asarray(result).shape


def shape_by_us(text: str, shapes: list[tuple[int, ...]]) -> tuple[int, ...] | None:
    try:
        expression: Expression = parse(text, tuple(len(shape) for shape in shapes))
        size_of = dict(sizes(expression, shapes))
    except (EinsumSyntaxError, ShapeMismatchError):
        return None
    return tuple(size_of[label] for label in expression.output)


@settings(deadline=None)
@given(random_einsums())
def test_what_numpy_accepts_is_accepted(case: RandomEinsum) -> None:
    text, operands, _ = case
    shapes = [operand.shape for operand in operands]
    expected = shape_by_numpy(text, shapes)
    assert expected is not None
    assert shape_by_us(text, shapes) == expected


@settings(deadline=None, max_examples=part(400))
@given(random_einsums(max_operands=3, max_size=3, max_elements=32), st.data())
def test_what_numpy_refuses_is_refused(case: RandomEinsum, data: st.DataObject) -> None:
    text, operands, _ = case
    shapes = [operand.shape for operand in operands]
    for _ in range(data.draw(st.integers(1, 2), "damages")):
        if data.draw(st.booleans(), "damage the text"):
            place = data.draw(st.integers(0, len(text)), "place")
            cut = data.draw(st.integers(0, 2), "cut")
            put = data.draw(st.sampled_from(["", "i", "Z", ".", "...", ",", "->", " ", "7", "é"]))
            text = text[:place] + put + text[place + cut :]
        else:
            number = data.draw(st.integers(0, len(shapes) - 1), "operand")
            shapes[number] = data.draw(st.lists(st.integers(1, 3), max_size=4).map(tuple), "shape")
    assert shape_by_us(text, shapes) == shape_by_numpy(text, shapes)


def test_sublists_are_numpys() -> None:
    left, right = np.ones((2, 3)), np.ones((3, 4, 5))
    cases: list[list[Any]] = [
        [left, [0, 1], right, [1, ...], [0, ...]],
        [left, [26, 0], right, (0, 51, 3)],
        [left, range(2)],
        [left, np.array([1, 0]), [np.int64(0)]],
        [left, [0, 1], []],
    ]
    for arguments in cases:
        text, operands = from_sublists(arguments)
        by_text: Any = [text, *operands]
        np.testing.assert_array_equal(np.einsum(*by_text), np.einsum(*arguments))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "0 argument(s)"),
        (["x"], "1 argument(s)"),
        (["x", [0, 52]], "axes of operand 1 as integers from 0 to 51 or Ellipsis, got 52"),
        (["x", [-1]], "got -1"),
        (["x", [True]], "got True"),
        (["x", [0], "y", [0.0]], "operand 2 as integers from 0 to 51 or Ellipsis, got 0.0"),
        (["x", "ij"], "got 'i'"),
        (["x", [0], ["j"]], "the output as integers"),
        (["x", None], "expected a list of the axes of operand 1, got NoneType"),
    ],
)
def test_sublists_that_are_none(arguments: list[object], reason: str) -> None:
    with pytest.raises(EinsumSyntaxError) as caught:
        from_sublists(arguments)
    assert str(caught.value).startswith("cannot einsum: ")
    assert reason in str(caught.value)
