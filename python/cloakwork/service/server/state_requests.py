"""What a server answers of states: which there are, and how they are made, reset and removed."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from cloakwork.errors import KeyMismatchError, ProgramMismatchError
from cloakwork.runtime.program import Program
from cloakwork.runtime.state import EncryptedState
from cloakwork.service.hashes import first_version
from cloakwork.service.server.bodies import body_of
from cloakwork.service.server.jobs import Jobs
from cloakwork.service.server.own_programs import OwnPrograms
from cloakwork.service.server.runs import Runs
from cloakwork.service.server.states import Owner, StoredState


class StateRequests:
    """Answers what is asked of states.

    Args:
        jobs: Where they are.
        own: The programs that users see.
        runs: Ends the step of a state that is reset or removed.
        most_bytes: What the states of one user may take.
    """

    def __init__(self, jobs: Jobs, own: OwnPrograms, runs: Runs, most_bytes: int) -> None:
        self._jobs, self._own, self._runs, self._most = jobs, own, runs, most_bytes

    async def listed(self, request: Request, user: str) -> Response:
        """The states of a key and a program."""
        program = await self._own.program(user, request.path_params["name"])
        found = self._jobs.states.of(_owner(request, user, program))
        return JSONResponse({"states": [_told(each) for each in found]})

    async def put(self, request: Request, user: str) -> Response:
        """Keep a state, or put it in the place of another."""
        program = await self._own.program(user, request.path_params["name"])
        owner = _owner(request, user, program)
        data = await body_of(request, self._most, "a state")
        given = await asyncio.to_thread(EncryptedState.from_bytes, data)
        _require_own(given, program, owner.key_id)
        origin = request.headers.get("cloakwork-origin", "")
        name = request.path_params["state"]
        if "if-none-match" in request.headers:
            self._jobs.states.require_new(owner, name, origin)
        if not self._jobs.states.has_room(owner, name, len(data), self._most):
            seen = await self._own.seen(user)
            self._jobs.states.remove_unserved(user, {each.fingerprint for each in seen.values()})
        await self._end_steps(owner, name, but=origin)
        made = StoredState(name, first_version(origin, data), given.step, origin)
        kept = self._jobs.states.put(owner, made, data, most=self._most)
        return JSONResponse(_told(kept))

    async def remove(self, request: Request, user: str) -> Response:
        """Remove a state."""
        program = await self._own.program(user, request.path_params["name"])
        owner, name = _owner(request, user, program), request.path_params["state"]
        await self._end_steps(owner, name, but="")
        self._jobs.states.remove(owner, name)
        return Response(status_code=204)

    async def _end_steps(self, owner: Owner, name: str, but: str) -> None:
        """End the step of a state that is not of an origin; none is taken on afterwards."""
        while True:
            found = [each for each in self._jobs.states.of(owner) if each.name == name]
            pending = found[0].pending if found and found[0].origin != but else None
            job = None if pending is None else self._jobs.find(owner.user, pending)
            if job is None or job.is_over:
                return
            await self._runs.cancel(job)


def _owner(request: Request, user: str, program: Program) -> Owner:
    return Owner(user, request.query_params.get("key_id", ""), program.fingerprint)


def _told(state: StoredState) -> dict[str, Any]:
    return {"name": state.name, "version": state.version, "step": state.step}


def _require_own(given: EncryptedState, program: Program, key_id: str) -> None:
    """Refuse a state of another program or key."""
    if given.program != program.fingerprint:
        raise ProgramMismatchError(
            f"cannot keep a state of {program.name}: expected one that was started for it, got one "
            "of another program or of another version of it; start it with its interface as it is "
            "now"
        )
    if given.key_id.hex() != key_id:
        raise KeyMismatchError(
            f"cannot keep a state of {program.name}: expected one of the key that it is kept "
            "under, got one of another; start it by the client whose evaluator this is"
        )
