"""The notebooks run, and print what they show, whatever the numbers are on this machine."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import NOTEBOOKS, ROOT

_NUMBER = re.compile(r"-?\d[\d.e+^-]*(?: (?:[KMG]iB|[mun]?s)\b)?")


def _printed(path: Path) -> list[str]:
    """What each cell of a notebook prints, without its numbers."""
    cells = [each for each in json.loads(path.read_text())["cells"] if "outputs" in each]
    texts = ("".join(line for each in cell["outputs"] for line in each["text"]) for cell in cells)
    return [_NUMBER.sub("N", text) for text in texts]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_prints_what_it_shows(path: Path, tmp_path: Path) -> None:
    """Else `python -m tools.notebooks` keeps what it prints now."""
    for module in ("nbclient", "ipykernel"):
        pytest.importorskip(module, reason="pip install nbclient ipykernel")
    copied = shutil.copy(path, tmp_path)
    command = [sys.executable, "-m", "tools.notebooks", str(copied)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert _printed(Path(copied)) == _printed(path)


def test_numbers_are_not_compared() -> None:
    assert _NUMBER.sub("N", "keys 20.8 MiB, 680 ms, 2^-125") == "keys N, N, N"
    assert _NUMBER.sub("N", "keys 20.8 MiB") == _NUMBER.sub("N", "keys 512 KiB")
