"""Programs in a row on the command line, a process for each step."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import cloakwork as cw
from tests.cli.command import Cloakwork

_SOURCE = """
import numpy as np

import cloakwork as cw

weights = np.linspace(-1, 1, 24).reshape(4, 6) / 4
small = {"log_n": 12, "insecure": True}
first = cw.compile(lambda x: weights @ x, (6,), precision=14, **small)
port = cw.Port("scores", "signed", 6, shape=(4,), fraction=4)
second = cw.boolean.above(port, 0.125).compile(threads=1, after={"scores": cw.result(first)})


def bought(chosen, prices):
    return chosen * prices


third = cw.compile(bought, cw.result(second), (4,), precision=10, **small)
first, second, third = cw.together(first, second, third)
"""


@pytest.mark.slow
def test_numbers_become_bits_and_bits_numbers_by_files(tmp_path: Path) -> None:
    cloakwork = Cloakwork(tmp_path)
    (tmp_path / "three.py").write_text(_SOURCE)
    x, prices = [1, -1, 0.5, 0.25, -0.75, 1], [0.5, -0.5, 0.25, 1]
    (tmp_path / "x.json").write_text(json.dumps({"x": x}))
    (tmp_path / "prices.json").write_text(json.dumps({"prices": prices}))
    for name in ("first", "second", "third"):
        cloakwork("compile", f"three.py:{name}", "-o", f"{name}.cw")
    assert "in a row, with all before" in cloakwork("estimate", "third.cw", "--insecure")
    files = ("--client", "client", "--evaluator", "evaluator", "--insecure")
    others = ("--serving", "second.cw", "--serving", "third.cw")
    cloakwork("keygen", "first.cw", *others, *files)

    cloakwork("encrypt", "client", "x.json", "-o", "in", "--insecure")
    of_third = ("--program", "third.cw", "--insecure")
    cloakwork("encrypt", "client", "prices.json", "-o", "prices", *of_third)
    cloakwork("run", "evaluator", "in", "-o", "1", "--program", "first.cw", "--insecure")
    cloakwork("run", "evaluator", "1", "-o", "2", "--program", "second.cw", "--insecure")
    cloakwork("run", "evaluator", "2", "prices", "-o", "3", *of_third)
    scores = np.linspace(-1, 1, 24).reshape(4, 6) / 4 @ x
    bits = cloakwork("decrypt", "client", "2", "--program", "second.cw", "--insecure")
    assert json.loads(bits)["above"] == (scores > 0.125).astype(int).tolist()
    found = np.array(json.loads(cloakwork("decrypt", "client", "3", *of_third)))
    assert np.abs(found - (scores > 0.125) * prices).max() < 2**-9

    of_first = cloakwork.refusal("decrypt", "client", "3", "--insecure")
    assert "the outputs belong to another program" in of_first


def test_a_public_key_is_for_one_program(tmp_path: Path) -> None:
    program = cw.compile(lambda x: x * 2, (2,), public_inputs=True, log_n=10, insecure=True)
    program.save(tmp_path / "p.cw")
    program.keygen()[0].public_key().save(tmp_path / "public")
    (tmp_path / "in.json").write_text(json.dumps({"x": [1, 0]}))
    asked = ("encrypt", "public", "in.json", "-o", "in", "--program", "p.cw", "--insecure")
    assert "have one made for that program" in Cloakwork(tmp_path).refusal(*asked)
