"""A few users who ask for jobs of all lengths: how long these take beside what was said."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np

import cloakwork as cw
from benchmarks.service.programs import MIXED
from benchmarks.service.served import Served
from cloakwork.service.run_inputs import RunInputs

_WAIT = {"wait-seconds": "20"}
# How often each program is asked for, and how many jobs a user asks for at once at the most.
_SHARES = {"short": 0.6, "medium": 0.3, "long": 0.1}
_MOST_AT_ONCE = 3


@dataclass(frozen=True, slots=True)
class Waited:
    """One job.

    Args:
        program: The name of its program.
        told: The seconds that the answer said.
        retry_after: Its header.
        took: The seconds that it was.
    """

    program: str
    told: float
    retry_after: int
    took: float

    @property
    def is_close(self) -> bool:
        """Whether it was within a factor of two."""
        return self.told <= 2 * self.took and self.took <= 2 * self.told

    @property
    def retries_in_time(self) -> bool:
        """The same of the header, in whole seconds."""
        whole = math.ceil(self.took)
        return self.retry_after <= 2 * whole and whole <= 2 * self.retry_after


def measured(served: Served, tokens: Sequence[str], seconds: float, pause: float) -> list[Waited]:
    """Let users ask for some jobs at random moments.

    Args:
        served: The server.
        tokens: Those of the users.
        seconds: How long.
        pause: How many seconds there are between a user's requests in the mean.
    """
    users = [_asked(served, token) for token in tokens]
    return asyncio.run(_all(served, users, seconds, pause))


@dataclass(frozen=True, slots=True)
class _User:
    token: str
    clients: Mapping[str, tuple[Any, str]]


def _asked(served: Served, token: str) -> _User:
    with cw.connect(served.url, token=token, insecure=True) as server:
        made = {name: server.interface(name).client() for name in MIXED}
        return _User(
            token,
            {
                name: (each, server.evaluator(name, each)._evaluator.keys)
                for name, each in made.items()
            },
        )


async def _all(
    served: Served, users: Sequence[_User], seconds: float, pause: float
) -> list[Waited]:
    limits = httpx.Limits(max_connections=None)
    found: list[Waited] = []
    async with httpx.AsyncClient(base_url=served.url, timeout=300, limits=limits) as connection:
        await asyncio.gather(
            *(
                _one(connection, user, number, seconds, pause, found)
                for number, user in enumerate(users)
            )
        )
    return found


async def _one(
    connection: httpx.AsyncClient,
    user: _User,
    number: int,
    seconds: float,
    pause: float,
    found: list[Waited],
) -> None:
    draw, jobs = np.random.default_rng(number), list[asyncio.Task[Waited]]()
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        await asyncio.sleep(draw.exponential(pause))
        for _ in range(draw.integers(1, _MOST_AT_ONCE + 1)):
            name = draw.choice([*_SHARES], p=[*_SHARES.values()])
            x = draw.uniform(-1, 1, MIXED[name].size)
            jobs.append(asyncio.create_task(_waited(connection, user, name, x)))
    found += await asyncio.gather(*jobs)


async def _waited(connection: httpx.AsyncClient, user: _User, name: str, x: Any) -> Waited:
    client, keys = user.clients[name]
    headers = {"authorization": f"Bearer {user.token}"}
    # Others go on meanwhile.
    sent = await asyncio.to_thread(client.encrypt, x)
    given = RunInputs.of(client.program, sent).to_bytes()
    answer = await connection.post(
        f"/v1/programs/{name}/jobs", params={"keys": keys}, content=given, headers=headers
    )
    begin, accepted = time.perf_counter(), answer
    while answer.status_code == httpx.codes.ACCEPTED:
        answer = await connection.get(answer.headers["location"], headers={**headers, **_WAIT})
    answer.raise_for_status()
    took = time.perf_counter() - begin
    told = float(accepted.json()["seconds"])
    return Waited(name, told, int(accepted.headers["retry-after"]), took)
