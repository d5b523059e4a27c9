"""Costs measured on this machine, once for each parameter set, and cached."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from cloakwork._native import Parameters, threads
from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError, MalformedBytesError
from cloakwork.plan.cost import cache as cost_cache
from cloakwork.plan.cost.timing import measured_seconds, seconds_beside_operations
from cloakwork.runtime.costs import Costs, LevelCosts, modelled_for

_VERSION = 6


def measured(parameters: Parameters) -> Costs:
    """Costs in CPU seconds on this machine, at the engine's present number of threads.

    CPU seconds are added up over threads; see `plan.cost.timing`. Measured at up to four levels
    where the cache has no such table yet, which takes about two seconds at N = 2^14; the
    model, corrected by what was measured, fills the others. The table is kept in the folder
    `cloakwork` of XDG_CACHE_HOME or ~/.cache, where that can be written, until the engine is
    built or installed anew.

    Raises:
        InvalidArgumentError: They are not parameters.

    Example:
        >>> import os
        >>> import tempfile
        >>> from unittest import mock
        >>> p = Parameters(levels=1, log_n=10, insecure=True)
        >>> with (
        ...     tempfile.TemporaryDirectory() as folder,
        ...     mock.patch.dict(os.environ, XDG_CACHE_HOME=folder),
        ... ):
        ...     measured(p) == measured(p)
        True
    """
    if not isinstance(parameters, Parameters):
        raise InvalidArgumentError(
            f"cannot measure costs: expected parameters such as session.parameters, "
            f"got {shown(parameters)}"
        )
    costs = known(parameters)
    if costs is None:
        costs = _measure(parameters)
        cost_cache.keep_costs(measured_identity(parameters), asdict(costs))
    return costs


def known(parameters: Parameters) -> Costs | None:
    """The costs measured before on this machine, if the cache has them."""
    try:
        costs = Costs.from_dict(cost_cache.kept_costs(measured_identity(parameters)))
    except MalformedBytesError:
        return None
    return costs if len(costs.levels) == parameters.levels + 1 else None


def measured_identity(parameters: Parameters) -> dict[str, Any]:
    """What the costs of a parameter set depend on, besides engine and processor."""
    return {"version": _VERSION, "parameters": parameters.fingerprint, "threads": threads()}


def _measure(parameters: Parameters) -> Costs:
    model = modelled_for(parameters)
    top = parameters.levels
    # Of each kind the levels that are measured, and how far the model is off there.
    corrections: dict[str, tuple[list[int], list[float]]] = {}
    for level in sorted({0, min(1, top), (top + 1) // 2, top}):
        for kind, seconds in measured_seconds(parameters, level).items():
            levels, factors = corrections.setdefault(kind, ([], []))
            levels.append(level)
            factors.append(seconds / getattr(model.at(level), kind))
    # A chain without levels has no products and no transforms: their prices are not asked for.
    # Weighted terms are measured nowhere: the machine is to them what it is to rotations.
    others = corrections["rotation"]
    table = [
        {
            kind: cost * float(np.interp(level, *corrections.get(kind, others)))
            for kind, cost in asdict(costs).items()
        }
        for level, costs in enumerate(model.levels)
    ]
    return Costs(
        tuple(LevelCosts(**costs) for costs in table), seconds_beside_operations(parameters)
    )
