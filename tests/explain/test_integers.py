"""Compiled circuits as text and as figures."""

from typing import Any

import pytest

import cloakwork as cw
from cloakwork.integers import CompiledCircuit


@pytest.fixture(scope="module")
def program() -> CompiledCircuit:
    @cw.circuit(
        a=cw.vector(3, bounds=(0, 9), grouped=True), b=cw.vector(3, bounds=(0, 9), grouped=True)
    )
    def distance(a: Any, b: Any) -> Any:
        return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))

    return distance.compile(bits=16)


def test_a_plan_is_told(program: CompiledCircuit) -> None:
    text = cw.explain(program)
    assert text.startswith("distance, exact results of 16 bits\n  a: 3, 0 to 9\n")
    assert "result r0: 0 to 243\n" in text
    assert "input 0  slot 0: |a[0]|a[1]|a[2]|" in text
    assert "1 product, 2 rotations, 0 masks, 3 additions" in text
    assert "2 rotations (by 1, 2), relinearisation" in text.replace(", ... ", ", ")
    assert "128-bit secure" in text
    assert "modelled" in text
    assert max(map(len, text.splitlines())) < 220


def test_a_plan_is_drawn(program: CompiledCircuit) -> None:
    pytest.importorskip("matplotlib")
    figure = program.plot()
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[:3] == ["input 0", "input 1", "result 0"]
    assert len(figure.axes) == 5
