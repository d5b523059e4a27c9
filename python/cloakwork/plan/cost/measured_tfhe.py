"""Targets for bits whose costs were measured on this machine, kept in the user's cache."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from cloakwork._native import (
    BooleanParameters,
    boolean_noise,
    boolean_parameter_sets,
    boolean_seconds,
)
from cloakwork.plan.cost import cache as cost_cache
from cloakwork.plan.cost.tfhe import Target

_VERSION = 1
_REPETITIONS = 15


def measured_targets() -> list[Target]:
    """The target of every parameter set for bits.

    Costs are measured where the cache has none yet, which takes a few seconds.

    Example:
        >>> [target.name for target in measured_targets()] == boolean_parameter_sets()
        True
    """
    return [measured_target(name) for name in boolean_parameter_sets()]


def gate_seconds(name: str) -> float:
    """Seconds of one ordinary gate of two inputs under a parameter set, on one thread."""
    return float(_seconds(name)["gate"])


def measured_target(name: str) -> Target:
    """The target of one parameter set; its costs are measured where the cache has none yet.

    Raises:
        InvalidArgumentError: There is no such set.

    Example:
        >>> measured_target("boxes8").max_boxes_log
        3
    """
    boxes_log = BooleanParameters(name).max_boxes_log
    return Target.from_measurements(name, boxes_log, boolean_noise(name), _seconds(name))


def _seconds(name: str) -> Mapping[str, Any]:
    identity = cost_cache.identity({"version": _VERSION, "bits": name})
    kept = cost_cache.read(identity)
    if _is_table(kept):
        return dict(kept)
    measured = boolean_seconds(name, _REPETITIONS)
    cost_cache.write(identity, measured)
    return measured


def _is_table(kept: Any) -> bool:
    """Whether it is what was written: a file of the user's may be damaged."""
    match kept:
        case {"bootstrap": [_, _, _] as by_tables, "linear": linear, "gate": gate}:
            numbers = [*by_tables, linear, gate]
            # JSON of Python's has infinity.
            return all(isinstance(each, float) and 0 < each < math.inf for each in numbers)
        case _:
            return False
