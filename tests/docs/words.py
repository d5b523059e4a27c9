"""The words of docs/words.md that are not used, and what the house says to people."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import cloakwork
from tests.docs.blocks import NOTEBOOKS, PAGES, ROOT

GLOSSARY = ROOT / "docs" / "words.md"
PACKAGE = ROOT / "python" / "cloakwork"

_ROW = re.compile(r"^\| ([^|]+) \|", flags=re.MULTILINE)
_RUST_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def unused_words() -> list[str]:
    """The left column of the glossary's second table."""
    table = GLOSSARY.read_text().split("## Words we do not use")[1]
    rows = [found[1] for found in _ROW.finditer(table)]
    return [word for row in rows[1:] for word in row.split(", ")]


def pattern_of(words: list[str]) -> re.Pattern[str]:
    """Whole words, whatever stands between them.

    That there are no threads, or that a value is None, is said in no better words.
    """
    each = (r"\s+".join(map(re.escape, word.split())) for word in words)
    found = rf"(?<![\w`])(?<![Tt]here )(?!is None\b)(?i:{'|'.join(each)})(?!\w)"
    return re.compile(found)


@cache
def texts() -> tuple[tuple[str, str], ...]:
    """Every text that people read, with its place."""
    return tuple(_texts())


def _texts() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        if page != GLOSSARY:
            yield str(page.relative_to(ROOT)), page.read_text()
    for path in NOTEBOOKS:
        for number, cell in enumerate(json.loads(path.read_text())["cells"]):
            yield f"{path.relative_to(ROOT)}:{number}", "".join(cell["source"])
    for path in sorted(PACKAGE.rglob("*.py")):
        yield from _messages(path)
    for path in sorted((ROOT / "examples").rglob("*.py")):
        yield from _strings(path)
    for path in (each for each in sorted((ROOT / "tools").iterdir()) if each.is_file()):
        yield str(path.relative_to(ROOT)), path.read_text()
    for path in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            if not line.lstrip().startswith("//"):
                for found in _RUST_STRING.finditer(line):
                    yield f"{path.relative_to(ROOT)}:{number}", found[1]
    yield from _public_docstrings(cloakwork, "cloakwork")


def _public_docstrings(owner: Any, place: str) -> Iterator[tuple[str, str]]:
    """What `help` shows of what a module or a class offers, and of what these offer."""
    if isinstance(owner, type):
        own = [each for each in owner.__mro__ if each.__module__.startswith("cloakwork")]
        names = sorted({name for each in own for name in vars(each) if not name.startswith("_")})
    else:
        names = getattr(owner, "__all__", [])
    for name in names:
        thing = getattr(owner, name)
        if text := inspect.getdoc(thing):
            yield f"{place}.{name}", text
        if isinstance(thing, type) or inspect.ismodule(thing):
            yield from _public_docstrings(thing, f"{place}.{name}")


def _strings(path: Path) -> Iterator[tuple[str, str]]:
    """Every string literal of a script, with docstrings."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value


def _messages(path: Path) -> Iterator[tuple[str, str]]:
    """The string literals of a module, but for docstrings other than those of errors."""
    tree = ast.parse(path.read_text())
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    # A name of an attribute or a record, such as "hidden", is no message.
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        is_docstring = id(node) in docstrings
        if is_docstring != (path.name == "errors.py"):
            continue
        if " " in node.value.strip():
            yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value
