"""Where the system gives no more memory, every step ends in success or by a named refusal."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cloakwork as cw
from tests.thoroughness import part, slow

SCRIPT = "tests.system.memory_limits"
# Mebibytes above what the process has.
LIMITS = range(1, 27, 26 // part(13))
ADDER = Path(__file__).parents[2] / "examples" / "boolean" / "adder.txt"


@cw.circuit(a=cw.vector(3), b=cw.vector(3))
def distance(a: Any, b: Any) -> Any:
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


def of_reals() -> tuple[cw.Program, dict[str, object], str]:
    return cw.compile(lambda x: x * x, (8,)), {"x": [0.5] * 8}, "[0.25"


def of_integers() -> tuple[cw.Program, dict[str, object], str]:
    return distance.compile(bits=24), {"a": [1, 2, 3], "b": [4, 6, 8]}, "50"


def of_bits() -> tuple[cw.Program, dict[str, object], str]:
    program = cw.boolean.from_bristol(ADDER).compile(threads=2)
    return program, {"x0": 20, "x1": 22}, "{'y0': 42}"


@pytest.mark.parametrize(
    ("make", "limits", "enough"),
    [
        (of_reals, LIMITS, 100),
        (of_integers, LIMITS, 100),
        *slow((of_bits, range(5, 245, 20), 500)),
    ],
    ids=["ckks", "bgv", "tfhe"],
)
def test_every_step_ends_in_success_or_a_named_refusal(
    make: Any, limits: Any, enough: int, tmp_path: Path
) -> None:
    program, inputs, result = make()
    program.save(tmp_path / "program")
    asked = [str(each) for each in (*limits, enough)]
    done = subprocess.run(
        [sys.executable, "-m", SCRIPT, tmp_path / "program", json.dumps(inputs), tmp_path, *asked],
        env={**os.environ, "CLOAKWORK_THREADS": "2"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=1000,
    )
    assert done.returncode == 0, done.stderr
    ends = [line.partition(" ")[2] for line in done.stdout.splitlines()]
    assert len(ends) == len(asked)
    for end in ends:
        assert end.startswith(("finished", "refused")), (done.stdout, done.stderr)
    assert ends[0].startswith("refused"), done.stdout
    assert ends[-1].startswith(f"finished {result}"), done.stdout
    assert "abort" not in done.stderr.lower()
