"""Refuses an evaluator whose keys are too few before its program runs in grains."""

from __future__ import annotations

from weakref import WeakSet

from cloakwork.errors import MissingKeyError
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.evaluator import Evaluator

# Evaluators that have been looked at: a large program has keys for a tenth of a second's search.
_with_all_keys: WeakSet[Evaluator] = WeakSet()


def require_keys(evaluator: Evaluator, action: str) -> None:
    """Refuse an evaluator whose keys are fewer than its program needs; each is looked at once.

    Raises:
        MissingKeyError: They are.
    """
    body = evaluator.program.body
    if evaluator in _with_all_keys or not isinstance(body, SlotProgram):
        return
    scheme = evaluator.program.scheme
    needed = scheme.required_keys(body)
    for held in scheme.held_keys(evaluator._key):
        missing = needed.beyond(held)
        if missing:
            steps = ", ".join(map(str, list(missing.rotations)[:5]))
            what = f"rotations by {steps}" if steps else "products"
            raise MissingKeyError(
                f"cannot {action}: the evaluation keys lack {len(missing)} of {len(needed)} keys, "
                f"of {what}; make the evaluator by client.evaluator() for this very program"
            )
    _with_all_keys.add(evaluator)
