"""Many clients that each ask for one small job after the other."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np

import cloakwork as cw
from benchmarks.service.programs import SMALL
from benchmarks.service.served import Served
from cloakwork.service.run_inputs import RunInputs

_NAME = "small"
_WAIT = {"wait-seconds": "20"}
# Of the results, each so-many-th is decrypted.
_CHECKED = 50
# Of the whole time, before which memory may grow.
_WARM = 0.2


@dataclass(slots=True)
class Load:
    """What was found.

    Args:
        clients: How many there were.
        seconds: How long they asked.
        answered: Seconds from when each job was asked for to its results.
        refusals: How many there were by their names.
        wrong: Answers that no server should give, and results that are off.
        memory: What the server took, by the seconds since the start.
        alone: Runs a second in one process, before and after.
        alone_cpu: Milliseconds of a processor's time that each of these took.
        cpu: What each job took of the server, its workers and the clients.
    """

    clients: int
    seconds: float
    answered: list[float] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    memory: list[tuple[float, int]] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)
    alone_cpu: list[float] = field(default_factory=list)
    cpu: dict[str, float] = field(default_factory=dict)

    @property
    def throughput(self) -> float:
        """Jobs a second."""
        return len(self.answered) / self.seconds

    @property
    def share(self) -> float:
        """The throughput as a part of that of one process."""
        return self.throughput / float(np.mean(self.alone))

    @property
    def growth(self) -> float:
        """How much more memory the server takes at the end than after a fifth of the time."""
        warm = [taken for second, taken in self.memory if second > _WARM * self.seconds]
        third = max(1, len(warm) // 3)
        return float(np.median(warm[-third:]) / np.median(warm[:third])) - 1


def measured(served: Served, clients: int, seconds: float) -> Load:
    """Let clients ask as fast as they are answered.

    Args:
        served: The server.
        clients: How many.
        seconds: How long.
    """
    found = Load(clients, seconds)
    with cw.connect(served.url, insecure=True) as server:
        interface = server.interface(_NAME)
        holders = [interface.client() for _ in range(clients)]
        asked = [(each, server.evaluator(_NAME, each)._evaluator.keys) for each in holders]
    _run_alone(found)
    before = {**served.cpu_seconds, "clients": time.process_time()}
    asyncio.run(_all(served, asked, found))
    after = {**served.cpu_seconds, "clients": time.process_time()}
    found.cpu = {name: 1000 * (after[name] - before[name]) / len(found.answered) for name in before}
    _run_alone(found)
    return found


def _run_alone(found: Load) -> None:
    """Run inputs in this process."""
    own, evaluator = SMALL.compiled().keygen()
    inputs = [own.encrypt(np.full(SMALL.size, number / 50)) for number in range(50)]
    evaluator.run(inputs[0])
    begin, begin_cpu, count = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - begin < 5:
        evaluator.run(inputs[count % len(inputs)])
        count += 1
    found.alone.append(count / (time.perf_counter() - begin))
    found.alone_cpu.append(1000 * (time.process_time() - begin_cpu) / count)


async def _all(served: Served, asked: Sequence[tuple[Any, str]], found: Load) -> None:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=served.url, timeout=120, limits=limits) as connection:
        begin = time.perf_counter()
        tasks = [
            asyncio.create_task(_one(connection, client, keys, number, begin, found))
            for number, (client, keys) in enumerate(asked)
        ]
        while time.perf_counter() - begin < found.seconds:
            found.memory.append((time.perf_counter() - begin, served.memory_bytes))
            await asyncio.sleep(1)
        await asyncio.gather(*tasks)


async def _one(
    connection: httpx.AsyncClient, client: Any, keys: str, number: int, begin: float, found: Load
) -> None:
    """Ask for one job after the other."""
    draw = np.random.default_rng(number)
    while time.perf_counter() - begin < found.seconds:
        x = draw.uniform(-1, 1, SMALL.size)
        given = RunInputs.of(client.program, client.encrypt(x)).to_bytes()
        start = time.perf_counter()
        try:
            answer = await connection.post(
                f"/v1/programs/{_NAME}/jobs", params={"keys": keys}, content=given, headers=_WAIT
            )
        except httpx.TransportError as error:
            found.wrong.append(f"{type(error).__name__} of a request")
            continue
        if not _is_accepted(answer, found):
            await asyncio.sleep(1)
            continue
        try:
            while answer.status_code == httpx.codes.ACCEPTED:
                answer = await connection.get(answer.headers["location"], headers=_WAIT)
        except httpx.TransportError as error:
            found.wrong.append(f"{type(error).__name__} of a job")
            continue
        if answer.status_code != httpx.codes.OK:
            found.wrong.append(f"{answer.status_code} of a job")
        elif time.perf_counter() - begin < found.seconds:
            found.answered.append(time.perf_counter() - start)
            if len(found.answered) % _CHECKED == 0:
                result = client.decrypt(cw.Encrypted.from_bytes(answer.content))
                if not SMALL.is_right(result, x):
                    found.wrong.append("a result")


def _is_accepted(answer: httpx.Response, found: Load) -> bool:
    if answer.is_success:
        return True
    if answer.headers.get("content-type") == "application/problem+json":
        found.refusals[answer.json()["type"]] += 1
    else:
        found.wrong.append(f"{answer.status_code} of a request")
    return False
