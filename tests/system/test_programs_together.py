"""Several programs under one key, on ciphertexts at 128 bits."""

from __future__ import annotations

from typing import Any

import numpy as np

import cloakwork as cw
from tests.families import greater, mapped
from tests.system.rows import row


def test_tensors_share_one_key() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.uniform(-1, 1, (8, 16)), rng.uniform(-1, 1, 16)
    scores = cw.compile(lambda x, w: x @ w, (8, 16), (16,), log_n=14)
    near = cw.compile(lambda x: cw.sigmoid(x).sum(), cw.Spec((8, 16), bound=4), log_n=14)
    scores, near = cw.together(scores, near)
    assert not scores.scheme.insecure
    assert not near.scheme.insecure
    client, evaluator = scores.keygen()
    other = client.serving(near)
    server = evaluator.serving(near, other.evaluation_keys(scores))
    found = client.decrypt(evaluator.run(client.encrypt(x, w)))
    assert np.abs(found - x @ w).max() < 2.0**-20
    total = other.decrypt(server.run(other.encrypt(x)))
    assert near.error is not None
    assert abs(float(total) - (1 / (1 + np.exp(-x))).sum()) < near.error


def test_integers_share_one_key() -> None:
    @cw.circuit(a=cw.scalar(bits=4), b=cw.scalar(bits=4))
    def product(a: Any, b: Any) -> Any:
        return a * b

    @cw.circuit(a=cw.scalar(bits=4), b=cw.scalar(bits=4))
    def cube(a: Any, b: Any) -> Any:
        return a * a * a + b

    first, second = (each.compile(bits=16, log_n=13) for each in (product, cube))
    first, second = cw.together(first, second)
    assert not first.scheme.insecure
    client, evaluator = first.keygen()
    other = client.serving(second)
    server = evaluator.serving(second, other.evaluation_keys(first))
    assert client.decrypt(evaluator.run(client.encrypt(a=7, b=-5))) == -35
    assert other.decrypt(server.run(other.encrypt(a=-6, b=3))) == -213


def test_bits_share_one_key() -> None:
    first, second = cw.together(mapped(greater(3)), mapped(greater(5)))
    client, evaluator = first.keygen()
    other = client.serving(second)
    assert other.evaluation_keys(first).names == frozenset()
    server = evaluator.serving(second)
    assert other.decrypt(server.run(other.encrypt(a=21, b=18)))["above"] == 1
    assert client.decrypt(evaluator.run(client.encrypt(a=5, b=6)))["above"] == 0


def test_a_function_follows_another() -> None:
    rng = np.random.default_rng(1)
    a, b, v = (rng.uniform(-1, 1, shape) for shape in ((4, 2), (4, 2), (2,)))
    first = cw.compile(lambda a, b: a * b, (4, 2), (4, 2), log_n=15)
    second = cw.compile(lambda y, v: cw.sigmoid(y).sum(axis=0) * v, cw.result(first), (2,))
    first, second = cw.together(first, second)
    assert not first.scheme.insecure
    assert first.scheme.key_set == second.scheme.key_set
    client, evaluator = first.keygen()
    last = client.serving(second)
    further = last.evaluation_keys(first)
    held = evaluator.program.scheme.held_keys(evaluator._key)[0].names()
    assert not further.names & held
    server = evaluator.serving(second, further)
    made = cw.Encrypted.from_bytes(evaluator.run(client.encrypt(a, b)).to_bytes())
    found = last.decrypt(server.run([made, last.encrypt(v=v)]))
    expected = (1 / (1 + np.exp(-(a * b)))).sum(axis=0) * v
    assert second.error is not None
    assert np.abs(found - expected).max() <= second.error < 2.0**-16


def test_products_and_a_function_follow_a_product() -> None:
    first = cw.compile(lambda a, b: a @ b, (4, 2), (2, 5), log_n=15)
    second = cw.compile(lambda y, v: y @ v, cw.result(first), (5, 3))
    third = cw.compile(lambda z: cw.sigmoid(z).sum(axis=0), cw.result(second))
    programs = cw.together(first, second, third)
    assert not any(each.scheme.insecure for each in programs)
    clients, evaluators = row(*programs)
    sent = [each.evaluation_keys(*programs[:at]).names for at, each in enumerate(clients) if at]
    assert not sent[0] & sent[1]
    rng = np.random.default_rng(4)
    a, b, v = (rng.uniform(-1, 1, shape) for shape in ((4, 2), (2, 5), (5, 3)))
    made = evaluators[0].run(clients[0].encrypt(a, b))
    made = evaluators[1].run([made, clients[1].encrypt(v=v)])
    found = clients[2].decrypt(evaluators[2].run(made))
    expected = (1 / (1 + np.exp(-(a @ b @ v)))).sum(axis=0)
    assert programs[2].error is not None
    assert np.abs(found - expected).max() <= programs[2].error < 2.0**-15
