"""The networks of the examples and benchmarks, untrained."""

from __future__ import annotations

import torch
from torch import nn


class Square(nn.Module):
    """x * x: the activation that costs one level."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Every element times itself."""
        return x * x


def mlp() -> nn.Sequential:
    """Three dense layers on 28x28 pixels: 784-128-128-10."""
    return nn.Sequential(
        nn.Flatten(),
        *_dense(784, 128),
        *_dense(128, 128),
        nn.Linear(128, 10),
    )


def lola() -> nn.Sequential:
    """One convolution and two dense layers on 28x28 pixels (Brutzkus et al. 2019)."""
    return nn.Sequential(
        *_convolution(1, 5, kernel=2, padding=0),
        nn.Flatten(),
        *_dense(980, 100),
        nn.Linear(100, 10),
    )


def lenet() -> nn.Sequential:
    """Two convolutions and two dense layers on 28x28 pixels."""
    return nn.Sequential(
        *_convolution(1, 32, kernel=5, padding=2),
        *_convolution(32, 64, kernel=5, padding=2),
        nn.Flatten(),
        *_dense(3136, 512),
        nn.Linear(512, 10),
    )


def silu_net() -> nn.Sequential:
    """One convolution and two dense layers with SiLU, on 8x8 pixels."""
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1),
        nn.BatchNorm2d(8),
        nn.SiLU(),
        nn.Flatten(),
        nn.Linear(128, 32),
        nn.SiLU(),
        nn.Linear(32, 10),
    )


def _dense(inputs: int, outputs: int) -> tuple[nn.Module, ...]:
    return nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), Square()


def _convolution(inputs: int, outputs: int, kernel: int, padding: int) -> tuple[nn.Module, ...]:
    convolution = nn.Conv2d(inputs, outputs, kernel, stride=2, padding=padding)
    return convolution, nn.BatchNorm2d(outputs), Square()
