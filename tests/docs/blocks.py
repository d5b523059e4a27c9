"""The fenced blocks of a page of documentation, and what each is for.

A reader follows a page in a folder of their own, from top to bottom; so do the tests:

- `python` runs in one module for the whole page;
- `sh` runs by bash, and must succeed;
- `text` is what the block before it prints;
- any other language, such as `console`, is there to be read;
- a name after the language is the file that a reader saves the block as.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import linecache
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))

_FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
# What differs between machines and runs: durations, sizes of caches and processes, speeds.
_MEASURED = re.compile(
    r"\d[\d.]* ?(?:ns|us|ms|s|min|bytes|KiB|MiB|GiB|inputs a second|times as much|of the cost)\b"
)
_AS_PRINTED = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_SECONDS = 300


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Args:
        page: The page that it stands on.
        line: The line of its fence.
        language: The language after the fence.
        file: The file that a reader saves it as; empty for none.
        text: What it holds.
    """

    page: Path
    line: int
    language: str
    file: str
    text: str

    @property
    def place(self) -> str:
        """Where it stands, for the message of a failure."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page in order."""
    text = page.read_text()
    return [
        Block(page, 1 + text.count("\n", 0, found.start()), found[1], found[2] or "", found[3])
        for found in _FENCE.finditer(text)
    ]


def prose_of(page: Path) -> Iterator[tuple[int, str]]:
    """The lines of a page outside its blocks, with their numbers."""
    fenced = False
    for number, line in enumerate(page.read_text().splitlines(), start=1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


class Reader:
    """Whoever follows a page, in a folder that has the repository's examples.

    Args:
        folder: The folder, which is empty.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._module: dict[str, Any] = {"__name__": "page"}
        self._printed = ""
        (folder / "examples").symlink_to(ROOT / "examples")

    def follow(self, block: Block) -> None:
        """Do with a block what it is for."""
        if block.file:
            (self._folder / block.file).write_text(block.text)
        match block.language:
            case "python":
                self._printed = self._run_python(block)
            case "sh":
                self._printed = self._run_shell(block)
            case "text":
                require_printed(block, self._printed)

    def _run_python(self, block: Block) -> str:
        # So that an error names the line of the page.
        padded = "\n" * block.line + block.text
        # Where it would be found were the block a file.
        source = padded.splitlines(keepends=True)
        linecache.cache[str(block.page)] = len(padded), None, source, str(block.page)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(padded, str(block.page), "exec"), self._module)
        return printed.getvalue()

    def _run_shell(self, block: Block) -> str:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block.text],
            cwd=self._folder,
            env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
        assert done.returncode == 0, f"{block.place} fails:\n{done.stdout}"
        return done.stdout


def require_printed(block: Block, printed: str) -> None:
    """Refuse a block that shows something else than what was printed.

    `...` in the block stands for anything. Durations and the like need not be equal.
    """
    shown, found = (_MEASURED.sub("MEASURED", text) for text in (block.text, printed))
    checker = doctest.OutputChecker()
    example = doctest.Example("", shown)
    assert checker.check_output(shown, found, _AS_PRINTED), (
        f"{block.place}: {checker.output_difference(example, found, doctest.REPORT_NDIFF)}"
    )
