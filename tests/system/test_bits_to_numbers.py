"""Bits that come back into slots, and what functions over reals make of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import InvalidArgumentError, MissingKeyError
from cloakwork.programs.gates import GateBuilder, GateKind
from cloakwork.programs.phases import REACH
from cloakwork.runtime.returning import deviation_of, largest_noise
from cloakwork.schemes.tfhe_noise import noise_of
from tests.system.random_rows import random_row
from tests.system.rows import row
from tests.thoroughness import part

_ABOVE = cw.boolean.above(cw.Port("v", "signed", 6, shape=(6,)), 3)


def _select(choice: Any, x: Any, y: Any) -> Any:
    return choice * x + (1 - choice) * y


def _same(port: cw.Port) -> cw.boolean.Circuit:
    builder = GateBuilder("same", (port,))
    made = cw.Port("w", port.kind, port.width, shape=port.shape, fraction=port.fraction)
    builder.output(made, range(port.bits))
    return cw.boolean.Circuit(builder.finish())


def test_bits_select_in_tensors_on_ciphertexts(tmp_path: Path) -> None:
    first = _ABOVE.compile(threads=2)
    second = cw.compile(_select, cw.result(first), (6,), (6,), precision=12)
    first, second = cw.together(first, second)
    assert "INSECURE" not in f"{first.scheme}{second.scheme}"
    client, evaluator = first.keygen()
    last = client.serving(second)
    lacking = last.evaluation_keys(first)
    assert lacking.names > {"return", "relinearisation"}
    assert client.serving(second).evaluation_keys(first, second).names == frozenset()
    # Files hold both sides.
    lacking.save(tmp_path / "lacking")
    client.save(tmp_path / "client")
    second.save(tmp_path / "second")
    second = cw.load(tmp_path / "second", cw.Program)
    last = cw.load(tmp_path / "client", cw.Client).serving(second)
    with pytest.raises(MissingKeyError):
        evaluator.serving(second)
    evaluator.serving(second, cw.load(tmp_path / "lacking", cw.EvaluationKeys)).save(
        tmp_path / "server"
    )
    server = cw.load(tmp_path / "server", cw.Evaluator)
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, (2, 6))
    v = np.array([5, 3, -20, 4, 31, -1])
    made = server.run([evaluator.run(client.encrypt(v=v)), last.encrypt(x=x, y=y)])
    assert second.error is not None
    off = np.abs(last.decrypt(made) - _select(np.float64(v > 3), x, y)).max()
    assert off < second.error < 2**-11


def test_bits_and_numbers_in_the_clear_are_those_of_numpy() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-1, 1, (2, 6))
    first = _ABOVE.compile(threads=2)
    second = cw.compile(_select, cw.result(first), (6,), (6,), precision=12)
    bits = np.array([1, 0, 0, 1, 1, 0])
    assert second.error is not None
    off = np.abs(second.run_clear(bits, x, y) - _select(bits, x, y)).max()
    assert off < second.error
    port = cw.Port("v", "signed", 5, shape=(2, 3), fraction=2)
    numbers = _same(port).compile(threads=2)
    last = cw.compile(lambda v, x: v @ x, cw.result(numbers), (3,), precision=8)
    v = rng.integers(-16, 16, (2, 3)) / 4
    assert last.error is not None
    assert np.abs(last.run_clear(v, x[:3]) - v @ x[:3]).max() < last.error < 2**-5


OF_BITS: dict[str, Callable[[Any], Any]] = {
    "twice less 1": lambda y: y * 2 - 1,
    "a sum": lambda y: y + y[::-1],
    "a difference": lambda y: y - y[::-1],
    "negated": lambda y: -y,
    "a choice": lambda y: np.where(y, 0.25, y - 2),
    "an absolute value": abs,
    "a product": lambda y: y @ y,
}


@pytest.mark.parametrize("name", OF_BITS)
def test_bits_are_numbers(name: str) -> None:
    """And no booleans, whose sums are disjunctions, nor bytes, which wrap around."""
    function, bits = OF_BITS[name], np.array([1, 0, 0, 1, 1, 0])
    first = _ABOVE.compile(threads=2)
    second = cw.compile(function, cw.result(first), precision=12, log_n=12, insecure=True)
    assert second.error is not None
    assert np.abs(second.run_clear(bits) - function(bits)).max() < second.error
    with pytest.raises(InvalidArgumentError, match="known to be 0 or 1"):
        cw.compile(lambda y: y & y, cw.result(first), log_n=12, insecure=True)


@pytest.mark.slow
def test_numbers_become_bits_and_bits_select_among_numbers() -> None:
    rng = np.random.default_rng(2)
    weights = rng.uniform(-1, 1, (6, 16)) / 8
    first = cw.compile(lambda x: weights @ x, (16,), log_n=15, precision=14)
    port = cw.Port("scores", "signed", 8, shape=(6,), fraction=6)
    circuit = cw.boolean.above(port, 0.125)
    second = circuit.compile(threads=2, after={"scores": cw.result(first)})

    def total(chosen: Any, prices: Any) -> Any:
        return (chosen * prices).sum()

    third = cw.compile(total, cw.result(second), (6,), precision=12)
    programs = cw.together(first, second, third)
    clients, evaluators = row(*programs)
    x, prices = rng.uniform(-1, 1, 16), rng.uniform(-1, 1, 6)
    bits = evaluators[1].run(evaluators[0].run(clients[0].encrypt(x)))
    made = evaluators[2].run([bits, clients[2].encrypt(prices=prices)])
    scores = weights @ x
    assert np.abs(scores - 0.125).min() > 2**-6
    found = clients[2].decrypt(made)
    assert programs[2].error is not None
    assert abs(found - total(scores > 0.125, prices)) < programs[2].error < 2**-11


@pytest.mark.slow
def test_ten_thousand_bits_come_back_as_they_are() -> None:
    """Their phases are off by less than is stated, and none is wrong."""
    builder = GateBuilder("both", (cw.Port("v", "bits", 500),))
    made = [builder.append(GateKind.AND, each, (each + 1) % 500) for each in range(500)]
    builder.output(cw.Port("w", "bits", 500), made)
    first = cw.boolean.Circuit(builder.finish()).compile(threads=2)
    second = cw.compile(lambda v: v, cw.result(first), precision=12)
    first, second = cw.together(first, second)
    clients, evaluators = row(first, second)
    rng, phases = np.random.default_rng(3), []
    assert second.error is not None
    for _ in range(part(20)):
        bits = rng.integers(0, 2, 500)
        right = bits & np.roll(bits, -1)
        back = evaluators[1]._as_inputs(evaluators[0].run(clients[0].encrypt(v=bits)), "measure")
        ((value,),) = (each.values() for each in back.values(second.scheme, second.body))
        slots = clients[1]._key.slots.decrypt(value, value.estimate).decode_real()
        phases.append(np.array(slots)[:500] * REACH - right / 2)
        off = np.abs(clients[1].decrypt(evaluators[1].run(back)) - right)
        assert off.max() < second.error < 2**-11
    turns = np.concatenate(phases)
    noise = noise_of(first.scheme.parameters.name, first.scheme.failure_bits)
    assert np.abs(turns).max() < REACH - 0.5
    turns -= np.round(turns)
    assert turns.std() < deviation_of(first, "w", noise)
    assert np.abs(turns).max() < largest_noise(first, "w")


def test_bits_without_noise_come_back() -> None:
    """What a circuit makes is known where it depends on no input."""
    builder = GateBuilder("known", (cw.Port("v", "bits", 1),))
    zero = builder.append(GateKind.ZERO)
    builder.output(cw.Port("w", "bits", 1), [zero])
    first = cw.boolean.Circuit(builder.finish()).compile(threads=2)
    second = cw.compile(lambda w: w, cw.result(first), precision=12, log_n=12, insecure=True)
    assert np.abs(second.run_clear(np.array([0]))).max() < 2**-12


def test_what_cannot_come_back_is_refused() -> None:
    first = _ABOVE.compile(threads=2)
    integers = cw.Spec((6,), bound=9, kind="integer")
    with pytest.raises(InvalidArgumentError, match="slots of reals"):
        cw.compile(lambda choice, x: choice * x, cw.result(first), integers)
    many = _same(cw.Port("v", "bits", 1025)).compile(threads=2)
    with pytest.raises(InvalidArgumentError, match=r"up to 1024 bits, got w: bits, 1025 bits"):
        cw.compile(lambda v: v, cw.result(many))
    octets = _same(cw.Port("v", "bytes", 16)).compile(threads=2)
    with pytest.raises(InvalidArgumentError, match="of the kinds bits, unsigned, signed"):
        cw.compile(lambda v: v, cw.result(octets))


def test_bits_follow_numbers_that_bits_became() -> None:
    """Of all bits before, those before the numbers too, the parameters have to be."""
    made = random_row(149, ("gates", "tensors", "gates"))
    assert len({each.scheme.key_set for each in made.programs}) == 1
