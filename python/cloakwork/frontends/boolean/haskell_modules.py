"""The modules of a Haskell program, found and laid where their names say."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from cloakwork.errors import HaskellError
from cloakwork.frontends.boolean.haskell_names import (
    MAIN,
    code_start,
    has_header,
    imported_modules,
    module_name,
)

_LITERATE = ".lhs"
_ENDINGS = (".hs", _LITERATE)


def read_source(path: Path) -> str:
    """The code of a Haskell file; of a literate one without the text around it.

    Bytes that are not UTF-8 are kept as surrogates, and written as they were.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder) / "Double.lhs"
        ...     _ = path.write_text("It doubles.\\n\\n> f x = 2 * x\\n")
        ...     read_source(path)
        '\\n\\n  f x = 2 * x\\n'
    """
    # GHC takes a byte order mark at the beginning only, where the copy has a pragma.
    text = path.read_text(encoding="utf-8-sig", errors="surrogateescape")
    return _code_of_literate(text) if path.suffix == _LITERATE else text


def lay_out(path: Path, folder: Path) -> tuple[str, tuple[Path, ...]]:
    """Find the modules that a module imports, and copy those that GHC would not find.

    GHC finds the module `Shop.Prices` in `Shop/Prices.hs`. It is copied there from `Prices.hs`
    beside the first module, or from any file beside it whose header says `Shop.Prices`. Where the
    first module is `Shop.Orders` in a folder called `Shop`, names start from the folder above.

    Args:
        path: The file of the first module.
        folder: An empty one for the copies.

    Returns:
        The name of the first module, and the folders that names of modules start from: that of
        the copies, and that of the first module's project.

    Raises:
        HaskellError: Two files are the same module.
    """
    layout = _Layout(path, folder)
    return layout.module, (folder, layout.root)


class _Layout:
    def __init__(self, path: Path, copies: Path) -> None:
        self._copies = copies
        self.module = module_name(read_source(path))
        self._folders = [path.parent]
        for part in reversed(self.module.split(".")[:-1]):
            if self._folders[-1].name != part:
                break
            self._folders.append(self._folders[-1].parent)
        self._seen: set[str] = set()
        self._take(self.module, path)

    @property
    def root(self) -> Path:
        """The folder that the names of modules start from."""
        return self._folders[-1]

    def _take(self, module: str, path: Path) -> None:
        self._seen.add(module)
        source = read_source(path)
        parts = module.split(".")
        if not has_header(source) or path != _file(self.root, parts):
            copy = _file(self._copies, parts)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(_copied(source, path), encoding="utf-8", errors="surrogateescape")
        for name in imported_modules(source):
            if name not in self._seen and (found := self._find(name)):
                self._take(name, found)

    def _find(self, module: str) -> Path | None:
        """The file of a module; None for the modules of libraries."""
        parts = module.split(".")
        places = [_file(self.root, parts)]
        for folder in self._folders:
            places += [_file(folder, parts[start:]) for start in range(len(parts))]
        for place in places:
            if place.is_file() and module_name(read_source(place)) == module:
                return place
        beside = self._beside.get(module, [])
        if len(beside) > 1:
            names = " and ".join(path.name for path in beside)
            raise HaskellError(
                f"cannot read {self.module}: {names} are both the module {module}; expected one"
            )
        return beside[0] if beside else None

    @cached_property
    def _beside(self) -> dict[str, list[Path]]:
        """The files beside the first module, by the modules that they are."""
        modules: dict[str, list[Path]] = {}
        for path in sorted(self._folders[0].iterdir()):
            if path.suffix in _ENDINGS and path.is_file():
                modules.setdefault(module_name(read_source(path)), []).append(path)
        return modules


def _file(folder: Path, parts: list[str]) -> Path:
    """Where a module of this name lies beneath the folder that names start from."""
    return folder.joinpath(*parts).with_suffix(".hs")


def _copied(source: str, path: Path) -> str:
    """A source with the name of its file, and with a header if it has no header.

    A module without a header exports `main` only.
    """
    if has_header(source):
        return _line(1, path) + source
    start = code_start(source)
    line = source.count("\n", 0, start) + 1
    indent = " " * (start - source.rfind("\n", 0, start) - 1)
    header = f"\nmodule {MAIN} where\n{_line(line, path)}{indent}"
    return _line(1, path) + source[:start] + header + source[start:]


def _line(number: int, path: Path) -> str:
    """The pragma after which a compiler counts lines from this one of this file."""
    return f'{{-# LINE {number} "{path}" #-}}\n' if '"' not in str(path) else ""


def _code_of_literate(text: str) -> str:
    """The lines that begin with > or stand between \\begin{code} and \\end{code}."""
    lines, inside = [], False
    for line in text.split("\n"):
        if line.startswith("\\end{code}"):
            inside = False
        lines.append(line if inside else " " + line[1:] if line.startswith(">") else "")
        if line.startswith("\\begin{code}"):
            inside = True
    return "\n".join(lines)
