"""Every page can be followed: its blocks run, one after another, in a folder of the reader's."""

import re
from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, ROOT, Block, Reader, blocks_of, prose_of, require_printed

_LINK = re.compile(r"\]\(([^)]+)\)")
_NAME = re.compile(r"`([\w./-]+)`")
_RUNNING = {"python", "sh"}
_DESIGN = ROOT / "docs" / "design"
# Pages that show nothing to run.
_PROSE = {
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/index.md",
    "docs/security-estimates.md",
    "docs/words.md",
}


def _place(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=_place)
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = blocks_of(page)
    runs = any(block.language in _RUNNING for block in blocks)
    is_prose = _place(page) in _PROSE or page.parent == _DESIGN
    assert runs or is_prose, f"{page.name} has no example"
    monkeypatch.chdir(tmp_path)
    reader = Reader(tmp_path)
    for block in blocks:
        reader.follow(block)


@pytest.mark.parametrize("page", PAGES, ids=_place)
def test_links_lead_somewhere(page: Path) -> None:
    for number, line in prose_of(page):
        for target in _LINK.findall(line):
            path, _, anchor = target.partition("#")
            place = page.parent / path if path else page
            exists = path.startswith("https://") or place.exists()
            assert exists, f"{page.name}:{number} links to {target}"
            assert not anchor or anchor in _anchors(place), (
                f"{page.name}:{number} links to {target}"
            )


def _anchors(page: Path) -> set[str]:
    """What headings of a page are known by in links."""
    titles = (line.lstrip("# ") for _, line in prose_of(page) if line.startswith("#"))
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_files_that_design_pages_name_are_there() -> None:
    folders = (ROOT / name for name in ("python", "crates", "tests", "tools"))
    files = [f"{path}/" for folder in folders for path in folder.rglob("*.*")]
    for page in _DESIGN.glob("*.md"):
        for number, line in prose_of(page):
            for name in _NAME.findall(line):
                is_file = "/" in name or name.endswith((".py", ".rs"))
                is_there = any(f"/{name}/" in path for path in files)
                assert is_there or not is_file, f"{page.name}:{number} names {name}"


@pytest.mark.parametrize("page", PAGES, ids=_place)
def test_lines_are_short(page: Path) -> None:
    for number, line in prose_of(page):
        assert len(line) <= 100 or line.startswith("|"), f"{page.name}:{number} is too long"


def test_another_output_is_refused() -> None:
    shown = Block(ROOT / "README.md", 1, "text", "", "time  3.2 ms\n... rotations\n")
    require_printed(shown, "time  10 s\n5 additions, 15 rotations\n")
    with pytest.raises(AssertionError, match="16 products"):
        require_printed(shown, "time  10 s\n16 products\n")


def test_a_block_that_fails_is_named(tmp_path: Path) -> None:
    block = Block(ROOT / "README.md", 7, "sh", "", "echo reached; false; echo beyond\n")
    with pytest.raises(AssertionError, match=r"README.md:7 fails:\nreached\n$"):
        Reader(tmp_path).follow(block)
