"""Imports point downward only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "python" / "cloakwork"

# The longest prefix counts. Layouts and programs are the vocabulary of everything above.
RANKS = {
    "cloakwork.errors": 0,
    "cloakwork._native": 0,
    "cloakwork.plan.layout": 1,
    "cloakwork.plan.bounds": 2,
    "cloakwork.programs": 2,
    "cloakwork.runtime": 3,
    "cloakwork.backends": 4,
    "cloakwork.plan": 5,
    "cloakwork.frontends": 6,
    "cloakwork.explain": 6,
    "cloakwork.eager": 6,
    "cloakwork.boolean": 7,
    "cloakwork.boolean_store": 7,
    "cloakwork.compiled": 7,
    "cloakwork.compiled_circuit": 7,
    "cloakwork.integers": 7,
    "cloakwork.integers_store": 7,
    "cloakwork.network": 7,
    "cloakwork.network_program": 7,
    "cloakwork.network_roles": 7,
    "cloakwork.network_store": 7,
    "cloakwork.nn": 7,
    "cloakwork.session": 7,
    "cloakwork.store": 7,
    "cloakwork": 8,
}


def rank(module: str) -> int:
    parts = module.split(".")
    while ".".join(parts) not in RANKS:
        parts.pop()
    return RANKS[".".join(parts)]


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
    own = rank(module_of(path))
    for module in imported(path):
        if module.split(".")[0] == "cloakwork":
            assert rank(module) <= own, f"{module_of(path)} imports {module}"


def test_frontends_and_backends_do_not_know_each_other() -> None:
    for folder, other in (("frontends", "backends"), ("backends", "frontends")):
        for path in (PACKAGE / folder).rglob("*.py"):
            assert not any(f"cloakwork.{other}" in module for module in imported(path))
