"""Imports point downward only, and the README lists every room of the house by its floor."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "cloakwork"

# A room imports from its own floor and from those below. The rest is on the top floor.
FLOORS = {
    "errors": 0,
    "_native": 0,
    "base": 1,
    "programs": 2,
    "schemes": 3,
    "runtime": 4,
    "plan": 5,
    "frontends": 6,
    "explain": 6,
}
TOP = 7


def floor(module: str) -> int:
    return FLOORS.get(f"{module}.".split(".")[1], TOP)


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (
                f"{node.module}.{alias.name}" if node.module == "cloakwork" else node.module
                for alias in node.names
            )
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def module_of(path: Path) -> str:
    parts = ("cloakwork", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=module_of)
def test_imports_point_downward(path: Path) -> None:
    own = floor(module_of(path))
    for module in imported(path):
        if module.split(".")[0] == "cloakwork":
            assert floor(module) <= own, f"{module_of(path)} imports {module}"


def test_every_import_is_absolute() -> None:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            assert not (isinstance(node, ast.ImportFrom) and node.level), module_of(path)


def test_readme_lists_every_room_by_its_floor() -> None:
    """A line such as "- 2 `programs/packing`: how values lie in slots"."""
    listed = re.findall(r"^- (\d) `([\w./]+)`", (ROOT / "README.md").read_text(), re.MULTILINE)
    rooms = {
        str(path.parent.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if path.parent != PACKAGE
    }
    top = {path.stem for path in PACKAGE.glob("*.py")} | {"_native"}
    # A room whose name another's begins with has files of its own, or is a doorway.
    doorways = {room for room in rooms if not _has_files(PACKAGE / room)}
    assert {name for _, name in listed} == (rooms - doorways) | top
    assert [int(number) for number, _ in listed] == sorted(int(number) for number, _ in listed)
    for number, name in listed:
        assert floor(f"cloakwork.{name.replace('/', '.')}") == int(number), name


def _has_files(folder: Path) -> bool:
    return any(path.stem != "__init__" for path in folder.glob("*.py"))
