"""The line that asked for an operation."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import cloakwork as cw
from cloakwork.base.source_line import users_line, users_origin
from cloakwork.programs.slots import Input, Output

SESSION = cw.Session(depth=3, backend="clear", insecure=True, log_n=6)


def line_above() -> str:
    """The caller's line before this one."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return f"{__file__}:{frame.f_back.f_lineno - 1}"


def test_it_is_the_callers() -> None:
    found = users_line()
    assert found == line_above()


def test_what_programs_hold_has_no_folders() -> None:
    found = users_origin()
    assert found == Path(line_above()).name


def test_every_operation_knows_the_line_that_asked_for_it() -> None:
    x: Any = SESSION.encrypt(np.ones((5, 9)))
    y: Any = SESSION.encrypt(np.ones((9, 4)))
    steps: list[Callable[[], Any]] = [
        lambda: cw.einsum("ij,jk->ik", x, y),
        lambda: x @ y,
        lambda: x + 1,
        lambda: x.mean(0, keepdims=True),
        lambda: x.reshape(9, 5),
        lambda: x[::2, ::-1],
        lambda: x**2,
    ]
    for ask in steps:
        result = ask()
        expected = f"{Path(__file__).name}:{inspect.getsourcelines(ask)[1]}"
        program = result.program
        for operation, origin in zip(program.operations, program.origins, strict=True):
            if not isinstance(operation, Input | Output):
                assert origin == expected, (operation, origin)
