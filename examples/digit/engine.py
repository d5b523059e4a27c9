"""The engine for browsers, which is compiled where it is not there yet."""

from __future__ import annotations

import subprocess
from pathlib import Path

import cloakwork as cw

_ROOT = Path(__file__).parents[2]
# What `make browser` leaves, in this order.
FILES = ("browser.js", "browser_bg.wasm")


def is_built(folder: Path) -> bool:
    """Whether the engine is there."""
    return all((folder / name).exists() for name in FILES)


def require_engine(folder: Path) -> None:
    """Compile the engine where it is not there.

    Raises:
        MissingDependencyError: It cannot be compiled here.
    """
    if is_built(folder):
        return
    print("compiling the engine for browsers, which takes some minutes once", flush=True)
    try:
        subprocess.run(["make", "browser"], cwd=_ROOT, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise cw.errors.MissingDependencyError(
            f"cannot serve the page: expected an engine in {folder}, got nothing, and make browser "
            f"does not make it: {error}; install Rust and make, and see what it says"
        ) from None
