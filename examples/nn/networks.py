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


def perceptron() -> nn.Sequential:
    """Two dense layers on 8x8 pixels: 64-64-10."""
    return nn.Sequential(nn.Flatten(), *_dense(64, 64), nn.Linear(64, 10))


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


class Tokens(nn.Module):
    """Square patches of an image, each a vector of features, with its place added."""

    def __init__(self, size: int, patch: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Conv2d(1, width, patch, stride=patch)
        self.places = nn.Parameter(0.1 * torch.randn((size // patch) ** 2, width))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """The tokens, of shape (batch, patches, width)."""
        patches: torch.Tensor = self.embedding(images)
        return patches.flatten(2).transpose(1, 2) + self.places


class Mean(nn.Module):
    """The mean of all tokens."""

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """One vector of features for each input."""
        return tokens.mean(dim=1)


class Letters(nn.Module):
    """Letters, each a 1 among zeros, as vectors of features of three neighbours and their place."""

    def __init__(self, letters: int, length: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(letters, width)
        self.neighbours = nn.Conv1d(width, width, 3, padding=1)
        self.places = nn.Parameter(0.1 * torch.randn(length, width))

    def forward(self, one_hot: torch.Tensor) -> torch.Tensor:
        """The tokens, of shape (batch, length, width)."""
        letters = one_hot @ self.embedding.weight
        tokens: torch.Tensor = self.neighbours(letters.transpose(1, 2)).transpose(1, 2)
        return tokens + self.places


def vision_transformer(
    width: int = 64, heads: int = 4, blocks: int = 4, patch: int = 2
) -> nn.Sequential:
    """A transformer on 8x8 pixels, cut into square patches."""
    tokens = Tokens(8, patch, width)
    return nn.Sequential(tokens, *_encoder(width, heads, blocks), Mean(), nn.Linear(width, 10))


def text_transformer(
    width: int = 64,
    heads: int = 4,
    blocks: int = 4,
    letters: int = 39,
    length: int = 16,
    classes: int = 10,
) -> nn.Sequential:
    """A transformer on short texts, letter by letter."""
    tokens = Letters(letters, length, width)
    encoder = _encoder(width, heads, blocks)
    return nn.Sequential(tokens, *encoder, Mean(), nn.Linear(width, classes))


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


def _encoder(width: int, heads: int, blocks: int) -> list[nn.Module]:
    """Encoder blocks whose norms stand before attention and dense layers.

    Xiong et al., "On layer normalization in the transformer architecture", ICML 2020.
    """
    return [
        nn.TransformerEncoderLayer(
            width,
            heads,
            dim_feedforward=2 * width,
            dropout=0.0,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        for _ in range(blocks)
    ]


def _dense(inputs: int, outputs: int) -> tuple[nn.Module, ...]:
    return nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), Square()


def _convolution(inputs: int, outputs: int, kernel: int, padding: int) -> tuple[nn.Module, ...]:
    convolution = nn.Conv2d(inputs, outputs, kernel, stride=2, padding=padding)
    return convolution, nn.BatchNorm2d(outputs), Square()
