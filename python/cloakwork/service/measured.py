"""How long runs took here, by which what is said of the next ones is corrected."""

from __future__ import annotations

import sqlite3
from collections import defaultdict, deque
from statistics import median

_TABLE = """
create table if not exists runs (
    program text not null, seconds real not null, predicted real not null, ended real not null,
    check (typeof(program) = 'text' and typeof(seconds) = 'real' and typeof(predicted) = 'real'))
"""
# Of each program, and of all together.
_KEPT = 21


class MeasuredRuns:
    """The last runs of each program.

    Args:
        base: The database that keeps them.

    Example:
        >>> runs = MeasuredRuns(sqlite3.connect(":memory:"))
        >>> runs.seconds("scores", 2.0)
        2.0
        >>> for moment, seconds in enumerate((3.0, 4.0, 9.0)):
        ...     runs.add("scores", seconds, predicted=2.0, ended=moment)
        >>> runs.seconds("scores", 2.0), runs.seconds("another", 1.0)
        (4.0, 2.0)
    """

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base
        self._base.execute(_TABLE)
        self._of_program: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_KEPT))
        self._ratios: deque[float] = deque(maxlen=_KEPT)
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
        """How long a run takes: the median of the last ones of the program.

        Of one that did not run yet it is what the model says, times how much longer than that those
        of others took.
        """
        own = self._of_program.get(program)
        if own:
            return median(own)
        return predicted * (median(self._ratios) if self._ratios else 1.0)

    def _take(self, program: str, seconds: float, predicted: float) -> None:
        self._of_program[program].append(seconds)
        if predicted > 0:
            self._ratios.append(seconds / predicted)
