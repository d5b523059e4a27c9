"""Values between grains: bytes of the engine's own, moved as they are, read where they arrive."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import pytest
from distributed.protocol.serialize import deserialize, serialize

from cloakwork.cluster.forms import form_of
from cloakwork.cluster.moved import Moved, Receipt
from cloakwork.errors import MalformedBytesError, NotPicklableError
from tests.families import ENCRYPTED, TENSORS, Family

RECEIPT = Receipt(1.0, (), 0)
every_family = pytest.mark.parametrize("family", ENCRYPTED, ids=str)


def moved(family: Family) -> Moved:
    """The inputs of a family's program."""
    _, evaluator = family.keys()
    (given,) = evaluator._values(family.encrypted(), "inputs", "test")
    form = form_of(family.program)
    values: dict[int, Any] = {}
    for number, value in given.items():
        values.update(form.opened(number, value))
    return Moved(values, family.program.scheme, RECEIPT)


def arrived(made: Moved) -> Moved:
    """The values as another process gets them."""
    again: Moved = pickle.loads(pickle.dumps(made, protocol=5))
    return again


def dumped(made: Moved, family: Family) -> dict[int, Any]:
    """The values as records."""
    form = form_of(family.program)
    return {number: form.scheme.dump(value) for number, value in made.values(form).items()}


@every_family
def test_values_arrive_as_they_were(family: Family) -> None:
    made = moved(family)
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(made, protocol=5, buffer_callback=buffers.append)
    again = pickle.loads(data, buffers=buffers)
    assert dumped(again, family) == dumped(made, family)
    assert again.receipt == RECEIPT


@every_family
def test_bytes_of_ciphertexts_are_not_copied_into_the_message(family: Family) -> None:
    client, evaluator = family.keys()
    # Inputs are shorter as bytes: of their uniform halves these have the seeds.
    (values,) = client._values(evaluator.run(family.encrypted()), "outputs", "test")
    made = Moved(values, family.program.scheme, RECEIPT)
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(made, protocol=5, buffer_callback=buffers.append)
    total = sum(buffer.raw().nbytes for buffer in buffers)
    # A record says beside the polynomials what they are.
    assert total == pytest.approx(sys.getsizeof(made), rel=0.05)
    assert len(data) < 200 * (len(buffers) + 20)


@every_family
def test_dask_moves_them(family: Family) -> None:
    made = moved(family)
    take: Any = deserialize
    give: Any = serialize
    again = take(*give(made))
    assert dumped(again, family) == dumped(made, family)


@every_family
def test_some_of_them_are_sent(family: Family) -> None:
    made = moved(family)
    first = min(made.values(form_of(family.program)))
    for each in (made, arrived(made)):
        one = arrived(each.only([first]))
        assert dumped(one, family) == {first: dumped(made, family)[first]}


@every_family
def test_what_has_arrived_is_sent_on(family: Family) -> None:
    made = moved(family)
    again = arrived(arrived(made))
    assert dumped(again, family) == dumped(made, family)


def test_damaged_bytes_are_refused() -> None:
    made = moved(TENSORS)
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(made, protocol=5, buffer_callback=buffers.append)
    cut = [bytes(buffer.raw())[:-1] for buffer in buffers]
    with pytest.raises(MalformedBytesError):
        pickle.loads(data, buffers=cut).values(form_of(TENSORS.program))


@every_family
def test_keys_do_not_move(family: Family) -> None:
    client, evaluator = family.keys()
    for holder in (client, evaluator):
        with pytest.raises(NotPicklableError):
            pickle.dumps(holder)
        for key in (holder._key, *getattr(holder._key, "by_prime", ())):
            with pytest.raises(TypeError):
                pickle.dumps(key)
