"""Writes the tables of docs/numpy.md: which functions of numpy run, and why others are refused.

    python -m tools.numpy_page

`tests/docs/test_numpy_page.py` compares the page with what this makes of the tables in the code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from cloakwork.frontends.tensors.numpy.functions import GROUPS, METHODS
from cloakwork.frontends.tensors.numpy.protocol import UFUNC_GROUPS
from cloakwork.frontends.tensors.numpy.refusals import REFUSED, REFUSED_METHODS, WITHOUT_TENSORS

PAGE = Path(__file__).parents[1] / "docs" / "numpy.md"
_START = "<!-- Made by tools/numpy_page.py. -->\n"


def tables() -> str:
    """The tables, as the page has them."""
    runs: Mapping[str, Iterable[str]] = {**UFUNC_GROUPS, **GROUPS}
    refused = {why: names.split() for why, names in REFUSED.items()}
    methods = {why: names.split() for why, names in REFUSED_METHODS.items()}
    return "\n".join(
        [
            *("## Functions that run", ""),
            *_table("group", runs),
            *("", "## Functions that are refused", ""),
            *_table("why, and what to do", refused),
            *("", "## Functions that take no tensors", ""),
            *("They do with arrays what they always do.", ""),
            *_table("group", {"Known numbers": WITHOUT_TENSORS.split()}),
            *("", "## Methods", ""),
            *("Beside those that `tensor.` offers itself, such as `x.sum` and `x.reshape`:", ""),
            *_table("methods", {"Run": METHODS, **methods}),
            "",
        ]
    )


def _table(title: str, rows: Mapping[str, Iterable[str]]) -> list[str]:
    lines = [f"| {title} | functions |", "|---|---|"]
    for name, functions in rows.items():
        listed = ", ".join(f"`{each}`" for each in sorted(functions))
        lines.append(f"| {name} | {listed} |")
    return lines


def written(page: str) -> str:
    """A page with its tables made anew."""
    text, _, _ = page.partition(_START)
    return text + _START + tables()


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
