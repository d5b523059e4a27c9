"""Writes NOTICES.txt, the licences of the crates that the engine is compiled of.

Run as `python -m tools.notices` where Cargo has the crates, which is where it has compiled them.
"""

from __future__ import annotations

import json
import re
import subprocess
import textwrap
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
NOTICES = ROOT / "NOTICES.txt"

_TARGETS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")
# Of a crate that may be taken under several licences, the first of these.
_PREFERRED = ("Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause", "BSD-3-Clause-Clear", "ISC")
_TEXT = re.compile(r"(LICEN[CS]E|COPYING)(-MIT)?(\.md|\.txt)?", re.IGNORECASE)
_OWN = "Apache-2.0"


@dataclass(frozen=True)
class Crate:
    """A crate of others that is a part of the engine.

    Args:
        name: Its name.
        version: Its version.
        licence: The licence that it is taken under.
        repository: Where its source is.
        text: The text of a licence that is not Cloakwork's own; empty where it has none.
    """

    name: str
    version: str
    licence: str
    repository: str
    text: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def crates() -> list[Crate]:
    """The crates of others that the engine is compiled of, for any system."""
    found = {}
    for target in _TARGETS:
        for package in _linked(_metadata(target)):
            if package["source"] is not None:
                found[package["id"]] = _crate(package)
    return sorted(found.values(), key=str)


def _metadata(target: str) -> Mapping[str, Any]:
    command = ["cargo", "metadata", "--format-version=1", "--locked", "--offline"]
    command += ["--no-default-features", f"--filter-platform={target}"]
    command += ["--manifest-path", str(ROOT / "crates" / "bindings" / "Cargo.toml")]
    told = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(told.stdout))


def _linked(metadata: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The packages that become a part of the engine, not those that are run to compile it."""
    packages = {each["id"]: each for each in metadata["packages"]}
    nodes = {each["id"]: each for each in metadata["resolve"]["nodes"]}
    left, seen = [metadata["resolve"]["root"]], set()
    while left:
        package = packages[left.pop()]
        is_macro = any("proc-macro" in target["kind"] for target in package["targets"])
        if package["id"] in seen or is_macro:
            continue
        seen.add(package["id"])
        yield package
        for needed in nodes[package["id"]]["deps"]:
            if any(kind["kind"] is None for kind in needed["dep_kinds"]):
                left.append(needed["pkg"])


def _crate(package: Mapping[str, Any]) -> Crate:
    offered = [each.strip() for each in re.split(r" OR |/", package["license"])]
    licence = min(filter(_PREFERRED.__contains__, offered), key=_PREFERRED.index)
    texts = [
        path.read_text().replace("\r\n", "\n").strip("\n")
        for path in sorted(Path(package["manifest_path"]).parent.iterdir())
        if _TEXT.fullmatch(path.name)
    ]
    repository = package["repository"] or ""
    return Crate(package["name"], package["version"], licence, repository, *texts[:1] or [""])


def expression(found: Sequence[Crate]) -> str:
    """The SPDX expression of what holds Cloakwork and these crates."""
    licences = sorted({each.licence for each in found} - {_OWN})
    return " AND ".join([_OWN, *licences])


def notices(found: Sequence[Crate]) -> str:
    """The text of the file: each licence once, below the crates that are taken under it."""
    takers: defaultdict[tuple[str, str], list[Crate]] = defaultdict(list)
    for crate in found:
        takers[crate.licence, _text_of(crate, found)].append(crate)
    parts = [_heading()]
    for (licence, text), named in sorted(takers.items()):
        names = "\n".join(f"  {each}  {each.repository}".rstrip() for each in named)
        parts.append(f"{'=' * 80}\n{licence}\n\n{names}\n\n{text}\n")
    return "\n".join(parts)


def _text_of(crate: Crate, found: Sequence[Crate]) -> str:
    """The text of its licence, as it has it, or the crate that it belongs to."""
    if crate.licence == _OWN:
        # Copies differ in their layout alone, and in how they say to apply it.
        return (ROOT / "LICENSE").read_text().strip("\n")
    if crate.text:
        return crate.text
    family = crate.name.partition("-")[0]
    return next(each.text for each in found if each.name == family)


def _heading() -> str:
    tfhe = (
        "The licence of tfhe and of the crates that belong to it, BSD-3-Clause-Clear, grants no "
        "patents. Their maker, Zama, asks those who use them commercially for a patent licence: "
        "see https://github.com/zama-ai/tfhe-rs."
    )
    said = (
        "The engine of Cloakwork is compiled of the crates below, and of Rust's standard library, "
        "which is under the MIT licence or Apache-2.0. Of a crate that offers several licences one "
        "is taken."
    )
    return "\n\n".join(textwrap.fill(each, 80) for each in (said, tfhe)) + "\n"


def main() -> None:
    """Write the file, and say what the package's licence is."""
    found = crates()
    NOTICES.write_text(notices(found))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    print(f"{len(found)} crates; the package's licence is {project['license']}")
    if project["license"] != expression(found):
        print(f"pyproject.toml has to say {expression(found)}")


if __name__ == "__main__":
    main()
