"""The bar of a job on another machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from cloakwork.base.progress import work_bar
from cloakwork.service.client.answers import HttpAnswer

_LONGEST = 60


@contextmanager
def job_bar() -> Iterator[Callable[[HttpAnswer], None]]:
    """A bar on a terminal, and what takes the answers of a server that say how far its job is."""
    with work_bar("") as bar:

        def show(answer: HttpAnswer) -> None:
            # Results come whatever is said of them before.
            try:
                told = json.loads(answer.content)
                share, part = float(told["done"]) / float(told["of"]), _part(told)
                bar.set_description_str(_shown(told["program"]), refresh=False)
            except (ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
                return
            bar.set_postfix_str(_shown(part), refresh=False)
            # A run that is begun again goes back.
            bar.update(min(1.0, max(0.0, share)) - bar.n)

        yield show


def _part(told: Mapping[str, Any]) -> object:
    if told["state"] == "queued":
        return f"place {told['place']} in the queue"
    return told["step"] or "running"


def _shown(text: object) -> str:
    """A text of another machine's, which may do nothing to a terminal."""
    return "".join(each for each in f"{text}"[:_LONGEST] if each.isprintable())
