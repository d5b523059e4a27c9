"""Many jobs of one client at once, in asyncio, and one in trio."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import anyio
import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import NotServedError, RunCancelledError, ServerUnreachableError
from cloakwork.service.client.asynchronous import AsyncServer
from tests.service.serving import Serving, put


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("awaited")
    put(folder, norm=cw.compile(lambda x: x @ x, (16,), log_n=9, insecure=True))
    made = Serving(folder)
    yield made
    made.stop()


def _connected(serving: Serving) -> AsyncServer:
    return cw.aconnect(f"http://127.0.0.1:{serving.port}", insecure=True)


def test_fifty_jobs_at_once_have_each_its_own_results(serving: Serving) -> None:
    count = 50

    async def found() -> list[float]:
        async with _connected(serving) as server:
            assert server.programs == ("norm",)
            client = (await server.interface("norm")).client()
            evaluator = await server.evaluator("norm", client)
            sent = [client.encrypt(np.full(16, number / count)) for number in range(count)]
            results = await asyncio.gather(*(evaluator.run(each) for each in sent))
            return [float(client.decrypt(each)) for each in results]

    expected = [16 * (number / count) ** 2 for number in range(count)]
    np.testing.assert_allclose(asyncio.run(found()), expected, atol=2.0**-8)


def test_trio_runs_it_as_well(serving: Serving) -> None:
    pytest.importorskip("trio")

    async def found() -> float:
        async with _connected(serving) as server:
            client = (await server.interface("norm")).client()
            evaluator = await server.evaluator("norm", client)
            return float(client.decrypt(await evaluator.run(client.encrypt(np.ones(16)))))

    assert abs(anyio.run(found, backend="trio") - 16) < 2.0**-8


def test_a_cancelled_task_ends_nothing_on_the_server(serving: Serving) -> None:
    async def found() -> tuple[str, str, float]:
        async with _connected(serving) as server:
            client = (await server.interface("norm")).client()
            evaluator = await server.evaluator("norm", client)
            sent = client.encrypt(np.ones(16))
            job = await evaluator.submit(sent)
            task = asyncio.create_task(job.results())
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            again = await evaluator.submit(sent)
            results = await again.results()
            assert again.receipt is not None
            return job.name, again.name, float(client.decrypt(results))

    first, second, value = asyncio.run(found())
    assert first == second
    assert value == pytest.approx(16, abs=2.0**-8)


def test_a_job_is_cancelled_where_that_is_asked_for(serving: Serving) -> None:
    async def found() -> None:
        async with _connected(serving) as server:
            client = (await server.interface("norm")).client()
            evaluator = await server.evaluator("norm", client)
            job = await evaluator.submit(client.encrypt(np.ones(16)))
            await job.cancel()
            await job.results()

    with pytest.raises(RunCancelledError):
        asyncio.run(found())


def test_refusals_are_those_of_callers_that_wait(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unknown() -> None:
        async with _connected(serving) as server:
            await server.interface("nothing")

    async def nowhere() -> None:
        async with cw.aconnect("http://127.0.0.1:9"):
            pass

    with pytest.raises(NotServedError, match="no such program"):
        asyncio.run(unknown())
    pauses: list[float] = []

    async def paused(_: object, seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("cloakwork.service.client.connection.Awaited.pause", paused)
    with pytest.raises(ServerUnreachableError, match="see whether it is there"):
        asyncio.run(nowhere())
    assert pauses == [0.25, 0.5, 1.0, 2.0, 4.0]


def test_the_event_loop_goes_on_while_keys_are_made(serving: Serving) -> None:
    async def turns() -> int:
        count = 0

        async def counting() -> None:
            nonlocal count
            while True:
                count += 1
                await asyncio.sleep(0)

        async with _connected(serving) as server:
            client = (await server.interface("norm")).client()
            counter = asyncio.create_task(counting())
            await server.connection.aside(client.evaluation_keys)
            counter.cancel()
        return count

    assert asyncio.run(turns()) > 1
