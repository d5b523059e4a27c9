"""Recurrent layers, layers of three dimensions, distances and others give what torch gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import nn
from torch.nn import functional
from torch.utils._pytree import tree_leaves

import cloakwork as cw
from cloakwork.errors import UnsupportedLayerError
from cloakwork.frontends.nn.capture import capture
from cloakwork.programs.ir.layer_values import evaluate
from tests.frontends.nn.function_module import Function

BATCH, STEPS, WIDTH = 3, 4, 5


class Steps(nn.Module):
    """A recurrent layer and all that it gives, the batch first."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        sequence = x if self.layer.batch_first else x.transpose(0, 1)
        states, last = self.layer(sequence)
        last = last if isinstance(last, tuple) else (last,)
        return {
            "states": states if self.layer.batch_first else states.transpose(0, 1),
            **{f"last {place}": each.transpose(0, 1) for place, each in enumerate(last)},
        }


class Cell(nn.Module):
    """A cell that makes a few steps from a first state."""

    def __init__(self, cell: Any) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: torch.Tensor, first: torch.Tensor) -> torch.Tensor:
        is_lstm = isinstance(self.cell, nn.LSTMCell)
        state: Any = (first, first / 2) if is_lstm else first
        for step in range(STEPS):
            state = self.cell(x[:, step], state)
        return state[0] + state[1] if is_lstm else state  # type: ignore[no-any-return]


def assert_as_torch(module: nn.Module, *inputs: torch.Tensor) -> None:
    module = module.double().eval()
    given = [each.double() for each in inputs]
    graph = capture(module, tuple(given))
    found = evaluate(graph, *(each.numpy() for each in given))
    expected = module(*given)
    for own, theirs in zip(tree_leaves(found), tree_leaves(expected), strict=True):
        np.testing.assert_allclose(own, theirs.detach().numpy(), atol=1e-9)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers(kind: Any, seed: int) -> None:
    torch.manual_seed(seed)
    chance = Random(seed)
    options: dict[str, Any] = {
        "num_layers": chance.choice([1, 2]),
        "bidirectional": chance.choice([True, False]),
        "bias": chance.choice([True, False]),
        "batch_first": chance.choice([True, False]),
    }
    if kind is nn.RNN:
        options["nonlinearity"] = chance.choice(["tanh", "relu"])
    batch = chance.choice([1, BATCH])
    assert_as_torch(Steps(kind(WIDTH, 2, **options)), torch.rand(batch, STEPS, WIDTH))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", [nn.LSTMCell, nn.GRUCell, nn.RNNCell])
def test_cells(kind: Any, bias: bool) -> None:
    torch.manual_seed(0)
    cell = Cell(kind(WIDTH, 2, bias=bias))
    assert_as_torch(cell, torch.rand(BATCH, STEPS, WIDTH), torch.rand(BATCH, 2))


def _volume(chance: Random, channels: int) -> torch.Tensor:
    return torch.rand(2, channels, *(chance.randint(4, 6) for _ in range(3)))


@pytest.mark.parametrize("seed", range(12))
def test_convolutions_of_three_dimensions(seed: int) -> None:
    torch.manual_seed(seed)
    chance = Random(seed)
    groups = chance.choice([1, 2])
    options: dict[str, Any] = {
        "kernel_size": tuple(chance.randint(1, 2) for _ in range(3)),
        "stride": tuple(chance.randint(1, 2) for _ in range(3)),
        "padding": tuple(chance.randint(0, 2) for _ in range(3)),
        "dilation": chance.randint(1, 3),
        "groups": groups,
        "bias": chance.choice([True, False]),
    }
    layer = nn.Conv3d(2 * groups, 3 * groups, **options)
    assert_as_torch(layer, _volume(Random(seed), 2 * groups))


_ANTIALIASED: Mapping[str, Any] = {"mode": "bilinear", "antialias": True}
LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[tuple[int, ...], ...]]] = {
    "average pool": (lambda: nn.AvgPool3d(2, 1, padding=1), ((2, 3, 4, 3),)),
    "adaptive pool": (lambda: nn.AdaptiveAvgPool3d((2, 1, 3)), ((2, 3, 4, 5),)),
    "maximum": (lambda: nn.MaxPool3d((2, 1, 2)), ((2, 4, 3, 4),)),
    "batch norm": (lambda: nn.BatchNorm3d(2), ((2, 2, 3, 2),)),
    "upsampling": (lambda: nn.Upsample(scale_factor=2, mode="trilinear"), ((1, 2, 3, 2),)),
    "nearest": (lambda: nn.Upsample(scale_factor=2), ((1, 2, 1, 2),)),
    "cubic upsampling": (lambda: nn.Upsample((5, 3), mode="bicubic"), ((2, 4, 5),)),
    "antialiased": (
        lambda: Function(lambda x: functional.interpolate(x, (3, 2), **_ANTIALIASED)),
        ((2, 4, 5),),
    ),
    "bilinear": (lambda: nn.Bilinear(3, 4, 2), ((3,), (4,))),
    "bilinear rows": (lambda: nn.Bilinear(3, 4, 2, bias=False), ((5, 3), (5, 4))),
    "fold": (lambda: nn.Fold((4, 5), (2, 3), stride=(1, 2)), ((12, 6),)),
    "fold, padded": (lambda: nn.Fold((4, 4), 3, padding=1, dilation=1), ((18, 16),)),
    "log softmax": (lambda: nn.LogSoftmax(dim=1), ((4, 3),)),
    "pairwise distance": (lambda: nn.PairwiseDistance(keepdim=True), ((4,), (4,))),
    "distances": (lambda: Function(lambda x: torch.cdist(x[:, :3], x[:, 3:])), ((5, 4),)),
    "random slope": (lambda: nn.RReLU(0.1, 0.5), ((4,),)),
    "softsign": (nn.Softsign, ((4,),)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_other_layers(name: str) -> None:
    torch.manual_seed(0)
    make, shapes = LAYERS[name]
    assert_as_torch(make(), *(torch.rand(2, *shape) - 0.3 for shape in shapes))


@pytest.mark.parametrize(
    ("module", "shape", "advice"),
    [
        (Steps(nn.LSTM(5, 4, proj_size=2, batch_first=True)), (4, 5), "leave proj_size out"),
        (nn.ConvTranspose3d(2, 2, 2), (2, 3, 3, 3), "conv_transpose3d"),
        (Function(lambda x: torch.cdist(x, x, p=1)), (3, 4), "Euclidean"),
        (
            Function(lambda x: functional.pairwise_distance(x, x + 1, p=3)),
            (3, 4),
            "Euclidean",
        ),
    ],
)
def test_what_cannot_be_computed_is_refused(
    module: nn.Module, shape: tuple[int, ...], advice: str
) -> None:
    with pytest.raises(UnsupportedLayerError, match=advice):
        capture(module.eval(), torch.rand(2, *shape))


def test_a_recurrent_network_compiles() -> None:
    torch.manual_seed(0)

    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.GRU(3, 4, batch_first=True)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x)[0][:, -1]  # type: ignore[no-any-return]

    module, x = Last().eval(), torch.rand(40, 2, 3)
    program = cw.nn.compile(module, x, precision=6, log_n=11, insecure=True)
    assert program.error is not None
    found = program.run_clear(x[0])
    assert abs(found - module(x)[0].detach().numpy()).max() < program.error
