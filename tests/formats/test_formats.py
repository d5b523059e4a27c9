"""Files of each release are read, run and decrypted, as docs/formats.md promises."""

from __future__ import annotations

import itertools
import re
import shutil
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.frontends.tensors.tensor import TENSOR_KIND
from cloakwork.runtime.saved import Saved
from tests.formats.exchanges import EXCHANGES
from tests.formats.make import write
from tests.formats.samples import FOLDER, SAMPLES
from tests.formats.versions import kind_in, versions_in

_KINDS: dict[str, type[Any]] = {
    "program": cw.Program,
    "client": cw.Client,
    "encryptor": cw.Encryptor,
    "evaluator": cw.Evaluator,
    "inputs": cw.Encrypted,
    "outputs": cw.Encrypted,
}
_RELEASES = sorted(path.name for path in FOLDER.iterdir() if path.name[0].isdigit())
_KEPT = [(release, name) for release in _RELEASES for name in SAMPLES]
_EXCHANGED = [(release, name) for release in _RELEASES for name in EXCHANGES]
_ROW = re.compile(r"^\| .* \| (\d+) \| .* \|$", re.MULTILINE)


def files_of(folder: Path) -> list[Path]:
    """The files below a folder."""
    return [path for path in folder.rglob("*") if path.is_file()]


def loaded(folder: Path) -> dict[str, Any]:
    """What the files of a folder hold, by their names."""
    found: dict[str, Any] = {}
    for path in folder.iterdir():
        # Keys that others may read are refused.
        path.chmod(0o600)
        found[path.name] = cw.load(path, _KINDS[path.name], insecure=True)
    return found


@pytest.mark.parametrize(("release", "name"), _KEPT)
def test_files_of_a_release_are_read(release: str, name: str, tmp_path: Path) -> None:
    sample, folder = SAMPLES[name], tmp_path / "kept"
    shutil.copytree(FOLDER / release / name, folder)
    kept = loaded(folder)
    assert kept.keys() == set(sample.kinds)
    client = kept["client"]
    assert kept["program"].fingerprint == client.program.fingerprint
    assert sample.is_right(client.decrypt(kept["outputs"]))
    arguments = {key: np.asarray(value) for key, value in sample.arguments.items()}
    assert sample.is_right(kept["program"].run_clear(**arguments))
    if "evaluator" in kept:
        assert sample.is_right(client.decrypt(kept["evaluator"].run(kept["inputs"])))
        if "encryptor" in kept:
            sent = kept["encryptor"].encrypt(**sample.arguments)
            assert sample.is_right(client.decrypt(kept["evaluator"].run(sent)))


@pytest.mark.parametrize(("release", "name"), _KEPT)
def test_files_of_a_release_are_saved_as_those_of_this_one(
    release: str, name: str, tmp_path: Path
) -> None:
    folder, again = tmp_path / "kept", tmp_path / "again"
    shutil.copytree(FOLDER / release / name, folder)
    again.mkdir()
    for kind, thing in loaded(folder).items():
        thing.save(again / kind)
    kept = loaded(again)
    assert SAMPLES[name].is_right(kept["client"].decrypt(kept["outputs"]))


@pytest.mark.parametrize(("release", "name"), _EXCHANGED)
def test_files_that_are_exchanged_are_read(release: str, name: str, tmp_path: Path) -> None:
    shutil.copytree(FOLDER / release / name, tmp_path / "kept")
    for path in files_of(tmp_path):
        path.chmod(0o600)
    assert EXCHANGES[name].is_right(tmp_path / "kept")


def test_there_are_files_of_every_kind() -> None:
    kept = {kind_in(path) for path in files_of(FOLDER / _RELEASES[-1])}
    assert kept >= {kind._kind for kind in _saved_kinds(Saved)} | {TENSOR_KIND}


def _saved_kinds(kind: type[Saved]) -> Iterator[type[Saved]]:
    for each in kind.__subclasses__():
        if hasattr(each, "_kind"):
            yield each
        yield from _saved_kinds(each)


def test_a_changed_version_has_files(tmp_path: Path) -> None:
    """Else `python -m tests.formats.make` writes them, in the release that has changed it."""
    for name in ("circuit", "bits"):
        write(SAMPLES[name], tmp_path / name)
    (tmp_path / "coding").mkdir()
    EXCHANGES["coding"].write(tmp_path / "coding")
    today = versions_in(files_of(tmp_path))
    assert today == versions_in(files_of(FOLDER / _RELEASES[-1]))
    page = (FOLDER.parents[1] / "docs" / "formats.md").read_text()
    kinds = ("container", "CLWK", "CLWB", "cloakwork coding")
    told = dict(zip(kinds, map(int, _ROW.findall(page)), strict=True))
    assert told == today


def test_what_an_older_reader_refuses_has_another_version_of_the_container() -> None:
    """For the container is what is read first, and says that a release is newer."""
    each = [versions_in(files_of(FOLDER / release)) for release in _RELEASES]
    for versions in each:
        # A file of its own.
        versions.pop("cloakwork coding", None)
    for older, newer in itertools.pairwise(each):
        assert older == newer or older["container"] < newer["container"]


def test_this_release_has_files_and_an_entry_in_the_changelog() -> None:
    root = FOLDER.parents[1]
    release = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    crates = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]
    assert crates["version"] == release
    assert release in _RELEASES
    assert f"\n## {release}" in (root / "CHANGELOG.md").read_text()


def test_the_version_is_that_of_the_installed_package() -> None:
    assert cw.__version__ == metadata.version("cloakwork")
