"""How long runs took here, by which what is said of the next ones is corrected."""

from __future__ import annotations

import sqlite3
from collections import defaultdict, deque
from collections.abc import Collection
from statistics import median

_TABLE = """
create table if not exists runs (
    program text not null, seconds real not null, predicted real not null, ended real not null,
    check (typeof(program) = 'text' and typeof(seconds) = 'real' and typeof(predicted) = 'real'))
"""
# Seconds of the shortest run by the model, of which none is 0.
_LEAST = 1e-6
# Of each program.
_KEPT = 21
# Of all programs: the machine may be as busy now as it was for these.
_RECENT = 5


class MeasuredRuns:
    """The last runs of each program, and of all.

    How long a run takes beside what the model says is a matter of its program, which changes with
    nothing, and of what else the machine does, which is the same for all.

    Args:
        base: The database that keeps them.

    Example:
        >>> runs = MeasuredRuns(sqlite3.connect(":memory:"))
        >>> runs.seconds("scores", 2.0)
        2.0
        >>> for moment in range(3):
        ...     runs.add("scores", 4.0, predicted=2.0, ended=moment)
        >>> runs.seconds("scores", 2.0), runs.seconds("another", 1.0)
        (4.0, 2.0)
    """

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base
        self._base.execute(_TABLE)
        self._of_program: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_KEPT))
        self._of_all: deque[float] = deque(maxlen=_KEPT)
        self._recent: deque[float] = deque(maxlen=_RECENT)
        rows = base.execute("select program, seconds, predicted from runs order by ended")
        for program, seconds, predicted in rows.fetchall():
            self._take(program, seconds, predicted)

    def add(self, program: str, seconds: float, *, predicted: float, ended: float) -> None:
        """Take note of a run.

        Args:
            program: The name of the program.
            seconds: How long it took.
            predicted: How long it takes by the model.
            ended: When it ended.
        """
        self._take(program, seconds, predicted)
        self._base.execute(
            "insert into runs values (?, ?, ?, ?)", (program, seconds, predicted, ended)
        )
        self._base.execute(
            "delete from runs where program = ? and ended < (select min(ended) from (select ended"
            " from runs where program = ? order by ended desc limit ?))",
            (program, program, _KEPT),
        )

    def seconds(self, program: str, predicted: float) -> float:
        """How long a run takes now.

        Args:
            program: The name of the program.
            predicted: How long by the model.
        """
        return max(predicted, _LEAST) * self._factor(program) * self._slowness()

    def _factor(self, program: str) -> float:
        """How much longer than by the model a program takes, or any of which none ran yet."""
        return _middle(self._of_program.get(program) or self._of_all)

    def _slowness(self) -> float:
        """How much longer the last runs took than those of the same programs do."""
        return _middle(self._recent)

    def _take(self, program: str, seconds: float, predicted: float) -> None:
        ratio = seconds / max(predicted, _LEAST)
        own = ratio / self._slowness()
        if self._of_program.get(program):
            self._recent.append(ratio / self._factor(program))
        self._of_program[program].append(own)
        self._of_all.append(own)


def _middle(ratios: Collection[float]) -> float:
    return median(ratios) if ratios else 1.0
