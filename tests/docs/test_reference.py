"""The site has every page, and its reference every public name."""

from __future__ import annotations

import re
from pathlib import Path

import cloakwork as cw
from tests.docs.blocks import NOTEBOOKS, PAGES, ROOT

_DOCS = ROOT / "docs"
_DIRECTIVE = re.compile(r"^\.\. auto(?:class|function|module):: ([\w.]+)$", re.MULTILINE)
_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^[\w./-]+$", re.MULTILINE)
_REFERENCE = sorted((_DOCS / "reference").glob("*.rst"))


def test_every_public_name_is_in_the_reference() -> None:
    listed = [name for page in _REFERENCE for name in _DIRECTIVE.findall(page.read_text())]
    assert len(listed) == len(set(listed))
    assert {f"cloakwork.{name}" for name in cw.__all__} <= set(listed)


def test_every_page_is_on_the_site() -> None:
    home = _DOCS / "index.md"
    listed = [
        (_DOCS / entry).resolve()
        for tree in _TOCTREE.findall(home.read_text())
        for entry in _ENTRY.findall(tree)
        if entry != "reference/index"
    ]
    pages = {*PAGES, *NOTEBOOKS} - {home, ROOT / "README.md"}
    assert sorted(listed) == sorted(page.with_suffix("") for page in pages)


def test_every_page_of_the_reference_is_in_its_contents() -> None:
    contents = (_DOCS / "reference" / "index.rst").read_text().split()
    names = {Path(page).stem for page in _REFERENCE} - {"index"}
    assert names <= set(contents)
