"""A release is refused where something is missing, and holds what was built with its notes."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from tools.release import ROOT, gather, notes_of, obstacles, tag, version_of

_CHANGELOG = "# Changes\n\n## 0.3.0\n\n### Files\n\n- New.\n\n## 0.2.0\n\n- Old.\n"


def _git(root: Path, *arguments: str) -> str:
    named = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    done = subprocess.run(
        ["git", *named, *arguments], cwd=root, check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that is ready for a release."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.org")
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "0.3.0"\n')
    (tmp_path / "Cargo.toml").write_text('[workspace.package]\nversion = "0.3.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(_CHANGELOG)
    (tmp_path / ".gitignore").write_text("/target/\n")
    (tmp_path / "tests" / "formats" / "0.3.0").mkdir(parents=True)
    (tmp_path / "tests" / "formats" / "0.3.0" / "program").write_text("")
    _git(tmp_path, "init", "--quiet")
    _git(tmp_path, "add", "--all")
    _git(tmp_path, "commit", "--quiet", "--message", "Begin")
    return tmp_path


def test_what_is_ready_has_no_obstacles(root: Path) -> None:
    assert list(obstacles(root)) == []


def test_each_obstacle_is_named(root: Path) -> None:
    (root / "Cargo.toml").write_text('[workspace.package]\nversion = "0.2.0"\n')
    (root / "CHANGELOG.md").write_text("# Changes\n\n## 0.2.0\n\n- Old.\n")
    (root / "tests" / "formats" / "0.3.0" / "program").unlink()
    (root / "tests" / "formats" / "0.3.0").rmdir()
    _git(root, "tag", "v0.3.0")
    found = list(obstacles(root))
    for text in (
        "Cargo.toml says 0.2.0",
        "nothing of 0.3.0",
        "no files of",
        "not committed",
        "v0.3.0",
    ):
        assert sum(text in each for each in found) == 1, text
    assert len(found) == 5


def test_the_tag_has_the_notes_with_their_headings(root: Path) -> None:
    tag(root, notes_of(_CHANGELOG, version_of(root)))
    assert _git(root, "for-each-ref", "--format=%(contents)", "refs/tags/v0.3.0").strip() == (
        "Cloakwork 0.3.0\n\n### Files\n\n- New."
    )
    assert len(list(obstacles(root))) == 1


def test_what_was_built_is_gathered_with_its_sums(root: Path) -> None:
    (root / "target" / "wheels" / "free-threaded").mkdir(parents=True)
    (root / "target" / "wheels" / "free-threaded" / "cloakwork-t.whl").write_bytes(b"other")
    (root / "target" / "wheels" / "cloakwork.whl").write_bytes(b"wheel")
    (root / "target" / "site").mkdir()
    (root / "target" / "site" / "index.html").write_text("home")
    folder = gather(root, "- New.\n")
    names = {path.name for path in folder.iterdir()}
    assert names == {"cloakwork.whl", "cloakwork-t.whl", "site.tar.gz", "notes.md", "SHA256SUMS"}
    sums = dict(line.split()[::-1] for line in (folder / "SHA256SUMS").read_text().splitlines())
    assert sums["cloakwork.whl"] == hashlib.sha256(b"wheel").hexdigest()
    assert sums.keys() == names - {"SHA256SUMS"}


def test_this_version_has_notes() -> None:
    assert notes_of((ROOT / "CHANGELOG.md").read_text(), version_of(ROOT)).startswith("### ")
    assert notes_of(_CHANGELOG, "9.0.0") == ""
