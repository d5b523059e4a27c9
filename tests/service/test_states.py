"""States that a server keeps: each step once, in order, whenever the server is killed."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    CloakworkError,
    InvalidArgumentError,
    KeyMismatchError,
    NotReplaceableError,
    NotServedError,
    ProgramMismatchError,
    QuotaError,
    RunCancelledError,
    StepMismatchError,
    StepsSpentError,
)
from cloakwork.service.client.kept_state import KeptState
from cloakwork.service.client.remote import RemoteEvaluator, Server
from cloakwork.service.hashes import first_version
from cloakwork.service.server.access import new_token
from cloakwork.service.server.jobs import Jobs
from cloakwork.service.server.predicted import Prediction
from cloakwork.service.server.states import Owner, StoredState
from tests.runtime.test_state import counter
from tests.service.serving import Serving, put
from tests.thoroughness import ALL

RING: dict[str, Any] = {"log_n": 10, "insecure": True}
STEPS = 40


def _step(total: Any, x: Any) -> Any:
    return total + x, 2 * total - x


SUMS = cw.compile(_step, cw.state((4,), 0.5, bound=STEPS + 1, steps=STEPS), (4,), **RING)
ONCE = cw.compile(lambda t, x: t + x, cw.state((4,), bound=2, steps=1), (4,), **RING)


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("states")
    count = cw.compile(lambda count: count + 1, cw.state((2,), bound=9, steps=8), **RING)
    switch = counter(2).compile(threads=1, state={"count": "next"})
    plain = cw.compile(lambda x: x, (4,), **RING)
    put(folder, sums=SUMS, once=ONCE, plain=plain, count=count, counter=switch)
    for user in ("ada", "bob"):
        token = new_token(folder / "tokens", user, datetime(2100, 1, 1, tzinfo=UTC))
        (folder / user).write_text(token)
    made = Serving(folder, "--token-file", str(folder / "tokens"), "--workers", "2")
    yield made
    made.stop()


@pytest.fixture(scope="module")
def server(serving: Serving) -> Server:
    return _as(serving, "ada")


def _as(serving: Serving, user: str) -> Server:
    return serving.connect(token=(serving.folder / user).read_text())


def _pair(server: Server, name: str = "sums") -> tuple[cw.Client, RemoteEvaluator]:
    client = server.interface(name).client()
    return client, server.evaluator(name, client)


def test_steps_are_those_of_an_evaluator_that_is_here(server: Server) -> None:
    client, there = _pair(server)
    here = SUMS.evaluator(client.evaluation_keys())
    initial = client.start()
    kept = there.start("meter", initial)
    local = cw.EncryptedState.from_bytes(initial.to_bytes())
    rng = np.random.default_rng(0)
    for number in range(5):
        x = rng.uniform(-1, 1, 4)
        sent = client.encrypt(x=x)
        expected = here.run(sent, state=local, step=number)
        found = there.run(sent, state=kept, step=number)
        assert found.to_bytes() == expected.to_bytes()
        assert kept.step == number + 1
    assert there.states() == (kept,)
    with pytest.raises(StepMismatchError, match="the state of step 9, got that of step 5"):
        there.run(sent, state=kept, step=9)
    there.reset(kept, client.start())
    assert kept.step == 0
    assert np.abs(client.decrypt(there.run(sent, state=kept))[0] - 0.5 - x).max() < 2.0**-15
    there.remove(kept)
    assert there.states() == ()
    with pytest.raises(NotServedError, match="there is none of the name"):
        there.run(client.encrypt(x=np.ones(4)), state=kept)


def test_a_state_may_be_all_that_is_encrypted(server: Server) -> None:
    client, there = _pair(server, "count")
    kept = there.start("meter", client.start())
    given: list[Any] = [[], client.encrypt(), []]
    for number, sent in enumerate(given):
        found = client.decrypt(there.run(sent, state=kept, step=number))
        assert np.abs(found - (number + 1)).max() < 2.0**-12
    assert there.states()[0].step == 3


def test_steps_over_bits_take_inputs_in_the_clear(server: Server) -> None:
    client, there = _pair(server, "counter")
    kept = there.start("meter", client.start())
    for number, x in enumerate((1, 0, 1)):
        found = client.decrypt(there.run([], {"x": x}, state=kept, step=number))
        assert found == {"next": sum((1, 0, 1)[: number + 1])}


def test_a_step_that_is_sent_twice_is_one_step(server: Server) -> None:
    client, there = _pair(server)
    kept = there.start("meter", client.start())
    before, sent = KeptState(kept.name, kept.step, kept.version), client.encrypt(x=np.ones(4))
    first = there.run(sent, state=kept)
    again = there.run(sent, state=before)
    assert again.to_bytes() == first.to_bytes()
    assert before == kept == there.states()[0]
    assert kept.step == 1
    stale = KeptState(kept.name, 0, first_version("0" * 64, b""))
    with pytest.raises(StepMismatchError, match="the version before its step 2"):
        there.run(sent, state=stale)


def test_one_step_is_taken_at_a_time(server: Server) -> None:
    client, there = _pair(server)
    kept = there.start("meter", client.start())
    before = KeptState(kept.name, kept.step, kept.version)
    job = there.submit(client.encrypt(x=np.ones(4)), state=kept)
    with pytest.raises(StepMismatchError, match=r"no other step at|before its step 2"):
        there.run(client.encrypt(x=np.zeros(4)), state=before)
    assert job.results().role == "outputs"
    assert job.results().role == "outputs"
    assert kept.step == there.states()[0].step == 1


def test_a_step_that_fails_leaves_the_state(server: Server) -> None:
    client, there = _pair(server, "once")
    kept = there.start("meter", client.start())
    stranger = server.interface("once").client()
    with pytest.raises(KeyMismatchError):
        there.run(stranger.encrypt(x=np.ones(4)), state=kept)
    assert there.states() == (KeptState("meter", 0, kept.version),)
    assert abs(client.decrypt(there.run(client.encrypt(x=np.ones(4)), state=kept)) - 1).max() < 1e-4
    with pytest.raises(StepsSpentError):
        there.run(client.encrypt(x=np.ones(4)), state=kept)
    assert there.states()[0].step == 1


def test_nobody_sees_the_states_of_another_user_key_or_program(serving: Serving) -> None:
    ada, bob = _as(serving, "ada"), _as(serving, "bob")
    client, own = _pair(ada)
    kept = own.start("meter", client.start())
    _, others = _pair(ada)
    beside = bob.evaluator("sums", client)
    for each in (others, beside):
        assert each.states() == ()
        with pytest.raises(NotServedError):
            each.run(client.encrypt(x=np.ones(4)), state=kept)
        each.remove(kept)
    assert own.states() == (kept,)
    assert beside.start("meter", client.start()).step == 0
    assert own.states() == (kept,)


def test_wrong_use_is_named(server: Server) -> None:
    client, there = _pair(server)
    kept = there.start("meter", client.start())
    other, once = _pair(server, "once")
    plain = server.interface("plain").client()
    sent, first, known = client.encrypt(x=np.ones(4)), client.start(), cast("Any", "meter")
    attempts: list[tuple[type[CloakworkError], Any, str]] = [
        (NotReplaceableError, lambda: there.start("meter", client.start()), "of step 0"),
        (InvalidArgumentError, lambda: there.start("a b", client.start()), "letters, digits"),
        (InvalidArgumentError, lambda: there.start("../a", client.start()), "letters, digits"),
        (
            InvalidArgumentError,
            lambda: there.start("a", cast("Any", sent)),
            r"what start\(\) of the client",
        ),
        (InvalidArgumentError, lambda: there.remove(known), "started or lists"),
        (InvalidArgumentError, lambda: there.run(sent), r"the state that start\(\)"),
        (
            InvalidArgumentError,
            lambda: there.run(sent, state=cast("Any", first)),
            "give it by state=",
        ),
        (ProgramMismatchError, lambda: there.start("a", other.start()), "started for it"),
        (KeyMismatchError, lambda: there.start("a", _stranger(server).start()), "of another"),
        (
            InvalidArgumentError,
            lambda: server.evaluator("plain", plain).run(plain.encrypt(np.ones(4)), state=kept),
            "expected no state",
        ),
        (NotServedError, lambda: once.run(other.encrypt(x=np.ones(4)), state=kept), "none of the"),
    ]
    for error, attempt, words in attempts:
        with pytest.raises(error, match=words):
            attempt()
    assert there.states() == (kept,)


def _stranger(server: Server) -> cw.Client:
    return server.interface("sums").client()


def test_steps_may_be_awaited(serving: Serving) -> None:
    async def steps() -> int:
        token = (serving.folder / "bob").read_text()
        url = f"http://127.0.0.1:{serving.port}"
        async with cw.aconnect(url, token=token, insecure=True) as server:
            client = (await server.interface("sums")).client()
            evaluator = await server.evaluator("sums", client)
            kept = await evaluator.start("meter", client.start())
            for _ in range(2):
                await evaluator.run(client.encrypt(x=np.ones(4)), state=kept)
            await evaluator.reset(kept, client.start())
            await evaluator.run(client.encrypt(x=np.ones(4)), state=kept)
            found = (await evaluator.states())[0].step
            await evaluator.remove(kept)
            assert await evaluator.states() == ()
            return found

    assert asyncio.run(steps()) == 1


def test_a_reset_ends_the_step_that_runs(server: Server) -> None:
    client, there = _pair(server)
    kept = there.start("meter", client.start())
    job = there.submit(client.encrypt(x=np.ones(4)), state=kept)
    there.reset(kept, client.start())
    # It may have been over.
    with suppress(RunCancelledError):
        job.results()
    assert kept == there.states()[0]
    assert kept.step == 0
    found = client.decrypt(there.run(client.encrypt(x=np.ones(4)), state=kept))
    assert np.abs(found[0] - 1.5).max() < 2.0**-15


def test_a_server_that_is_killed_loses_no_step_and_applies_none_twice(tmp_path: Path) -> None:
    put(tmp_path, sums=SUMS)
    serving = Serving(tmp_path)
    draw, rng = random.Random(0), np.random.default_rng(0)
    count, kills = (STEPS, 30) if ALL else (3, 2)
    moments = set(draw.sample(range(count), kills))
    try:
        server = serving.connect()
        client, there = _pair(server)
        here = SUMS.evaluator(client.evaluation_keys())
        initial = client.start()
        local = cw.EncryptedState.from_bytes(initial.to_bytes())
        kept = there.start("meter", initial)
        total = np.full(4, 0.5)
        for number in range(count):
            x = rng.uniform(-1, 1, 4)
            sent = client.encrypt(x=x)
            expected = here.run(sent, state=local)
            job = there.submit(sent, state=kept)
            if number in moments:
                time.sleep(draw.uniform(0, 0.15))
                serving.kill()
                serving.start()
            # Who does not know how far it came sends it again.
            assert there.submit(sent, state=kept).name == job.name
            assert job.results().to_bytes() == expected.to_bytes()
            assert np.abs(client.decrypt(expected)[0] - total - x).max() < 2.0**-12
            total += x
            assert [each.step for each in there.states()] == [number + 1]
        files = [*(tmp_path / "states").glob("*/*")]
        assert [each.name for each in files] == [kept.version]
        assert files[0].read_bytes() == local.to_bytes()
    finally:
        serving.stop()


TAKES = Prediction(seconds=1.0, kept_bytes=1, run_bytes=1)
OWNER = Owner("ada", "key", "program")


def _stored(origin: str, step: int = 0, name: str = "meter") -> StoredState:
    return StoredState(name, first_version(origin, b"data"), step, origin)


def test_a_step_and_its_results_are_written_at_once(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path / "jobs", most=9)
    state = jobs.states.put(OWNER, _stored("a" * 64), b"data", most=100)
    job = jobs.accept("ada", "sums", "k", request="b" * 64, takes=TAKES)
    jobs.states.take(OWNER, "meter", state.version, job.name)
    files = jobs.states.files(job.name)
    assert files is not None
    assert files[0].read_bytes() == b"data"
    files[1].write_bytes(b"next")
    for name in ("advance", "clean"):
        with pytest.MonkeyPatch.context() as patch:
            # As if the process ended there.
            patch.setattr(jobs.states, name, _ended)
            with pytest.raises(KeyboardInterrupt):
                jobs.end(job, results="c" * 64)
        jobs = Jobs(tmp_path / "jobs", most=9)
        found, ended = jobs.states.find(OWNER, "meter"), jobs.find("ada", job.name)
        assert ended is not None
        # All of it is written, or nothing.
        is_done = name == "clean"
        assert (found.step, ended.is_over) == (int(is_done), is_done)
        assert jobs.states.files(job.name) == (None if is_done else files)
    assert (found.version, found.pending) == ("b" * 64, None)
    jobs.end(job, results="c" * 64)
    assert jobs.states.find(OWNER, "meter").step == 1
    # What is left of the version before goes with the next step.
    job = jobs.accept("ada", "sums", "k", request="d" * 64, takes=TAKES)
    jobs.states.take(OWNER, "meter", found.version, job.name)
    following = files[0].parent / ("d" * 64)
    following.write_bytes(b"after")
    jobs.end(job, results="c" * 64)
    assert [*files[0].parent.iterdir()] == [following]


def _ended(*_: object) -> None:
    raise KeyboardInterrupt


def test_states_count_against_their_users_bytes(tmp_path: Path) -> None:
    states = Jobs(tmp_path / "jobs", most=9).states
    made = states.put(OWNER, _stored("a" * 64), b"data", most=10)
    assert states.put(OWNER, _stored("a" * 64, step=3), b"data", most=10) == made
    states.put(OWNER, _stored("b" * 64), b"data", most=10)
    states.put(OWNER, _stored("c" * 64, name="second"), b"data", most=10)
    with pytest.raises(QuotaError, match="at most 10 bytes"):
        states.put(OWNER, _stored("d" * 64, name="third"), b"data", most=10)
    states.put(Owner("bob", "key", "program"), _stored("d" * 64, name="third"), b"data", most=10)
    assert [each.name for each in states.of(OWNER)] == ["meter", "second"]
    states.remove(OWNER, "second")
    states.put(OWNER, _stored("d" * 64, name="third"), b"data", most=10)
    states.remove_unserved("ada", {"program"})
    assert [each.name for each in states.of(OWNER)] == ["meter", "third"]
    assert not states.has_room(OWNER, "fourth", 4, most=10)
    states.remove_unserved("ada", {"another"})
    assert states.of(OWNER) == []
    assert states.has_room(OWNER, "fourth", 4, most=10)
    assert len(states.of(Owner("bob", "key", "program"))) == 1
