"""The demo, whole: real data at 128-bit parameters."""

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "digits.py"


def test_every_digit_is_classified_as_in_the_clear() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "images classified as in the clear   64 of 64" in done.stdout
    assert done.stderr == ""
