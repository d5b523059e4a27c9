"""The body of the fuzz target on changes that are the same in every run."""

from pathlib import Path

import pytest

from tests.fuzz.choices import Drawn
from tests.fuzz.containers import attempt, attempt_in_folder, seeds
from tests.thoroughness import slow


def test_there_is_a_file_of_every_kind() -> None:
    assert len({seed.kind for seed in seeds()}) == 12


@pytest.mark.parametrize("seed", [0, *slow(1, 2, 3)])
def test_changed_files_are_refused_by_name(seed: int, tmp_path: Path) -> None:
    drawn = Drawn(seed)
    for _ in range(150):
        attempt(drawn, tmp_path / "file")


@pytest.mark.parametrize("seed", [0, *slow(1, 2, 3)])
def test_changed_folders_are_refused_by_name(seed: int, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    drawn = Drawn(seed)
    for _ in range(20):
        attempt_in_folder(drawn, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4, 8))
def test_many_changed_files_are_refused_by_name(seed: int, tmp_path: Path) -> None:
    drawn = Drawn(seed)
    for _ in range(10_000):
        attempt(drawn, tmp_path / "file")
