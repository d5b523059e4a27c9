"""Keys refuse to be pickled and tell how they are saved; programs and ciphertexts are pickled."""

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import cloakwork as cw
from cloakwork.errors import NotPicklableError


@cw.circuit(a=cw.scalar())
def square(a: Any) -> Any:
    return a * a


def programs() -> Iterator[cw.Program]:
    """A program of every family that is quickly made."""
    yield cw.compile(lambda a: a * a, (3,), log_n=10, insecure=True, public_inputs=True)
    yield square.compile(bits=8, public_inputs=True)
    yield cw.boolean.from_bristol("examples/boolean/adder.txt").compile(threads=1)


@pytest.fixture(scope="module")
def holders() -> list[Any]:
    """All that holds keys."""
    session = cw.Session(depth=1, log_n=10, insecure=True)
    found: list[Any] = [session, session.evaluator()]
    for program in programs():
        client, evaluator = program.keygen()
        found += [client, evaluator, client.public_key()]
    return found


@pytest.mark.parametrize("attempt", [pickle.dumps, copy.copy, copy.deepcopy])
def test_what_holds_keys_tells_how_it_is_saved(
    attempt: Callable[[Any], Any], holders: list[Any]
) -> None:
    for holder in holders:
        told = f"cannot pickle or copy {type(holder).__name__}; save it by its method save$"
        with pytest.raises(NotPicklableError, match=told):
            attempt(holder)
        assert callable(holder.save)
