"""What `cloakwork.explain` and `cloakwork.plot` say of an operator's programs."""

from __future__ import annotations

import asyncio
import io
import math
from collections.abc import Callable
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from cloakwork.errors import NotServedError
from cloakwork.explain import explain, plot
from cloakwork.explain.estimate import estimate
from cloakwork.runtime.program import Program
from cloakwork.service.server.openapi import PNG
from cloakwork.service.server.own_programs import OwnPrograms
from cloakwork.service.server.predicted import Prediction
from cloakwork.service.server.store import Store

_T = TypeVar("_T")
_DOTS_PER_INCH = 120
_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


class Explained:
    """Answers what the operator's programs do, each found out once.

    Args:
        store: Where the programs are.
        own: Those of users, who have them and can explain them themselves.
        shows_plans: Whether users see how programs are planned.
    """

    def __init__(self, store: Store, own: OwnPrograms, *, shows_plans: bool) -> None:
        self._store, self._own, self._shows_plans = store, own, shows_plans
        self._told: dict[str, dict[str, Any]] = {}
        self._plots: dict[str, bytes] = {}
        # It takes a while, and Matplotlib draws one thing at a time.
        self._at_work = asyncio.Lock()

    async def explanation(self, request: Request, user: str) -> Response:
        """What a run of a program takes, and its plan as text where users see it."""
        told = await self._once(request, user, self._told, _told_of)
        plan = {} if self._shows_plans else {"text": None}
        return JSONResponse({**told, **plan}, headers=_HEADERS)

    async def plot(self, request: Request, user: str) -> Response:
        """The plan of a program as a picture."""
        if not self._shows_plans:
            raise NotServedError(
                "cannot plot: expected a server whose operator shows plans, got one that was not "
                "started with --show-plans; ask the operator"
            )
        drawn = await self._once(request, user, self._plots, _drawn)
        return Response(drawn, headers=_HEADERS, media_type=PNG)

    async def _once(
        self, request: Request, user: str, known: dict[str, _T], make: Callable[[Program], _T]
    ) -> _T:
        name = request.path_params["name"]
        # Whoever puts a program may not have the server spend its time on it.
        if await self._own.served(user, name) != name:
            raise NotServedError(
                f"cannot explain {name}: expected a program of the operator's, got one that you "
                "put; call cw.explain where you have it"
            )
        program = self._store.program(name)
        async with self._at_work:
            if name not in known:
                known[name] = await asyncio.to_thread(make, program)
        return known[name]


def _told_of(program: Program) -> dict[str, Any]:
    found, takes = estimate(program), Prediction.of(program)
    return {
        "text": explain(program),
        "operations": dict(found.operations),
        "seconds": found.seconds,
        "run_bytes": takes.run_bytes,
        "key_bytes": found.key_bytes,
        "input_bytes": found.input_bytes,
        "output_bytes": found.output_bytes,
        "log2_failure": found.log2_failure if math.isfinite(found.log2_failure) else None,
    }


def _drawn(program: Program) -> bytes:
    held = io.BytesIO()
    plot(program).savefig(held, format="png", dpi=_DOTS_PER_INCH)
    return held.getvalue()
