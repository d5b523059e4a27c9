"""The harness's trained network, its images, and how it is compiled."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

import cloakwork as cw
from benchmarks.suite.ml_inference.workload import DRAWN

_MODEL = Path("harness/mnist/mnist_ffnn_model.pth")
_TRAINING = Path("harness/mnist/data/MNIST/raw/train-images-idx3-ubyte")
_LAYERS = "fc1", "fc2", "fc3"
_PIXELS, _HEADER = 28 * 28, 16
# How the harness normalises pixels before the first layer.
_MEAN, _DEVIATION = 0.1307, 0.3081
# Training images that ranges and polynomials follow from, and by how much others may exceed these.
_CALIBRATION, _MARGIN = 10_000, 0.5
# Of repeated pixels, which take as many times the memory, ranges follow from fewer.
_REPEATED_CALIBRATION = 128
# Of the polynomials in place of each ReLU: they change about one label in a hundred.
_DEGREES, _PRECISION = (15, 7), 2
# How much a polynomial's errors on all of the range that it is made for count, beside those on the
# numbers of training images: without them it would be far off where hardly any number lies.
_FURTHER, _WEIGHT = 400, 0.01
# Of keys in memory; files have half of that.
_KEY_BUDGET = 290_000_000


def train(pixels: Path, labels: Path) -> None:
    """Let the harness train its network, which it does where none is trained yet.

    Args:
        pixels: Images as the harness writes them, which it classifies after that.
        labels: Where their labels go.
    """
    if not _MODEL.exists():
        harness = [sys.executable, "harness/cleartext_impl.py", str(pixels), str(labels)]
        subprocess.run(harness, check=True)


def compiled(images: int, copies: int) -> cw.Program:
    """The trained network on encrypted images.

    Args:
        images: How many go in at once.
        copies: How often each pixel is repeated: 1, or as often as the first layer has results.
    """
    raw = np.fromfile(_TRAINING, np.uint8, offset=_HEADER).reshape(-1, _PIXELS)[:_CALIBRATION]
    samples = torch.tensor(raw[:, DRAWN] / 255, dtype=torch.float32)
    network = _polynomial_network(torch.load(_MODEL, map_location="cpu"), samples)
    if copies > 1:
        network[0] = _OfRepeatedPixels(network[0])
        samples = samples[:_REPEATED_CALIBRATION].repeat_interleave(copies, 1)
    return cw.nn.compile(
        network.eval(),
        samples[:1],
        calibration=samples,
        precision=_PRECISION,
        margin=_MARGIN,
        key_budget=_KEY_BUDGET,
        bootstrap=False,
        batch=images,
    )


def _polynomial_network(
    weights: dict[str, torch.Tensor], samples: torch.Tensor
) -> torch.nn.Sequential:
    """The network on pixels from 0 to 1 that may be drawn on, with polynomials in place of ReLU.

    Hidden numbers are divided by what they reach, as ReLU(s x) is s ReLU(x): the error of a
    polynomial is a part of its range, and each number then has one in proportion to its own.
    """
    layers: list[torch.nn.Module] = []
    degrees = iter(_DEGREES)
    values, before = samples, torch.ones(samples.shape[1])
    for name in _LAYERS:
        weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
        if not layers:
            bias = bias - weight.sum(1) * _MEAN / _DEVIATION
            weight = weight[:, DRAWN] / _DEVIATION
        hidden = name != _LAYERS[-1]
        values = values @ (weight * before).T + bias
        largest = values.abs().amax(0) if hidden else torch.ones(len(bias))
        layer = torch.nn.Linear(weight.shape[1], weight.shape[0])
        layer.weight.data = weight * before / largest[:, None]
        layer.bias.data = bias / largest
        layers.append(layer)
        if hidden:
            layers.append(_Polynomial(_near_relu((values / largest).numpy(), next(degrees))))
            values, before = layers[-1](values / largest), largest
    return torch.nn.Sequential(*layers)


class _Polynomial(torch.nn.Module):
    """A polynomial of each number, by its coefficients from degree 0 up."""

    def __init__(self, coefficients: Sequence[float]) -> None:
        super().__init__()
        self._coefficients = coefficients

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        """Evaluate it by Horner's rule."""
        *others, second, first = self._coefficients
        total = first * numbers + second
        for each in reversed(others):
            total = total * numbers + each
        return total


def _near_relu(numbers: NDArray[np.float32], degree: int) -> list[float]:
    """The polynomial with the least squares of errors on numbers, and a little on their range."""
    end = 1 + _MARGIN
    places = np.concatenate([numbers.ravel(), np.linspace(-end, end, _FURTHER)])
    shares = [np.full(numbers.size, 1 / numbers.size), np.full(_FURTHER, _WEIGHT / _FURTHER)]
    roots = np.sqrt(np.concatenate(shares))
    near = np.polynomial.Chebyshev.fit(places, places.clip(0), degree, domain=[-end, end], w=roots)
    return near.convert(kind=np.polynomial.Polynomial).coef.tolist()


class _OfRepeatedPixels(torch.nn.Module):
    """A layer of pixels that are there once for each of its results.

    Each product of a pixel and a weight then has a slot of its own: no pixel has to be rotated.
    """

    def __init__(self, layer: torch.nn.Module) -> None:
        super().__init__()
        assert isinstance(layer, torch.nn.Linear)
        self.weights = torch.nn.Parameter(layer.weight.T.contiguous())
        self.bias = layer.bias

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Add the products of each result up."""
        return (pixels.reshape(-1, *self.weights.shape) * self.weights).sum(1) + self.bias
