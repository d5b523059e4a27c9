"""Files of each release are read, run and decrypted, as docs/formats.md promises."""

from __future__ import annotations

import shutil
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from tests.formats.samples import FOLDER, SAMPLES

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


def test_this_release_has_files_and_an_entry_in_the_changelog() -> None:
    root = FOLDER.parents[1]
    release = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    crates = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]
    assert crates["version"] == release
    assert release in _RELEASES
    assert f"\n## {release}" in (root / "CHANGELOG.md").read_text()


def test_the_version_is_that_of_the_installed_package() -> None:
    assert cw.__version__ == metadata.version("cloakwork")
