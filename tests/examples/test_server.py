"""The example of a server: programs of every kind, over TLS, at 128 bits."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_programs_of_every_kind_are_right_on_a_server() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.server"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "serving at https://127.0.0.1:" in done.stdout
    errors = re.findall(r"off by (\S+)", done.stdout)
    assert len(errors) == 5
    assert all(float(each) < 2**-10 for each in errors)
    assert "INSECURE" not in done.stdout
