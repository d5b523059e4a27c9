"""Networks of all kinds of layers, compiled and run as torch runs them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

import cloakwork as cw
from tests.frontends.nn.mixed_networks import ALL_KINDS, MixedNetwork, mixed_network
from tests.frontends.nn.results import arrays
from tests.thoroughness import slow

# Torch tells once how it pads for kernels of even length.
pytestmark = [pytest.mark.random, pytest.mark.filterwarnings("ignore:Using padding='same'")]

SEEDS, FEW = range(300), 8
ENCRYPTED, FEW_ENCRYPTED = range(300, 330), 2
# Of ten layers, with levels for fewer.
DEEP = 330, 331, 332, 334, 335


def compiled(network: MixedNetwork, *, bootstrap: bool | None = None) -> cw.Program:
    return cw.nn.compile(
        network.module,
        network.samples,
        precision=8,
        batch=network.batch,
        log_n=9,
        insecure=True,
        bootstrap=bootstrap,
    )


def rows(network: MixedNetwork, inputs: tuple[torch.Tensor, ...], at: int) -> list[np.ndarray]:
    """So many inputs as go in at once; a single one has no axis of the batch."""
    if network.batch == 1:
        return [each[at].numpy() for each in inputs]
    return [each[at : at + network.batch].numpy() for each in inputs]


def is_right(
    network: MixedNetwork, program: cw.Program, found: Any, inputs: list[np.ndarray]
) -> bool:
    """Whether results have the form and shapes of torch's, and are as close as promised."""
    is_single = network.batch == 1
    expected = network(tuple(torch.tensor(each[None] if is_single else each) for each in inputs))
    assert type(found) is type(expected) or isinstance(expected, torch.Tensor)
    wanted = [each[0] if is_single else each for each in arrays(expected)]
    assert [each.shape for each in arrays(found)] == [each.shape for each in wanted]
    assert program.error is not None
    pairs = zip(arrays(found), wanted, strict=True)
    return max(float(np.abs(own - each).max()) for own, each in pairs) < program.error


@pytest.mark.parametrize("seed", [*SEEDS[:FEW], *slow(*SEEDS[FEW:])])
def test_equals_torch_in_the_clear(seed: int) -> None:
    network = mixed_network(seed)
    program = compiled(network)
    for at in range(2):
        own = rows(network, network.samples, at)
        assert is_right(network, program, program.run_clear(*own), own)
    other = rows(network, network.others, 0)
    try:
        found = program.run_clear(*other)
    except cw.errors.ValueOutOfRangeError:
        # An input that is not among those of the calibration may leave its ranges.
        return
    assert is_right(network, program, found, other)


@pytest.mark.parametrize("seed", [*ENCRYPTED[:FEW_ENCRYPTED], *slow(*ENCRYPTED[FEW_ENCRYPTED:])])
def test_equals_torch_on_ciphertexts(seed: int) -> None:
    network = mixed_network(seed)
    require_right_on_ciphertexts(network, compiled(network))


@pytest.mark.parametrize("seed", slow(*DEEP))
def test_deep_networks_equal_torch_on_ciphertexts(seed: int) -> None:
    network = mixed_network(seed, depth=10)
    program = compiled(network, bootstrap=True)
    assert cw.estimate(program).operations["bootstrap"]
    require_right_on_ciphertexts(network, program)


def require_right_on_ciphertexts(network: MixedNetwork, program: cw.Program) -> None:
    client, evaluator = program.keygen()
    inputs = rows(network, network.samples, 0)
    found = client.decrypt(evaluator.run(client.encrypt(*inputs)))
    assert is_right(network, program, found, inputs)


def test_every_kind_of_layer_occurs() -> None:
    found = {kind for seed in SEEDS[: len(ALL_KINDS)] for kind in mixed_network(seed).kinds}
    assert found == set(ALL_KINDS)
