"""What a server answers of programs: which there are, what clients need, and what users put."""

from __future__ import annotations

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from cloakwork.service.server.bodies import body_of
from cloakwork.service.server.openapi import BYTES
from cloakwork.service.server.own_programs import OwnPrograms
from cloakwork.service.server.store import Store


class ProgramRequests:
    """Answers what is asked of programs.

    Args:
        store: Where programs are.
        own: Those of users.
        signer: The public key by which the server signs, in hexadecimal digits.
        most_bytes: What the programs of one user may take.
    """

    def __init__(self, store: Store, own: OwnPrograms, signer: str, most_bytes: int) -> None:
        self._store, self._own, self._signer, self._most = store, own, signer, most_bytes

    async def listed(self, _request: Request, user: str) -> Response:
        """The operator's programs and the user's own, and why others are not served."""
        seen = await self._own.seen(user)
        told = [
            {"name": name, "fingerprint": program.fingerprint, "warning": program.warning}
            for name, program in sorted(seen.items())
        ]
        unserved = [
            {"name": name, **asdict(why)}
            for name, why in sorted((await self._own.unserved(user)).items())
        ]
        return JSONResponse({"programs": told, "unserved": unserved, "signer": self._signer})

    async def interface(self, request: Request, user: str) -> Response:
        """What a client needs of a program."""
        name = await self._own.served(user, request.path_params["name"])
        self._store.program(name)
        return Response(self._store.interfaces[name], media_type=BYTES)

    async def put(self, request: Request, user: str) -> Response:
        """Keep a program of a user."""
        data = await body_of(request, self._most, "a program")
        await self._own.put(user, request.path_params["name"], data)
        return Response(status_code=204)

    async def remove(self, request: Request, user: str) -> Response:
        """Remove a program of a user."""
        self._own.remove(user, request.path_params["name"])
        return Response(status_code=204)
