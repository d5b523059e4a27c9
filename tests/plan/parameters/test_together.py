"""Programs on one parameter set: as precise as before, the same numbers, named refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import cloakwork as cw
from cloakwork.errors import (
    InsecureParametersError,
    InvalidArgumentError,
    ParametersMismatchError,
)
from cloakwork.plan.parameters.together import _precision
from tests.families import BITS, CIRCUITS, NETWORKS, TENSORS
from tests.thoroughness import slow

FUNCTIONS: tuple[Callable[[Any], Any], ...] = (
    lambda x: x.sum(),
    lambda x: x * x,
    lambda x: x[::-1] + 0.5,
    lambda x: (x * x) * (x + 1),
    cw.sigmoid,
    lambda x: x.reshape(2, 4) @ np.arange(8.0).reshape(4, 2) / 8,
    lambda x: ((x * x) * x * 0.5) ** 2,
)


def random_program(rng: np.random.Generator) -> tuple[cw.Program, Callable[[Any], Any]]:
    function = FUNCTIONS[rng.integers(len(FUNCTIONS))]
    precision = int(rng.integers(12, 24))
    spec = cw.Spec((8,), bound=float(rng.choice([1.0, 2.0])))
    return cw.compile(function, spec, precision=precision, log_n=10, insecure=True), function


def in_clear(function: Callable[[Any], Any], x: Any) -> Any:
    made = function(x) if function is not FUNCTIONS[4] else 1 / (1 + np.exp(-x))
    return np.asarray(made)


@pytest.mark.parametrize("seed", [*range(15), *slow(*range(15, 60))])
def test_pairs_share_keys_and_lose_no_precision(seed: int) -> None:
    rng = np.random.default_rng([48, seed])
    given, functions = zip(*(random_program(rng) for _ in range(2)), strict=True)
    first, second = cw.together(*given)
    assert first.scheme.key_set == second.scheme.key_set
    client, evaluator = first.keygen()
    x = rng.uniform(-1, 1, 8)
    sent = client.encrypt(x)
    further = client.serving(second).evaluation_keys(first)
    held = evaluator.program.scheme.held_keys(evaluator._key)[0]
    needed = second.scheme.required_keys(second.body)
    # No key is made that the evaluator has at the level that is needed.
    assert further.names == needed.beyond(held).names()
    server = evaluator.serving(second, further)
    assert server._key is evaluator._key
    clients = client, client.serving(second)
    for each, made, before, function in zip(
        clients,
        (evaluator.run(sent), server.run(clients[1].encrypt(x))),
        given,
        functions,
        strict=True,
    ):
        found = each.decrypt(made)
        assert isinstance(each.program, cw.Program)
        assert _precision(each.program) >= _precision(before)
        error = before.error or 2.0 ** -_precision(before)
        assert np.abs(found - in_clear(function, x)).max() <= error


def test_programs_of_one_set_stay_as_they_are() -> None:
    first = TENSORS.program
    assert cw.together(first, first) == (first, first)
    assert cw.together() == ()


def test_networks_and_tensors_share_a_set() -> None:
    network = NETWORKS.program
    tensor = cw.compile(lambda x: x.sum(), (4,), log_n=9, insecure=True)
    made, other = cw.together(network, tensor)
    client, evaluator = made.keygen()
    assert NETWORKS.is_right(client.decrypt(evaluator.run(client.encrypt(**NETWORKS.arguments))))
    client = client.serving(other)
    server = evaluator.serving(other, client.evaluation_keys(made))
    assert round(float(client.decrypt(server.run(client.encrypt([0.5] * 4)))), 3) == 2.0


def test_a_network_keeps_its_scale_with_a_level_more() -> None:
    """A larger one, for estimates that say less than its error, leaves key switching no room."""
    torch.manual_seed(0)
    layers = (nn.Linear(16, 16), nn.SiLU(), nn.Linear(16, 16), nn.SiLU(), nn.Linear(16, 4))
    samples = np.random.default_rng(0).uniform(-1, 1, (64, 16))
    network = cw.nn.compile(nn.Sequential(*layers).eval(), samples, precision=6, log_n=14)
    port = cw.Port("scores", "signed", 8, shape=(4,), fraction=4)
    last = cw.boolean.argmax(port).compile(threads=2, after={"scores": cw.result(network)})
    made, _ = cw.together(network, last)
    before, after = network.scheme.parameters, made.scheme.parameters
    assert (after.levels, after.scale_bits) == (before.levels + 1, before.scale_bits)
    assert _precision(made) < _precision(network) < -math.log2(network.error or 1.0)
    assert not made.scheme.parameters.insecure


def test_a_program_goes_into_the_chain_of_one_that_bootstraps() -> None:
    def deep(x: Any) -> Any:
        for _ in range(8):
            x = x * x + 0.2
        return x

    spec = cw.Spec((4,), bound=0.5)
    far = cw.compile(deep, spec, precision=10, bootstrap=True, log_n=6, insecure=True)
    near = cw.compile(lambda x: 2 * x, (4,), precision=10, log_n=6, insecure=True)
    far, near = cw.together(far, near)
    client, evaluator = far.keygen()
    assert client.serving(near).evaluation_keys(far).names == frozenset()
    server = evaluator.serving(near)
    client = client.serving(near)
    found = client.decrypt(server.run(client.encrypt([0.5, 0.25, 0.0, 0.0])))
    assert np.abs(found - [1.0, 0.5, 0.0, 0.0]).max() < 2.0**-9


def test_circuits_share_the_deeper_set() -> None:
    @cw.circuit(a=cw.scalar(bits=4), b=cw.scalar(bits=4))
    def product(a: Any, b: Any) -> Any:
        return a * b

    @cw.circuit(a=cw.scalar(bits=4), b=cw.scalar(bits=4))
    def cube(a: Any, b: Any) -> Any:
        return a * a * a + b

    first, second = (each.compile(bits=16, log_n=11, insecure=True) for each in (product, cube))
    first, second = cw.together(first, second)
    client, evaluator = first.keygen()
    other = client.serving(second)
    server = evaluator.serving(second, other.evaluation_keys(first))
    assert client.decrypt(evaluator.run(client.encrypt(a=3, b=-5))) == -15
    assert other.decrypt(server.run(other.encrypt(a=3, b=-5))) == 22


def test_refusals_say_what_would_do() -> None:
    small, large = (cw.compile(lambda x: x * x, (4,), log_n=n, insecure=True) for n in (9, 10))
    with pytest.raises(ParametersMismatchError, match="compile all with log_n=10"):
        cw.together(small, large)
    with pytest.raises(ParametersMismatchError, match=r"expected one scheme, .*, got ckks for"):
        cw.together(TENSORS.program, BITS.program)
    with pytest.raises(InvalidArgumentError, match="give what compile returns"):
        cw.together(small, "other")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="is in the clear"):
        cw.together(small, large.in_clear())
    modest = cw.circuit(a=cw.scalar())(lambda a: a * a).compile(bits=16, log_n=11, insecure=True)
    with pytest.raises(ParametersMismatchError, match="expected one modulus"):
        cw.together(CIRCUITS.program, modest)


def test_a_joint_chain_that_is_not_secure_is_refused() -> None:
    fine = cw.compile(lambda x: x * x, (4,), precision=40, log_n=13)
    deep = cw.compile(lambda x: ((x * x) * x) * x, (4,), precision=8, log_n=13)
    with pytest.raises(InsecureParametersError, match="compile all with log_n=14"):
        cw.together(fine, deep)
