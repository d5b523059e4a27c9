"""Hypothesis: the same examples in every run, or others by `--hypothesis-profile=random`.

Files of tests that took long in the last run go first, so that no core waits at the end for one.
"""

from __future__ import annotations

import gc
import signal
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from cloakwork.schemes.tfhe import Tfhe
from tests.keys_of_bits import KeysInTurn
from tests.thoroughness import part

settings.register_profile("random", deadline=None, max_examples=part(100))
settings.register_profile("repeatable", parent=settings.get_profile("random"), derandomize=True)
settings.load_profile("repeatable")

_KEPT = "cloakwork/seconds of files"


def _cache(config: pytest.Config) -> pytest.Cache | None:
    """Where pytest keeps what it knows; None where its plugin is switched off."""
    return getattr(config, "cache", None)


class _Seconds:
    """What each file took, of this run and of those before it."""

    def __init__(self, config: pytest.Config) -> None:
        self._cache = _cache(config)
        self._now: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add what a part of a test took."""
        self._now[report.nodeid.partition("::")[0]] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Keep it for the next run."""
        if self._cache is not None:
            self._cache.set(_KEPT, self._cache.get(_KEPT, {}) | self._now)


def pytest_configure(config: pytest.Config) -> None:
    """Watch what files take, in the process that hears of all of them; hear interrupts."""
    # What a shell starts in the background ignores them, and so would the callers that tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Seconds(config))


def pytest_collection_finish() -> None:
    """Leave what is loaded alone from here on: tests that count memory collect garbage often."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the files first that take longest."""
    cache = _cache(config)
    kept = {} if cache is None else cache.get(_KEPT, {})
    items.sort(key=lambda item: -kept.get(item.nodeid.partition("::")[0], 0))


@pytest.fixture(scope="session", autouse=True)
def keys_of_bits() -> Iterator[KeysInTurn]:
    """Keys of bits, which the tests of a process share."""
    keys = KeysInTurn()

    def secret_key(scheme: Tfhe) -> Any:
        return keys.secret_key(scheme)

    def evaluation_keys(scheme: Tfhe, secret: Any, body: Any) -> Any:
        return keys.evaluation_keys(scheme, secret, body)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tfhe, "secret_key", secret_key)
        patch.setattr(Tfhe, "evaluation_keys", evaluation_keys)
        yield keys


@pytest.fixture(autouse=True)
def _begin_with_the_first_key(keys_of_bits: KeysInTurn) -> None:
    keys_of_bits.begin()
