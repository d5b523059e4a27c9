"""Imports point downward only: the floors of the house, and what stands beside one another."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.health import circles, imports

PACKAGE = Path(__file__).parents[1] / "python" / "cloakwork"

# From the ground up. What is not named stands on the floor of the package itself.
FLOORS = (
    ("errors", "_native"),
    ("base",),
    ("programs",),
    ("schemes",),
    ("runtime",),
    ("cluster", "plan"),
    ("frontends", "explain"),
    ("service",),
)
RANKS = {f"cloakwork.{room}": floor for floor, rooms in enumerate(FLOORS) for room in rooms}
RANKS["cloakwork"] = len(FLOORS)

# The scheme that each frontend makes programs for, and whose each module of schemes is.
SCHEMES = {"tensors": "ckks", "nn": "ckks", "circuit": "bgv", "boolean": "tfhe"}
MODULES = {
    "ckks": "ckks",
    "device.backend": "ckks",
    "ckks_noise": "ckks",
    "gaussian": "ckks",
    "device.staying": "ckks",
    "ckks_estimates": "ckks",
    "clear_real": "ckks",
    "bgv": "bgv",
    "bgv_estimates": "bgv",
    "bgv_plaintext": "bgv",
    "clear_integer": "bgv",
    "tfhe": "tfhe",
    "tfhe_noise": "tfhe",
    "clear_bits": "tfhe",
    "clear_gates": "tfhe",
    "bridged": "",
    "base": "",
    "clear": "",
    "device.devices": "",
    "device.cache": "",
    "device.recorded_runs": "",
    "encoded_cache": "",
}


def rank(module: str) -> int:
    parts = module.split(".")
    while ".".join(parts) not in RANKS:
        parts.pop()
    return RANKS[".".join(parts)]


def is_module(name: str) -> bool:
    place = PACKAGE.parent / name.replace(".", "/")
    return place.is_dir() or place.with_suffix(".py").exists()


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in RANKS or is_module(whole) else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def module_of(path: Path) -> str:
    parts = ("cloakwork", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_imports_point_downward(path: Path) -> None:
    own = module_of(path)
    for module in imported(path):
        if module.split(".")[0] == "cloakwork":
            assert rank(module) <= rank(own), f"{own} imports {module}"


def test_every_room_is_on_a_floor() -> None:
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert rooms - {"cli"} == {room for floor in FLOORS for room in floor} - {"errors", "_native"}


def test_every_module_of_schemes_is_of_one_or_of_all() -> None:
    names = {module_of(path) for path in (PACKAGE / "schemes").rglob("*.py") if path.stem[0] != "_"}
    stems = {name.removeprefix("cloakwork.schemes.") for name in names}
    assert stems == set(MODULES)


@pytest.mark.parametrize("frontend", SCHEMES)
def test_a_frontend_names_no_scheme_that_it_makes_no_programs_for(frontend: str) -> None:
    for path in (PACKAGE / "frontends" / frontend).rglob("*.py"):
        for module in imported(path):
            stem = module.removeprefix("cloakwork.schemes.")
            if stem in MODULES:
                assert MODULES[stem] in {"", SCHEMES[frontend]}, f"{path.name} imports {module}"


@pytest.mark.parametrize("frontend", SCHEMES)
def test_frontends_do_not_know_one_another(frontend: str) -> None:
    for path in (PACKAGE / "frontends" / frontend).rglob("*.py"):
        for module in imported(path):
            room = module.removeprefix("cloakwork.frontends.").split(".")[0]
            if module.startswith("cloakwork.frontends."):
                assert room == frontend, f"{module_of(path)} imports {module}"


@pytest.mark.parametrize(("room", "other"), [("client", "server"), ("server", "client")])
def test_the_sides_of_a_service_share_what_lies_beside_them(room: str, other: str) -> None:
    for path in (PACKAGE / "service" / room).rglob("*.py"):
        for module in imported(path):
            assert not module.startswith(f"cloakwork.service.{other}"), f"{path.name}: {module}"


def test_no_scheme_names_a_frontend_or_a_plan() -> None:
    for path in (PACKAGE / "schemes").rglob("*.py"):
        for module in imported(path):
            assert not module.startswith(("cloakwork.frontends", "cloakwork.plan")), path.name


def test_no_modules_import_each_other() -> None:
    """Directly or not, inside functions as well; what is imported for types alone does not count.

    `tools/rust_modules.py` does the same for Rust.
    """
    assert circles(imports(PACKAGE)) == []


def test_every_import_is_absolute() -> None:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            assert not (isinstance(node, ast.ImportFrom) and node.level), module_of(path)


def test_the_overview_lists_every_room_by_its_floor() -> None:
    """A line such as "- 2 `programs/packing`: how values lie in slots"."""
    overview = PACKAGE.parents[1] / "docs" / "design" / "overview.md"
    listed = re.findall(r"^- (\d) `([\w./]+)`", overview.read_text(), re.MULTILINE)
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
        assert rank(f"cloakwork.{name.replace('/', '.')}") == int(number), name


def _has_files(folder: Path) -> bool:
    return any(path.stem != "__init__" for path in folder.glob("*.py"))
