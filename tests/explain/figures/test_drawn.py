"""What plot draws; how it looks is for people to judge."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import InvalidArgumentError, MissingDependencyError
from cloakwork.explain.figures.slots import slot_elements
from cloakwork.frontends.tensors.tensor import Tensor
from cloakwork.programs.layout import Axis, Layout
from cloakwork.programs.matrices import EMPTY, GARBAGE

SESSION = cw.Session(depth=2, backend="clear", insecure=True, log_n=11)


def product(session: cw.Session) -> Tensor:
    return session.encrypt(np.ones((4, 8))) @ session.encrypt(np.ones((8, 4)))


def titles(figure: Any) -> list[str]:
    return [axes.get_title(loc="left") for axes in figure.axes]


def test_slots_graph_and_time_are_drawn(tmp_path: Path) -> None:
    path = tmp_path / "plan.png"
    figure = cw.plot(product(SESSION), path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert titles(figure) == [
        "operand0  (4, 8)",
        "operand1  (8, 4)",
        "result  (4, 4)",
        "graph",
        "time",
    ]
    assert "hides nothing" in figure.get_suptitle()
    graph = figure.axes[-2]
    legend = graph.get_legend()
    assert legend is not None
    assert "mul" in [text.get_text() for text in legend.get_texts()]


def test_measured_and_modelled_time_are_both_drawn() -> None:
    from matplotlib.patches import Rectangle  # noqa: PLC0415

    session = cw.Session(depth=2, insecure=True, log_n=9)
    tensor = product(session)
    assert tensor.profile is not None
    times = cw.plot(tensor).axes[-1]
    heights = sum(bar.get_height() for bar in times.patches if isinstance(bar, Rectangle))
    measured = sum(operation.seconds for operation in tensor.profile.operations)
    assert heights == pytest.approx(1e3 * measured)
    assert [line.get_label() for line in times.lines] == ["modelled"]


def test_many_ciphertexts_and_many_tensors(tmp_path: Path) -> None:
    figure = cw.plot(SESSION.encrypt(np.ones((100, 64))).sum(axis=0), tmp_path / "plan.svg")
    assert "8 ciphertexts of 1024 slots" in figure.axes[0].get_title(loc="right")


def test_a_fresh_tensor_is_its_slots_alone() -> None:
    assert titles(cw.plot(SESSION.encrypt(1.0))) == ["tensor  ()"]


def test_a_program_that_has_not_run_is_drawn() -> None:

    program = cw.compile(lambda x, y: x @ y, (4, 8), (8, 4), log_n=11, insecure=True)
    times = cw.plot(program).axes[-1]
    assert times.get_title(loc="right").endswith(" modelled")
    assert len(times.patches) > 0


def test_nothing_to_do_is_drawn() -> None:
    assert titles(cw.plot(SESSION.encrypt(np.ones((2, 3))).T))[-2:] == ["graph", "time"]


def test_what_is_no_tensor_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="cannot plot"):
        cw.plot(np.ones(3))  # type: ignore[arg-type]


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'cloakwork\[plot\]'"):
        cw.plot(SESSION.encrypt(1.0))


def test_slots_hold_elements_copies_nothing_or_anything() -> None:
    tiled = Layout(6, (Axis(3, 1, tile=2),), (Axis(2, 3),), garbage=True)
    held, copies = slot_elements(tiled, 2)
    assert held.tolist() == [
        [0, 1, GARBAGE, 0, 1, GARBAGE],
        [2, GARBAGE, GARBAGE, 2, GARBAGE, GARBAGE],
    ]
    assert np.argwhere(copies).tolist() == [[0, 3], [0, 4], [1, 3]]
    first, _ = slot_elements(Layout(6, (Axis(3, 1, tile=2),), offset=1), 1)
    assert first.tolist() == [[EMPTY, 0, 1, EMPTY, EMPTY, EMPTY]]
