"""Makes a release: checks everything, tags it, builds it, and writes its notes. Publishes nothing.

Run as `python -m tools.release`, in the folder of the repository. What it makes is in
target/release-VERSION: the wheels, the source archive, the site, the notes, and the sums of them.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
# What has to succeed before anything is tagged, in this order.
CHECKS = ("test", "test-slow", "docs", "wheel")


def version_of(root: Path) -> str:
    """The version that the package says."""
    return str(tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"])


def notes_of(changelog: str, version: str) -> str:
    """What a changelog says of a version; empty where it says nothing.

    Example:
        >>> notes_of("# Changes\\n\\n## 0.2.0\\n\\n- Better.\\n\\n## 0.1.0\\n\\nFirst.\\n", "0.2.0")
        '- Better.\\n'
    """
    _, found, after = changelog.partition(f"\n## {version}\n")
    own, *_ = re.split(r"^## ", after, maxsplit=1, flags=re.MULTILINE)
    return f"{own.strip()}\n" if found else ""


def obstacles(root: Path) -> Iterator[str]:
    """What has to be mended before what is there can be a release."""
    version = version_of(root)
    crates = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    if crates != version:
        yield f"Cargo.toml says {crates}, pyproject.toml {version}"
    if not notes_of((root / "CHANGELOG.md").read_text(), version):
        yield f"CHANGELOG.md says nothing of {version}"
    if not (root / "tests" / "formats" / version).is_dir():
        yield f"tests/formats has no files of {version}; run python -m tests.formats.make"
    if changed := _git(root, "status", "--porcelain"):
        yield f"there are changes that are not committed:\n{changed}"
    if _git(root, "tag", "--list", _tag(version)):
        yield f"there is a tag {_tag(version)} already; a release has a version of its own"


def _tag(version: str) -> str:
    return f"v{version}"


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def tag(root: Path, notes: str) -> None:
    """Tag what is there, with the notes as the tag's message."""
    title = f"Cloakwork {version_of(root)}\n\n"
    # Headings of the notes are not comments.
    _git(root, "tag", "--cleanup=whitespace", "-a", _tag(version_of(root)), "-m", title + notes)


def gather(root: Path, notes: str) -> Path:
    """Bring what was built into one folder, with the sums of all files."""
    folder = root / "target" / f"release-{version_of(root)}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in sorted((root / "target" / "wheels").rglob("*")):
        if path.is_file():
            shutil.copy(path, folder)
    shutil.make_archive(str(folder / "site"), "gztar", root / "target" / "site")
    (folder / "notes.md").write_text(notes)
    sums = (
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(folder.iterdir())
    )
    (folder / "SHA256SUMS").write_text("".join(sums))
    return folder


def main() -> None:
    """Make the release."""
    if found := list(obstacles(ROOT)):
        sys.exit("\n".join(found))
    for check in CHECKS:
        subprocess.run(["make", check], cwd=ROOT, check=True)
    if changed := _git(ROOT, "status", "--porcelain"):
        sys.exit(f"checks have changed files:\n{changed}")
    notes = notes_of((ROOT / "CHANGELOG.md").read_text(), version_of(ROOT))
    tag(ROOT, notes)
    print(f"{gather(ROOT, notes)} has what is to be published; git push --tags publishes the tag")


if __name__ == "__main__":
    main()
