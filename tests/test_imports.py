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
    "cloakwork.programs.layout": 1,
    "cloakwork.programs.bounds": 2,
    "cloakwork.programs": 2,
    "cloakwork.runtime": 3,
    "cloakwork.backends": 4,
    "cloakwork.plan": 5,
    "cloakwork.frontends": 6,
    "cloakwork.explain": 6,
    "cloakwork.frontends.tensors.eager": 6,
    "cloakwork.frontends.boolean.circuit": 7,
    "cloakwork.runtime.boolean_store": 7,
    "cloakwork.runtime.compiled": 7,
    "cloakwork.runtime.compiled_circuit": 7,
    "cloakwork.frontends.circuit.compile_function": 7,
    "cloakwork.runtime.integers_store": 7,
    "cloakwork.runtime.network": 7,
    "cloakwork.runtime.network_program": 7,
    "cloakwork.runtime.network_roles": 7,
    "cloakwork.runtime.network_store": 7,
    "cloakwork.frontends.nn.compile_module": 7,
    "cloakwork.frontends.tensors.session": 7,
    "cloakwork.runtime.store": 7,
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
