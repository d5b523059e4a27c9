"""The published CryptoFace on the encrypted patches of two faces, and how it is compiled."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import hf_hub_download
from torch import Tensor, nn

import cloakwork as cw

HUB, FILE = "halmsu/cryptoface-v1", "backbone-64x64.ckpt"
CHECKPOINT = Path("submission", "checkpoints", FILE)
FACES, SIDE = 2, 32
# Pairs by which errors are simulated.
SAMPLES = 16
# Of the norm's square y the polynomial by which vectors are divided by their norm, as published:
# fitted to squares from 108 to 505.
NORM = 3.497142e-07, -3.070292e-04, 1.182291e-01
OPTIONS: Mapping[str, Any] = {
    "precision": 7,
    "bootstrap": False,
    "key_budget": 8_000_000_000,
}

Weights = Mapping[str, Tensor]
Tensors = Callable[[str], list[Tensor]]


def published() -> Weights:
    """The weights, of the file where a checkout has them, else of the hub."""
    path = CHECKPOINT
    if not path.exists():
        path = Path(hf_hub_download(repo_id=HUB, filename=FILE))
    found: Weights = torch.load(path, map_location="cpu", weights_only=True)["backbone"]
    return found


def compiled(weights: Weights, patches: Tensor) -> cw.Program:
    """The score of two faces as a program on encrypted patches.

    Args:
        weights: The published weights.
        patches: Samples: of each pair three colours of every patch of one face, then the other's.
    """
    return cw.nn.compile(SameFace(weights).eval(), patches, **OPTIONS)


class SameFace(nn.Module):
    """The cosine of two faces' vectors, of which every patch has a network of its own.

    The networks of all patches of both faces run side by side, as groups of channels. Their
    activations are polynomials a x^2 + b x + c for each channel, computed as the square of x +
    b / 2a and a constant, while a goes into the weights behind: so each takes one level.
    """

    def __init__(self, weights: Weights) -> None:
        """Take the published weights."""
        super().__init__()
        self.patches = _patches(weights)
        self.groups = FACES * self.patches

        def side_by_side(name: str) -> list[Tensor]:
            return [weights[f"nets.{patch}.{name}"] for patch in range(self.patches)] * FACES

        self.first = _convolution(side_by_side("conv.weight"), padding=1)
        count = len({name.split(".")[3] for name in weights if name.startswith("nets.0.layers.")})
        self.blocks = nn.Sequential(
            *(_Block(side_by_side, f"layers.{number}") for number in range(count))
        )
        scales, self.activation = _activation(side_by_side, "herpnpool.herpn")
        self.pool = nn.AdaptiveAvgPool2d((2, 2))
        self.embedding = _embedding(weights, scales[: self.patches])

    def forward(self, patches: Tensor) -> Tensor:
        """The cosine.

        Args:
            patches: Three colours of every patch of both faces, with axes of both sides behind.
        """
        pooled = self.pool(self.activation(self.blocks(self.first(patches))))
        first, second = self.embedding(pooled.unflatten(1, (FACES, -1)).flatten(2)).unbind(1)
        cosine: Tensor = (first * second).sum(-1)
        for vector in first, second:
            square = (vector * vector).sum(-1)
            cosine = cosine * (NORM[0] * square * square + NORM[1] * square + NORM[2])
        return cosine


class _Square(nn.Module):
    """The square of shifted channels, and a constant."""

    def __init__(self, shift: Tensor, constant: Tensor) -> None:
        super().__init__()
        self.shift = nn.Parameter(shift[:, None, None])
        self.constant = nn.Parameter(constant[:, None, None])

    def forward(self, values: Tensor) -> Tensor:
        shifted = values + self.shift
        squared: Tensor = shifted * shifted + self.constant
        return squared


class _Block(nn.Module):
    """Two convolutions behind activations, and what is added past them."""

    def __init__(self, weights: Tensors, name: str) -> None:
        super().__init__()
        scales, self.before = _activation(weights, f"{name}.herpn1")
        first = weights(f"{name}.conv1.weight")
        outs, ins, _, _ = first[0].shape
        stride = 1 if outs == ins else 2
        self.first = _convolution(_scaled(first, scales), padding=1, stride=stride)
        if stride == 1:
            past = [torch.diag(each)[..., None, None] for each in scales]
            self.past = _convolution(past)
        else:
            gains, biases = _norm(weights, f"{name}.shortcut.1")
            past = _scaled(weights(f"{name}.shortcut.0.weight"), scales)
            past = [
                gain[:, None, None, None] * each for gain, each in zip(gains, past, strict=True)
            ]
            self.past = _convolution(past, torch.cat(biases), stride=stride)
        scales, self.between = _activation(weights, f"{name}.herpn2")
        self.second = _convolution(_scaled(weights(f"{name}.conv2.weight"), scales), padding=1)

    def forward(self, values: Tensor) -> Tensor:
        active = self.before(values)
        added: Tensor = self.second(self.between(self.first(active))) + self.past(active)
        return added


def _patches(weights: Weights) -> int:
    """Into how many patches faces are cut."""
    return len({name.split(".")[1] for name in weights if name.startswith("nets.")})


def _convolution(
    weights: list[Tensor], bias: Tensor | None = None, *, padding: int = 0, stride: int = 1
) -> nn.Conv2d:
    """Convolutions side by side."""
    outs, ins, side, _ = weights[0].shape
    groups = len(weights)
    made = nn.Conv2d(
        groups * ins, groups * outs, side, stride, padding, groups=groups, bias=bias is not None
    )
    made.weight.data = torch.cat(weights)
    if made.bias is not None and bias is not None:
        made.bias.data = bias
    return made


def _scaled(weights: list[Tensor], scales: list[Tensor]) -> list[Tensor]:
    """Weights of convolutions of channels that are multiplied by something before."""
    pairs = zip(weights, scales, strict=True)
    return [weight * scale[:, None, None] for weight, scale in pairs]


def _norm(weights: Tensors, name: str) -> tuple[list[Tensor], list[Tensor]]:
    """What a norm of channels multiplies them by and adds, by its statistics."""
    names = ("weight", "bias", "running_mean", "running_var")
    parts = [weights(f"{name}.{each}") for each in names]
    gains, biases = [], []
    for weight, bias, mean, variance in zip(*parts, strict=True):
        gain = weight * _rate(variance)
        gains.append(gain)
        biases.append(bias - gain * mean)
    return gains, biases


def _activation(weights: Tensors, name: str) -> tuple[list[Tensor], _Square]:
    """What an activation's squares are multiplied by behind it, and the squares.

    The first three Hermite polynomials' parts of a ReLU, each with a norm of its own.
    """
    names = ("weight", "bias", *(f"bn{n}.running_{kind}" for n in range(3) for kind in _KINDS))
    scales, shifts, constants = [], [], []
    for parts in zip(*(weights(f"{name}.{each}") for each in names), strict=True):
        gain, bias, *statistics = (part.flatten() for part in parts)
        means, rates = statistics[::2], [_rate(variance) for variance in statistics[1::2]]
        square = gain * rates[2] / math.sqrt(8 * math.pi)
        linear = gain * rates[1] / 2
        constant = bias + gain * (
            rates[0] * (1 - means[0]) / math.sqrt(2 * math.pi)
            - rates[1] * means[1] / 2
            - rates[2] * (1 + math.sqrt(2) * means[2]) / math.sqrt(8 * math.pi)
        )
        shift = linear / (2 * square)
        scales.append(square)
        shifts.append(shift)
        constants.append(constant / square - shift**2)
    return scales, _Square(torch.cat(shifts), torch.cat(constants))


_KINDS = "mean", "var"


def _rate(variance: Tensor) -> Tensor:
    """What a norm of some variance multiplies by."""
    return (variance + nn.BatchNorm2d(1).eps) ** -0.5


def _embedding(weights: Weights, scales: list[Tensor]) -> nn.Linear:
    """From the pooled channels of all patches to the vector of a face, norms included."""
    patches = len(scales)
    matrix = weights["linear.weight"]
    bias = weights["linear.bias"].clone()
    gains, biases = _norm(
        lambda name: [weights[f"nets.{patch}.{name}"] for patch in range(patches)], "bn"
    )
    columns = []
    parts = zip(matrix.chunk(patches, 1), gains, biases, scales, strict=True)
    for part, gain, added, scale in parts:
        bias += part @ added
        columns.append(part * gain * scale.repeat_interleave(len(gain) // len(scale)))
    rate = _rate(weights["bn.running_var"])
    made = nn.Linear(matrix.shape[1], len(bias))
    made.weight.data = rate[:, None] * torch.cat(columns, 1)
    made.bias.data = rate * (bias - weights["bn.running_mean"])
    return made
