"""Compiled circuits as text and as figures."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import cloakwork as cw
from cloakwork.errors import InvalidArgumentError
from cloakwork.explain.work_levels_keys import counted_operations
from cloakwork.programs.packing.scalar import ScalarPacking
from cloakwork.programs.slots import SlotProgram


@pytest.fixture(scope="module")
def program() -> cw.Program:
    @cw.circuit(
        a=cw.vector(3, bounds=(0, 9), grouped=True), b=cw.vector(3, bounds=(0, 9), grouped=True)
    )
    def distance(a: Any, b: Any) -> Any:
        return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))

    return distance.compile(bits=16, effort=0.1, failure_bits=40)


def test_a_plan_is_told(program: cw.Program) -> None:
    text = cw.explain(program)
    assert text.startswith("distance, exact results of 16 bits\n  a: 3, integers from 0 to 9\n")
    assert "result r0: 0 to 243\n" in text
    assert "input 0  slot 0: |a[0]|a[1]|a[2]|" in text
    assert "3 additions, 1 ciphertext product, 1 modulus switch, 2 rotations" in text
    assert re.search(r"2 rotations \(by -?\d+, (... )?-?\d+\), relinearisation", text)
    assert "128-bit secure" in text
    assert "modelled" in text
    assert max(map(len, text.splitlines())) < 220


def test_a_plan_is_drawn(program: cw.Program) -> None:
    figure = cw.plot(program)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[:3] == ["input 0", "input 1", "result 0"]
    assert len(figure.axes) == 5


def test_switches_and_level_drops_are_counted_apart() -> None:
    square = cw.circuit(x=cw.scalar(bounds=(-1, 1)), y=cw.scalar(bounds=(-1, 1)))(
        lambda x, y: (x**8 + y) * x * y
    )
    program = square.compile(bits=8, effort=0.02)
    assert isinstance(program.body, SlotProgram)
    found = Counter(type(each).__name__ for each in program.body.operations)
    work = counted_operations(program.body)
    assert work["modulus switch"] == found["Rescale"] > 1
    assert work["level drop"] == found["DropLevel"] > 0
    text = cw.explain(program)
    assert f"{found['Rescale']} modulus switches" in text
    assert f"{found['DropLevel']} level drop" in text


def test_numbers_that_may_be_anything_stay_so() -> None:
    wide = cw.circuit(x=cw.scalar(bounds=(5, 5)))(
        lambda x: x * 10**400 - 10**400 * x + x - (x * 7**500 - 7**500 * x)
    )
    program = wide.compile(bits=8, effort=0.01, wrapping=True)
    assert isinstance(program.packing, ScalarPacking)
    assert program.packing.ranges == ((-(2**1024), 2**1024),)
    assert "may exceed 8 bits" in cw.explain(program)


def test_a_plan_is_written_to_a_file(program: cw.Program, tmp_path: Path) -> None:
    figure = cw.plot(program, tmp_path / "plan.svg")
    assert len(figure.axes) == 5
    cw.plot(program, str(tmp_path / "plan.PNG"))
    assert {each.name for each in tmp_path.iterdir()} == {"plan.svg", "plan.PNG"}
    for path in ("plan.xyz", "plan"):
        with pytest.raises(InvalidArgumentError, match=r"a name that ends in .*\.png"):
            cw.plot(program, tmp_path / path)
    with pytest.raises(InvalidArgumentError, match="expected a path, got 3"):
        cw.plot(program, 3)  # type: ignore[arg-type]
