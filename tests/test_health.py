"""The figures that `make test` prints of the package are right on a tiny one."""

from __future__ import annotations

import ast
import subprocess
import threading
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from tools import health
from tools.flows import entered
from tools.health import Health, circles, code_lines, homonyms, imports, report

_FILES = {
    "__init__.py": '"""A tiny package."""\n\nfrom tiny import engine\n',
    "engine.pyi": "def add() -> int: ...\n",
    "low/__init__.py": "",
    "low/a.py": '''"""A.

Of two paragraphs.
"""

from typing import TYPE_CHECKING

from tiny import engine

if TYPE_CHECKING:
    from tiny.high.c import Thing as Other


class Thing:
    """A thing."""

    size = 1  # in metres

    def grow(self) -> int:
        """Grow."""
        from tiny.low import b

        return b.helper(
            self.size
        )


def shared() -> str:
    return """not a
    docstring"""


def _private() -> int:
    return sum([each for each in range(3)])
''',
    "low/b.py": "import tiny.low.a\n\ndef helper(x):\n    return x + tiny.low.a._private()\n",
    "low/e.py": "class E:\n    x = 1\ndef once(): return [y for y in (1, 2)]\ndef never(): pass\n",
    "high/__init__.py": "",
    "high/c.py": "import tiny.low.a as a\n\nclass Thing: pass\ndef shared(): return a\n",
    "high/d.py": "def _private(): pass\nclass Only: pass\ndef helper(x): return x\n",
}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    for name, text in _FILES.items():
        path = tmp_path / "tiny" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "tiny"


def test_lines_of_code_are_those_without_text_imports_and_blanks() -> None:
    # if, class, size, def grow, return of three lines, def, return of two, def, return.
    assert code_lines(_FILES["low/a.py"]) == 12
    assert code_lines(_FILES["low/b.py"]) == 2
    assert code_lines(_FILES["__init__.py"]) == 0


def test_imports_count_in_functions_but_not_for_types(tiny: Path) -> None:
    graph = imports(tiny)
    assert graph["tiny"] == {"tiny.engine"}
    assert graph["tiny.low.a"] == {"tiny.engine", "tiny.low.b"}
    assert graph["tiny.high.c"] == {"tiny.low.a"}
    assert circles(graph) == [["tiny.low.a", "tiny.low.b"]]


def test_circles_that_meet_are_one() -> None:
    graph = {"a": {"b"}, "b": {"a", "c"}, "c": {"b"}, "d": {"e"}, "e": {"d"}, "f": {"a", "d"}}
    assert circles(graph) == [["a", "b", "c"], ["d", "e"]]


def test_names_count_once_they_are_in_two_rooms(tiny: Path) -> None:
    assert homonyms(tiny, ast.ClassDef) == {"Thing"}
    assert homonyms(tiny, ast.FunctionDef) == {"helper", "shared"}


def _loaded(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_files_and_functions_that_a_flow_enters_are_counted(tiny: Path) -> None:
    alone, threaded = tiny / "low" / "e.py", _loaded(tiny / "high" / "d.py")

    def flow() -> None:
        # Its class has a body, which is not a function.
        first = _loaded(alone)
        first.once()
        first.once()
        thread = threading.Thread(target=threaded.helper, args=(1,))
        thread.start()
        thread.join()

    assert entered(flow, str(tiny)) == (2, 2)
    assert entered(flow, str(tiny / "low")) == (1, 1)


def test_a_report_names_differences_and_new_names() -> None:
    before = Health({"a run": [3, 20]}, [["a", "b"]], {"Thing"}, set(), 100, 150)
    now = Health({"a run": [4, 18]}, [], {"Thing", "Other"}, set(), 100, 149)
    assert list(report(now, before)) == [
        "a run           4 (+1) files, 18 (-2) functions",
        "circles         0 (-1)",
        "classes         2 (+1) names in two rooms or more: Other new",
        "functions       0 names in two rooms or more",
        "code            100 lines",
        "all             149 (-1) lines",
    ]


def test_a_clone_without_a_main_branch_is_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in (["init", "--initial-branch", "work"], ["commit", "--allow-empty", "-m", "One"]):
        identity = ["-c", "user.name=tests", "-c", "user.email=tests@localhost"]
        subprocess.run(["git", *identity, *words], cwd=tmp_path, capture_output=True, check=True)
    monkeypatch.setattr(health, "ROOT", tmp_path)
    assert health.left_main_at() == ""
    subprocess.run(["git", "branch", "main"], cwd=tmp_path, check=True)
    assert len(health.left_main_at()) == 40
