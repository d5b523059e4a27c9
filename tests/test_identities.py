"""No table is keyed by where in memory something lies that it does not hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "python" / "cloakwork"
# Where identities may be taken: the key that holds its object; weak references that are checked
# at every use; the table of `copy.deepcopy`, which is keyed so by Python.
ALLOWED = {"base/itself.py", "programs/vectors.py", "frontends/nn/attention.py"}


def identities(source: str) -> Iterator[int]:
    """The lines on which the built-in function `id` is named."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and node.id == "id":
            yield node.lineno


def test_finds_identities_called_and_handed_on() -> None:
    source = "a = {id(x): 1}\nb = map(id, y)\nc = x.id\nid_of = 2\n"

    assert sorted(identities(source)) == [1, 2]


def test_those_that_are_allowed_take_identities() -> None:
    assert all(list(identities((PACKAGE / name).read_text())) for name in ALLOWED)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=str(path.relative_to(PACKAGE)))
        for path in sorted(PACKAGE.rglob("*.py"))
    ],
)
def test_no_identity_is_a_key(path: Path) -> None:
    if str(path.relative_to(PACKAGE)) not in ALLOWED:
        lines = list(identities(path.read_text()))
        assert not lines, "use the object itself as the key, or cloakwork.base.itself.Itself of it"
