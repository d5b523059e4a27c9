"""What `cloakwork.explain` and `cloakwork.plot` say of a server's programs."""

from __future__ import annotations

import asyncio
import io
import math
from collections.abc import Callable
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from cloakwork.explain import explain, plot
from cloakwork.explain.estimate import estimate
from cloakwork.runtime.program import Program
from cloakwork.service.predicted import Prediction
from cloakwork.service.store import Store

_T = TypeVar("_T")
PNG = "image/png"
_DOTS_PER_INCH = 120
_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


class Explained:
    """Answers what programs do, each found out once.

    Args:
        store: Where the programs are.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._texts: dict[str, dict[str, Any]] = {}
        self._plots: dict[str, bytes] = {}
        # It takes a while, and Matplotlib draws one thing at a time.
        self._at_work = asyncio.Lock()

    async def explanation(self, request: Request, _user: str) -> Response:
        """The plan of a program as text, and what a run takes."""
        return JSONResponse(await self._once(request, self._texts, _told_of), headers=_HEADERS)

    async def plot(self, request: Request, _user: str) -> Response:
        """The plan of a program as a picture."""
        drawn = await self._once(request, self._plots, _drawn)
        return Response(drawn, headers=_HEADERS, media_type=PNG)

    async def _once(
        self, request: Request, known: dict[str, _T], make: Callable[[Program], _T]
    ) -> _T:
        name = request.path_params["name"]
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
