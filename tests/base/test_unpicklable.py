"""Keys and ciphertexts refuse to be pickled, and tell how they are saved."""

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

import cloakwork as cw
from cloakwork.errors import NotPicklableError


@cw.circuit(a=cw.scalar())
def square(a: Any) -> Any:
    return a * a


def holders() -> Iterator[tuple[Any, str]]:
    """Parties and ciphertexts, each with the function that saves it."""
    session = cw.Session(depth=1, log_n=10, insecure=True)
    yield session.client, "cw.save_client"
    yield session.evaluator, "cw.save_evaluator"
    bits, bits_evaluator = cw.boolean.from_bristol("examples/boolean/adder.txt").keygen()
    yield bits, "cw.boolean.save_client"
    yield bits_evaluator, "cw.boolean.save_evaluator"
    yield bits.encrypt(x0=1, x1=2), "cw.boolean.save_bits"
    integers, integers_evaluator = square.compile(bits=8).keygen()
    yield integers, "cw.integers.save_client"
    yield integers_evaluator, "cw.integers.save_evaluator"
    yield integers.encrypt(a=1), "cw.integers.save_integers"


def test_what_holds_keys_or_ciphertexts_tells_how_it_is_saved() -> None:
    for holder, function in holders():
        told = f"cannot pickle or copy {type(holder).__name__}; save it by {function}$"
        for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(NotPicklableError, match=told):
                attempt(holder)
        *folders, name = function.split(".")[1:]
        place: Any = cw
        for folder in folders:
            place = getattr(place, folder)
        assert callable(getattr(place, name))
