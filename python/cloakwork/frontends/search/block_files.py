"""The files of a table's blocks: of each its rows, and which of these count."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cloakwork.base.arguments import shown
from cloakwork.errors import IndexOutOfRangeError, InvalidArgumentError

ENCRYPTED: Final = ""
CLEAR: Final = "clear-"
_MEANING = {ENCRYPTED: "encrypted rows", CLEAR: "rows in the clear"}
_MAKER = {ENCRYPTED: "cloakwork.Database", CLEAR: "cloakwork.ClearDatabase"}


@dataclass(frozen=True, slots=True)
class BlockFiles:
    """The files of blocks of a kind in a folder.

    Args:
        folder: The folder.
        kind: `ENCRYPTED` or `CLEAR`.

    Example:
        >>> [path.name for path in BlockFiles(Path("table"), CLEAR).of_block(3)]
        ['000003.clear-rows', '000003.clear-live']
    """

    folder: Path
    kind: str

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the blocks there are."""
        return tuple(sorted(int(path.stem) for path in self.folder.glob(f"*.{self.kind}rows")))

    def of_block(self, number: int) -> tuple[Path, Path]:
        """The file of the rows of a block, and that of which of them count."""
        return (
            self.folder / f"{number:06}.{self.kind}rows",
            self.folder / f"{number:06}.{self.kind}live",
        )

    def require_block(self, number: int, action: str) -> None:
        """Refuse a block that there is not."""
        if number not in self.numbers:
            last = max(self.numbers, default=-1)
            raise IndexOutOfRangeError(
                f"cannot {action}: expected a block from 0 to {last} of {self.folder}, got "
                f"{shown(number)}; block i has the rows from i times rows_in_block on"
            )

    def require_alone(self, action: str) -> None:
        """Refuse a folder that has blocks of the other kind."""
        (other,) = _MEANING.keys() - {self.kind}
        if BlockFiles(self.folder, other).numbers:
            raise InvalidArgumentError(
                f"cannot {action}: expected {_MEANING[self.kind]} in {self.folder}, got "
                f"{_MEANING[other]}; search them by {_MAKER[other]}, or give another folder"
            )
