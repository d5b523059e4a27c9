"""Prints how large and how tangled the package is, and how that differs from the main branch.

Fewer files and functions on the way of a call, no circles of imports, no name in two rooms and
fewer lines make it easier to change.

Run as `python tools/health.py`, with what `make test` installs.
"""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import tokenize
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = Path("python/cloakwork")
_MAIN = ("origin/main", "main")
_BLANK = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}
_WITH_DOCSTRING = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Health:
    """The figures of a package.

    Args:
        flows: For each flow the files and functions that it enters; empty if it cannot be run.
        circles: Modules that import each other, directly or not.
        classes: Names of classes that are defined in two rooms or more.
        functions: The same of functions whose names are public.
        code: Lines without docstrings, blanks, imports and comments.
        lines: All lines.
    """

    flows: Mapping[str, list[int]]
    circles: list[list[str]]
    classes: set[str]
    functions: set[str]
    code: int
    lines: int


def code_lines(source: str) -> int:
    """The lines of a module without docstrings, blanks, imports and comments.

    Example:
        >>> code_lines("'''Doc.'''\\nimport os\\n\\n# Why.\\nx = (\\n    1\\n)\\n")
        3
    """
    passed: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            passed.update(range(node.lineno, (node.end_lineno or 0) + 1))
        if isinstance(node, _WITH_DOCSTRING) and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            passed.update(range(text.lineno, (text.end_lineno or 0) + 1))
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    used = {
        line
        for token in tokens
        if token.type not in _BLANK
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(used - passed)


def imports(package: Path) -> dict[str, set[str]]:
    """For each module of a package the modules that it imports, inside functions as well.

    What is imported for types alone, under `if TYPE_CHECKING`, does not count.
    """
    # A module that is compiled has a stub.
    paths = {_module(path, package): path for path in package.rglob("*.py*")}
    return {
        name: {each for each in _imported(ast.parse(path.read_text()), paths) if each in paths}
        for name, path in paths.items()
        if path.suffix == ".py"
    }


def _module(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(node: ast.AST, known: Mapping[str, Path]) -> Iterator[str]:
    children: list[ast.stmt] | Iterator[ast.AST] = ast.iter_child_nodes(node)
    match node:
        case ast.If(test=ast.Name("TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
            children = node.orelse
        case ast.Import():
            yield from (alias.name for alias in node.names)
        case ast.ImportFrom(module=str(module)):
            names = [f"{module}.{alias.name}" for alias in node.names]
            yield from (name if name in known else module for name in names)
    for child in children:
        yield from _imported(child, known)


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The largest sets of modules that import each other, directly or not.

    Example:
        >>> circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})
        [['a', 'b', 'c']]
    """
    reached = {name: _reached(name, graph) for name in graph}
    found = {
        tuple(sorted(other for other in reached[name] if name in reached.get(other, ())))
        for name in graph
        if name in reached[name]
    }
    return sorted(map(list, found))


def _reached(name: str, graph: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        new = graph.get(waiting.pop(), set()) - found
        found |= new
        waiting.extend(new)
    return found


def homonyms(package: Path, kind: type[ast.ClassDef] | type[ast.FunctionDef]) -> set[str]:
    """Names of classes, or public ones of functions, that are defined in two rooms or more."""
    rooms: defaultdict[str, set[Path]] = defaultdict(set)
    for path in package.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, kind) and (kind is ast.ClassDef or not node.name.startswith("_")):
                rooms[node.name].add(path.parent)
    return {name for name, where in rooms.items() if len(where) > 1}


def flows(root: Path) -> dict[str, list[int]]:
    """What the flows of `tools/flows.py` enter in the package of a tree that has its engine."""
    counted = subprocess.run(
        [sys.executable, ROOT / "tools" / "flows.py"],
        env={**os.environ, "PYTHONPATH": str(root / PACKAGE.parent), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        check=False,
    )
    found: dict[str, list[int]] = json.loads(counted.stdout) if not counted.returncode else {}
    return found


def health(root: Path) -> Health:
    """The figures of the package of a tree."""
    package = root / PACKAGE
    sources = [path.read_text() for path in package.rglob("*.py")]
    return Health(
        flows(root),
        circles(imports(package)),
        homonyms(package, ast.ClassDef),
        homonyms(package, ast.FunctionDef),
        sum(map(code_lines, sources)),
        sum(source.count("\n") for source in sources),
    )


def _git(*words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False)


def left_main_at() -> str:
    """The commit at which this tree left the main branch; empty where there is no such branch."""
    found = (_git("merge-base", "HEAD", branch) for branch in _MAIN)
    return next((each.stdout.decode().strip() for each in found if not each.returncode), "")


def health_at(commit: str) -> Health:
    """The figures of the package at a commit; flows run on the engine that is here, if they can."""
    with tempfile.TemporaryDirectory() as folder:
        archive = io.BytesIO(_git("archive", commit, str(PACKAGE)).stdout)
        with tarfile.open(fileobj=archive) as tree:
            tree.extractall(folder, filter="data")
        for engine in (ROOT / PACKAGE).glob("_native*.so"):
            (Path(folder) / PACKAGE / engine.name).symlink_to(engine)
        return health(Path(folder))


def report(now: Health, before: Health) -> Iterator[str]:
    """Lines that name each figure, and its difference from before."""
    for name, (files, functions) in now.flows.items():
        was = before.flows.get(name, [files, functions])
        changes = (
            f"{_with_change(files, was[0])} files, {_with_change(functions, was[1])} functions"
        )
        yield f"{name:16}{changes}"
    yield f"{'circles':16}{_with_change(len(now.circles), len(before.circles))}"
    yield from (f"  {len(each)} modules: {', '.join(each[:3])} ..." for each in now.circles)
    for title, names, old in (
        ("classes", now.classes, before.classes),
        ("functions", now.functions, before.functions),
    ):
        new = f": {', '.join(sorted(names - old))} new" if names - old else ""
        yield f"{title:16}{_with_change(len(names), len(old))} names in two rooms or more{new}"
    yield f"{'code':16}{_with_change(now.code, before.code)} lines"
    yield f"{'all':16}{_with_change(now.lines, before.lines)} lines"


def _with_change(now: int, before: int) -> str:
    return f"{now} ({now - before:+d})" if now != before else str(now)


def main() -> None:
    """Print the figures; fail if the flows of this tree cannot be run."""
    now, commit = health(ROOT), left_main_at()
    if not now.flows:
        sys.exit("the flows cannot be run: see what python tools/flows.py says")
    changed = commit and _git("diff", "--quiet", commit, "--", str(PACKAGE)).returncode
    before = health_at(commit) if changed else now
    print("\n".join(report(now, before)))
    if not commit:
        print("There is no main branch here to compare with.")
    elif before.flows:
        print(f"Compared with {commit[:8]} of the main branch.")
    else:
        print(f"Compared with {commit[:8]} of the main branch, whose flows cannot be run here.")


if __name__ == "__main__":
    main()
