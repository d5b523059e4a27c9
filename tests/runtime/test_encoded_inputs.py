"""Programs over reals give the same of inputs in the clear as of encrypted ones."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import InputNameError, InvalidArgumentError, ProgramMismatchError
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.encoded_inputs import EncodedInputs, KnownInputs
from cloakwork.runtime.schedule import schedule
from tests.families import FAMILIES

SMALL: dict[str, Any] = {"log_n": 10, "insecure": True, "precision": 12}
SHAPES = (4, 5), (5,), (5,)


def affine(rows: Any, weights: Any, offsets: Any) -> Any:
    return rows * weights - offsets


def arguments() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    names = "rows", "weights", "offsets"
    return {name: rng.uniform(-1, 1, shape) for name, shape in zip(names, SHAPES, strict=True)}


@pytest.mark.parametrize(
    "names", [("weights",), ("rows",), ("offsets",), ("weights", "offsets"), ("rows", "offsets")]
)
def test_results_are_those_of_numpy(names: tuple[str, ...], tmp_path: Path) -> None:
    given = arguments()
    program = cw.compile(lambda rows, weights: rows * weights, (4, 5), (4, 5), **SMALL)
    if "offsets" in names:
        shapes = ((4, 5),) * 3
        program = cw.compile(affine, *shapes, **SMALL)
    full = {name: np.broadcast_to(given[name], (4, 5)) for name in (p.name for p in program.inputs)}
    client, evaluator = program.keygen()
    known = EncodedInputs.of(program, {name: full[name] for name in names})
    known.save(tmp_path / "known")
    read = cw.load(tmp_path / "known", EncodedInputs)
    sent = client.encrypt(**{name: each for name, each in full.items() if name not in names})
    expected = full["rows"] * full["weights"] - full.get("offsets", 0)
    for each in (known, read):
        found = client.decrypt(evaluator.run(sent, each))
        assert np.abs(found - expected).max() < 2.0**-12


def test_products_with_known_vectors_are_added_at_once() -> None:
    def sums(x: Any, y: Any, v: Any, w: Any) -> Any:
        return x * v + y * w

    program = cw.compile(sums, *((8,),) * 4, **SMALL)
    rng = np.random.default_rng(1)
    x, y, v, w = rng.uniform(-1, 1, (4, 8))
    client, evaluator = program.keygen()
    known = EncodedInputs.of(program, {"v": v, "w": w})
    made = evaluator.run(client.encrypt(x=x, y=y), known)
    assert np.abs(client.decrypt(made) - (x * v + y * w)).max() < 2.0**-12
    body = KnownInputs.of(program, known.integers, "run").body
    plan = schedule(body)
    assert [len(each.terms) for each in plan.known_sums.values()] == [2]
    assert isinstance(program.body, SlotProgram)
    assert len(plan.tasks) == len(schedule(program.body).tasks) - 2


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x, w: x + w.sum(), "expected w encrypted, as the program does more with them"),
        (lambda x, w: x * w * w, "expected w encrypted"),
        (lambda x, w: x * w + w, "expected w encrypted"),
        (lambda x, w: (x * x, w), "expected w encrypted"),
    ],
)
def test_what_needs_more_than_products_and_sums_is_refused(
    function: Callable[..., Any], said: str
) -> None:
    program = cw.compile(function, (4,), (4,), **SMALL)
    with pytest.raises(InvalidArgumentError, match=said):
        EncodedInputs.of(program, {"w": np.ones(4)})


def test_wrong_use_is_named() -> None:
    program = cw.compile(lambda x, w: x * w, (4,), (4,), **SMALL)
    other = cw.compile(lambda x, w: x - w, (4,), (4,), **SMALL)
    client, evaluator = program.keygen()
    known = EncodedInputs.of(program, {"w": np.ones(4)})
    sent = client.encrypt(x=np.ones(4))
    with pytest.raises(ProgramMismatchError, match="another program"):
        evaluator.run(sent, EncodedInputs.of(other, {"w": np.ones(4)}))
    with pytest.raises(InputNameError, match="got w twice"):
        evaluator.run(client.encrypt(np.ones(4), np.ones(4)), known)
    with pytest.raises(InvalidArgumentError, match="leave on out"):
        evaluator.run(sent, known, on=cw.cluster.Files(tempfile.mkdtemp()))
    evaluator.device = "software"
    with pytest.raises(InvalidArgumentError, match="set its device to 'cpu'"):
        evaluator.run(sent, known)
    bits = next(each.program for each in FAMILIES if each.name == "bits")
    with pytest.raises(InvalidArgumentError, match="expected a program over reals"):
        EncodedInputs.of(bits, {"a": 1})
