"""The example of circuits, whole: real data at 128-bit parameters."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "circuit" / "nearest.py"


@pytest.mark.slow
def test_every_distance_is_exact() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "distances as in the clear   225 of 225" in done.stdout
    assert done.stderr == ""
