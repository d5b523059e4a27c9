"""Rings that are refused, and what is left of them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any
from weakref import ReferenceType, ref

import pytest

from cloakwork.errors import InvalidParametersError
from cloakwork.plan.networks.lower import NetworkPlan
from cloakwork.plan.networks.staged import StagedNetwork


@contextmanager
def without_collector() -> Iterator[None]:
    """No cycles are collected: what is in none goes with its last reference."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def one_refused(
    planner: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> list[ReferenceType[StagedNetwork]]:
    """Let a planner refuse what it tries first; returns all that it is going to try."""
    staged: list[ReferenceType[StagedNetwork]] = []
    in_ring = planner._in_ring

    def in_all_but_the_first(tried: Any, *rest: Any) -> NetworkPlan | None:
        network: StagedNetwork = getattr(tried, "network", tried)
        staged.append(ref(network))
        if len(staged) == 1:
            raise InvalidParametersError("this ring is refused")
        plan: NetworkPlan | None = in_ring(tried, *rest)
        return plan

    monkeypatch.setattr(planner, "_in_ring", in_all_but_the_first)
    return staged
