"""Runs the test binaries of the Rust crates, a few at a time, and then their examples.

Cargo runs one after the other, and at the end of each, and while one counts the memory of its
process on one thread, cores wait. Tests of one binary stay in one process: they share keys.

Run as `python tools/rust_tests.py`, in the folder of a workspace; it fails if a test does.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

# Each has a thread for every core.
_AT_ONCE = 2
_TESTS = ("cargo", "test", "--release", "--quiet")


@dataclass(frozen=True)
class Binary:
    """A binary of tests.

    Args:
        path: Where it is.
        folder: That of its crate, in which it runs.
    """

    path: Path
    folder: Path


def binaries(messages: str) -> Iterator[Binary]:
    """The binaries of tests that cargo says it has built, in its messages, one in a line.

    Example:
        >>> line = '{"reason": "compiler-artifact", "profile": {"test": true}, '
        >>> line += '"executable": "/t/one-1", "manifest_path": "/c/one/Cargo.toml"}'
        >>> list(binaries(line))
        [Binary(path=PosixPath('/t/one-1'), folder=PosixPath('/c/one'))]
    """
    for message in map(json.loads, messages.splitlines()):
        if message.get("executable") and message["profile"]["test"]:
            yield Binary(Path(message["executable"]), Path(message["manifest_path"]).parent)


def passes(binary: Binary) -> bool:
    """Whether all tests of a binary pass; what it says is printed if not."""
    done = subprocess.run(
        [binary.path, "--quiet"],
        cwd=binary.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    name = binary.path.name.rpartition("-")[0]
    summary = [line for line in done.stdout.splitlines() if line.startswith("test result")]
    print(done.stdout if done.returncode else f"{name}: {' '.join(summary)}", flush=True)
    return not done.returncode


def main() -> int:
    """Build and run all of them; how many binaries fail."""
    built = subprocess.run(
        [*_TESTS, "--no-run", "--message-format=json-render-diagnostics"],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if built.returncode:
        return built.returncode
    # The largest test most, as a rule.
    found = sorted(binaries(built.stdout), key=lambda each: -each.path.stat().st_size)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        failed = sum(not passed for passed in pool.map(passes, found))
    return failed or subprocess.run([*_TESTS, "--doc"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
