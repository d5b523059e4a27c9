"""Finds circles among the files of the Rust crates: files that use each other, over others or not.

A file uses another whose name it imports, outside of its tests. Files that only gather others,
`lib.rs` and `mod.rs`, are looked through: what is imported from them comes from where they have it.

Run as `python tools/rust_modules.py`; it prints each circle and fails if there is one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

CRATES = Path(__file__).parent.parent / "crates"

_USE = re.compile(r"\b(?:pub(?:\([^)]*\))?\s+)?use\s+((?:crate|super|self)\b[^;]*);")
_INLINE = re.compile(r"\b((?:crate|super)(?:::\w+)+)")
_TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+\w+\s*\{.*", re.DOTALL)
_COMMENT = re.compile(r"//[^\n]*")
_EXPORT = re.compile(r"\bpub(?:\([^)]*\))?\s+use\s+([^;]*);")

Module = tuple[str, ...]


def modules(source: Path) -> dict[Module, str]:
    """The text of each module of a crate, without comments and tests."""
    found: dict[Module, str] = {}
    for path in sorted(source.rglob("*.rs")):
        parts = path.relative_to(source).with_suffix("").parts
        name = () if parts == ("lib",) else parts[:-1] if parts[-1] == "mod" else parts
        if "tests" in name:
            continue
        found[name] = _TESTS.sub("", _COMMENT.sub("", path.read_text()))
    return found


def paths(tree: str) -> Iterator[Module]:
    """The paths of a use tree, without what they are renamed to.

    Example:
        >>> list(paths("crate::a::{self, b::C as D, e}"))
        [('crate', 'a', 'self'), ('crate', 'a', 'b', 'C'), ('crate', 'a', 'e')]
    """
    tree = re.sub(r"\s+as\s+\w+", "", tree.strip())
    head, brace, rest = tree.partition("{")
    prefix = tuple(part for part in re.sub(r"\s", "", head).split("::") if part)
    if not brace:
        yield prefix
        return
    depth, start, inner = 0, 0, rest.rsplit("}", 1)[0]
    for place, letter in enumerate(inner + ","):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            piece, start = inner[start:place], place + 1
            if piece.strip():
                yield from (prefix + path for path in paths(piece))


def resolved(path: Module, place: Module, known: Mapping[Module, str]) -> Module | None:
    """The module that a path from one leads to, looked up through those that gather others."""
    absolute = list(path)
    if absolute[0] == "crate":
        absolute = absolute[1:]
    else:
        base = list(place)
        while absolute and absolute[0] in ("super", "self"):
            if absolute.pop(0) == "super":
                base.pop()
        absolute = base + absolute
    parts = tuple(part for part in absolute if part != "self")
    for length in range(len(parts), -1, -1):
        if parts[:length] in known:
            return _exported(parts, length, known)
    return None


def _exported(parts: Module, length: int, known: Mapping[Module, str]) -> Module:
    module, names = parts[:length], parts[length:]
    if names:
        for tree in _EXPORT.findall(known[module]):
            for path in paths(tree):
                if path[-1] == names[0] and path[:1] not in (("std",), ("rustfft",)):
                    relative = path if path[0] in ("crate", "super", "self") else ("self", *path)
                    found = resolved(relative, module, known)
                    if found is not None and found != module:
                        return found
    return module


def uses(source: Path) -> dict[Module, set[Module]]:
    """For each file of a crate the files that it uses."""
    known = modules(source)
    graph: dict[Module, set[Module]] = {}
    for name, text in known.items():
        found = {path for tree in _USE.findall(text) for path in paths(tree)}
        rest = _USE.sub("", text)
        found |= {tuple(path.split("::")) for path in _INLINE.findall(rest)}
        targets = {resolved(path, name, known) for path in found}
        graph[name] = {each for each in targets if each is not None} - {name}
    gathering = {
        name
        for name in graph
        if any(other[: len(name)] == name for other in graph if other != name)
    }
    # A file beside a folder of its name is one with code; the others gather.
    gathering = {
        name
        for name in gathering
        if not (source.joinpath(*name).with_suffix(".rs")).exists() or not name
    }
    return {name: used - gathering for name, used in graph.items() if name not in gathering}


def circle(source: Path) -> list[str]:
    """The files of a circle, if there is one."""
    try:
        TopologicalSorter(uses(source)).prepare()
    except CycleError as error:
        return ["::".join(name) for name in error.args[1]]
    return []


def main() -> int:
    """Print every crate's first circle."""
    found = {crate.name: circle(crate / "src") for crate in sorted(CRATES.iterdir())}
    for crate, names in found.items():
        if names:
            print(f"{crate}: {' -> '.join(names)}")
    return int(any(found.values()))


if __name__ == "__main__":
    sys.exit(main())
