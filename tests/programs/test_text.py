"""Programs as text: round trips and hostile texts."""

import random
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.matrices import BlockLayout, Blocks
from cloakwork.programs.slots import (
    Builder,
    Constant,
    Input,
    Linear,
    Mul,
    Output,
    Polynomial,
    Rescale,
    SlotProgram,
)
from cloakwork.programs.text import from_text, to_text
from tests.programs.random_programs import damage, facts, programs
from tests.thoroughness import part

HEAD = 'cloakwork slot program 1\ntitle "t"\nslots 4\n'
INPUT = HEAD + '%0 = input "x" at 3\n'


@given(programs())
def test_round_trip(program: SlotProgram) -> None:
    text = to_text(program)
    assert facts(from_text(text)) == facts(program)
    assert to_text(from_text(text)) == text


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=4, max_size=4),
    st.lists(st.floats(1e-300, 1e300), min_size=2, max_size=5),
)
def test_numbers_keep_every_bit(numbers: list[float], coefficients: list[float]) -> None:
    builder = Builder("", 4)
    x = builder.append(Input("x", 4))
    x = builder.append(Mul(x, builder.append(Constant(np.array(numbers)))))
    x = builder.append(Rescale(x))
    builder.append(Polynomial(x, tuple(coefficients), "chebyshev"))
    program = builder.finish()
    assert facts(from_text(to_text(program))) == facts(program)


def test_the_text_is_as_a_person_would_write_it() -> None:
    builder = Builder("pick", slots=8)
    x = builder.append(Input("x", 1))
    mask = np.array([1.0, 1.0, 0.0, 0.0] * 2)
    builder.origin, builder.stage = "pick.py:3", "pick"
    builder.append(Rescale(builder.append(Linear(x, {0: mask, 3: np.ones(8), 5: mask}, 4))))
    builder.append(Output(2))
    assert to_text(builder.finish()).split("\n") == [
        "cloakwork slot program 1",
        'title "pick"',
        "slots 8",
        "",
        "v0 = (1.0 x2, 0.0 x2) x2",
        "v1 = 1.0 x8",
        "",
        '%0 = input "x" at 1',
        '%1 = linear %0 {0: v0, 3: v1, 5: v0} baby_steps 4 from "pick.py:3" stage "pick"',
        '%2 = rescale %1 from "pick.py:3" stage "pick"',
        '%3 = output %2 from "pick.py:3" stage "pick"',
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "got the end"),
        (HEAD[:-9], "got the end"),
        ("cloakwork slot program 2", "line 1: expected 'cloakwork slot program 1'"),
        (HEAD.replace("4", "65537"), "line 3: .*1 to 65536"),
        (HEAD.replace("4", "0"), "line 3: .*1 to 65536"),
        (HEAD.replace("4", "9" * 5000), "line 3: expected an integer"),
        (HEAD.replace("4", "4.0"), "line 3: expected an integer"),
        (HEAD.replace("4", "4 4"), "line 3: expected the end of the line"),
        (HEAD + "v0 = 1.0 x5", "line 4: expected 4 numbers"),
        (HEAD + "v0 = 1.0 x999999999999999999", "line 4: expected 4 numbers"),
        (HEAD + "v0 = (1.0 x2, 0.0 x2) x1000000000000", "line 4: expected 4 numbers"),
        (HEAD + "v0 = " + "(" * 100000, "line 4: expected at most 17 brackets"),
        (HEAD + "v0 = 1.0 x3", "line 4: expected 4 numbers, got 3"),
        (HEAD + "v0 = 1.0 x0", "line 4: expected 4 numbers"),
        (HEAD + "v0 = nan x4", "line 4: expected a number"),
        (HEAD + "v0 = 0x4", "line 4: expected a number, got '0x4'"),
        (HEAD + "numbers integer\nv0 = 0x4", "line 5: expected an integer of up to 63 bits"),
        (HEAD + "v0 = 1e999 x4", "line 4: expected a number that a float64 holds"),
        (HEAD + "v1 = 1.0 x4", "line 4: expected v0"),
        (INPUT + "%2 = neg %0", "line 5: expected %1, got '%2'"),
        (INPUT + "%1 = neg %1", "line 5: .*comes later"),
        (INPUT + "%1 = neg %-1", "line 5: expected a word or number"),
        (INPUT + "%1 = twist %0", "line 5: expected an operation, got 'twist'"),
        (INPUT + "%1 = rescale %0", "line 5: cannot use rescale"),
        (INPUT + "%1 = rotate %0 by 4", "line 5: cannot use rotate"),
        (INPUT + "%1 = rotate %0 by 1.5", "line 5: expected an integer"),
        (INPUT + "%1 = constant v0", "line 5: v0 is not given"),
        (INPUT + '%1 = neg %0 from "x', "line 5: expected a word or number"),
        (INPUT + '%1 = neg %0 from "\\q"', "line 5: expected text escaped"),
        (INPUT + "%1 = neg %0 layout (2@2, 2@2)", "line 5: cannot lay out"),
        (INPUT + "%1 = neg %0 layout (2@-1)", "line 5: cannot lay out"),
        (INPUT + "v0 = 1.0 x4\n%1 = linear %0 {-9: v0} baby_steps 1", "line 6: .*not exist"),
        (INPUT + "v0 = 1.0 x4\n%1 = linear %0 {--1: v0} baby_steps 1", "line 6: expected a word"),
        (INPUT + "%1 = neg %0 layout (999999999999999999@0)", "line 5: cannot lay out"),
        (INPUT + f"%1 = neg %0 layout ({'1@0, ' * 99}1@0)", "line 5: expected at most 32 axes"),
        (INPUT + "%1 = polynomial %0 legendre [0.0, 1.0]", "line 5: expected chebyshev"),
        (INPUT + "%1 = polynomial %0 monomial [0.0]", "line 5: .*degree"),
        (INPUT + "v0 = 1.0 x4\n%1 = linear %0 {0: v0, 0: v0} baby_steps 1", "given twice"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, reason: str) -> None:
    with pytest.raises(InvalidProgramError, match=reason):
        from_text(text)


def test_vectors_take_no_more_memory_than_allowed() -> None:
    text = HEAD + "\n".join(f"v{n} = {n} x4" for n in range(100))
    from_text(text, memory=3200)
    with pytest.raises(InvalidProgramError, match=r"line 103: .*more than 3199 bytes"):
        from_text(text, memory=3199)


def test_only_text_is_read() -> None:
    with pytest.raises(InvalidProgramError, match="expected text"):
        from_text(b"cloakwork slot program 1")  # type: ignore[arg-type]


@settings(max_examples=part(60))
@given(programs(), st.integers(0, 2**32))
def test_damaged_texts_are_refused_or_legal(program: SlotProgram, seed: int) -> None:
    rng = random.Random(seed)
    text = to_text(program)
    for _ in range(10):
        damaged = damage(text, rng)
        try:
            read = from_text(damaged)
        except InvalidProgramError:
            continue
        assert facts(from_text(to_text(read))) == facts(read)


def test_damage_is_found() -> None:
    """The damage of the test above does reach the rules, not only the first token."""
    rng = random.Random(3)
    text = INPUT + "v0 = (1.0, 0.5) x2\n%1 = mul %0 %0\n%2 = rescale %1\n%3 = rotate %2 by 1"
    reasons = set()
    for _ in range(500):
        try:
            from_text(damage(text, rng))
        except InvalidProgramError as error:
            reasons.add(re.sub(r".*line (\d+): (cannot use \w+|\w+ \w+).*", r"\1 \2", str(error)))
    assert len(reasons) > 20


def test_vectors_of_a_matrix_tell_their_blocks_once() -> None:
    layout = BlockLayout(Blocks(8, side=2, tall=2, wide=2), "left", (1, 3, 5))
    other = BlockLayout(layout.blocks, "right", (1, 3, 5))
    operations = tuple(Input(name, 1) for name in "abc")
    program = SlotProgram("", 8, operations, (layout, replace(layout), other))
    text = to_text(program)
    assert text.count("layout left [1, 3, 5] side 2") == 1
    assert text.count("layout of %0") == 1
    again = from_text(text)
    assert again.layouts == program.layouts
    assert to_text(again) == text
    with pytest.raises(InvalidProgramError, match="has a layout"):
        from_text(text.partition("layout")[0] + "\n%1 = neg %0 layout of %0")
    with pytest.raises(InvalidProgramError, match="%7 is not given"):
        from_text(text.replace("layout of %0", "layout of %7"))
