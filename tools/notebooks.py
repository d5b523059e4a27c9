"""Runs notebooks and keeps what their cells print.

Run as `python -m tools.notebooks [FILE...]`, by default for those of docs/notebooks; a test runs
copies of them and compares.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
# What a cell may take.
_SECONDS = 300


def run(path: Path) -> None:
    """Run a notebook and keep what its cells print; a cell that fails raises its error."""
    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory() as folder:
        # Over TCP others on the machine could listen. By default sockets would stay where it runs.
        kernel = AsyncKernelManager(transport="ipc", ip=f"{folder}/kernel")
        NotebookClient(notebook, timeout=_SECONDS, km=kernel, record_timing=False).execute()
    # The version of Python that it ran on is of no interest.
    notebook.metadata.language_info = {"name": "python"}
    nbformat.write(notebook, path)


def main(paths: Iterable[Path]) -> None:
    """Run notebooks one after another."""
    for path in paths:
        run(path)


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")))
