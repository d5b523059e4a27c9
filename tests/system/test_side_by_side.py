"""Eight threads that share one evaluator, one session, one program that works in the clear."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.runtime.slot_runner import SlotRunner
from tests.families import ENCRYPTED, FAMILIES, Family

T = TypeVar("T")
THREADS = 8


@pytest.fixture(autouse=True)
def _switching_often() -> Iterator[None]:
    """With an interpreter lock threads switch where they would run beside each other without."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[int], T]) -> list[T]:
    """What as many threads make that begin at the same time."""
    begin = threading.Barrier(THREADS)

    def one(thread: int) -> T:
        begin.wait()
        return work(thread)

    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(one, range(THREADS)))


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_a_fresh_evaluator_serves_eight_threads(family: Family) -> None:
    client, evaluator = family.program.keygen()
    sent = client.encrypt(**family.arguments)
    for made in at_once(lambda _: evaluator.run(sent)):
        assert family.is_right(client.decrypt(made))


@pytest.mark.parametrize("family", ENCRYPTED, ids=str)
def test_a_client_encrypts_and_decrypts_on_eight_threads(family: Family) -> None:
    client, evaluator = family.keys()

    def one(_: int) -> Any:
        return client.decrypt(evaluator.run(client.encrypt(**family.arguments)))

    for found in at_once(one):
        assert family.is_right(found)


def test_keys_that_threads_ask_for_at_once_are_all_there() -> None:
    session = cw.Session(depth=2, insecure=True, log_n=11)
    x = np.linspace(-1, 1, 32)
    # Numpy's own types know of arrays alone.
    tensor: Any = session.encrypt(x)
    # Each thread rolls by steps of its own, for which the session lacks a key.
    found = at_once(lambda thread: session.decrypt(np.roll(tensor, thread + 1) * tensor))
    for thread, made in enumerate(found):
        np.testing.assert_allclose(made, np.roll(x, thread + 1) * x, atol=2**-15)


def test_what_programs_run_on_is_made_once() -> None:
    made = []

    class Slow:
        def backend(self, *_: Any, **__: Any) -> object:
            made.append(object())
            time.sleep(0.05)
            return made[-1]

    runner = SlotRunner(scheme=Slow(), key=None)
    backends = at_once(lambda _: runner.backend())
    assert len(made) == 1
    assert all(each is made[0] for each in backends)


def test_each_thread_gets_the_errors_of_its_own_seed() -> None:
    program = cw.compile(lambda x: x * x, (4,), log_n=11, insecure=True)
    alone = [program.simulate([0.5] * 4, seed=seed).outputs for seed in range(THREADS)]
    for found, expected in zip(
        at_once(lambda seed: program.simulate([0.5] * 4, seed=seed).outputs), alone, strict=True
    ):
        np.testing.assert_array_equal(found, expected)
