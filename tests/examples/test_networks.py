"""The examples of networks, whole: trained on digits, run at 128-bit parameters."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mlp", "lola", "lenet"])
def test_images_are_classified_as_in_the_clear(name: str) -> None:
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-m", f"examples.nn.{name}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    same = re.search(r"classified as in the clear +(\d+) of 100", done.stdout)
    bits = re.search(r"mean error of the scores +2\^-([\d.]+)", done.stdout)
    assert same
    assert int(same[1]) >= 99
    assert bits
    assert float(bits[1]) > 14
    assert done.stderr == ""
