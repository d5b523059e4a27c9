"""Dask's settings: each is one that Dask has, and the documentation says the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dask
import distributed

from cloakwork.cluster.settings import SETTINGS

DOCUMENT = Path(__file__).parents[2] / "docs" / "cluster.md"


def flat(nested: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a configuration by their paths."""
    for name, value in nested.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def configured(path: Path) -> dict[str, Any]:
    """The settings in a file of Dask's."""
    (found,) = dask.config.collect_yaml([str(path)])
    return dict(flat(found))


def test_dask_has_every_setting() -> None:
    defaults = configured(Path(distributed.__file__).parent / "distributed.yaml")
    assert SETTINGS.keys() <= defaults.keys()


def test_the_documentation_lists_all_of_them(tmp_path: Path) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    listed = text.partition("```console\ndistributed:")[2].partition("```")[0]
    path = tmp_path / "distributed.yaml"
    path.write_text(f"distributed:{listed}", encoding="utf-8")
    assert configured(path) == SETTINGS
