"""The harness's trained network, its images, and how it is compiled."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import torch

import cloakwork as cw

_MODEL = Path("harness/mnist/mnist_ffnn_model.pth")
_TRAINING = Path("harness/mnist/data/MNIST/raw/train-images-idx3-ubyte")
_LAYERS = "fc1", "fc2", "fc3"
_PIXELS, _HEADER = 28 * 28, 16
# How the harness normalises pixels before the first layer.
_MEAN, _DEVIATION = 0.1307, 0.3081
# Images that the ranges of layers follow from, and by how much others may exceed these.
_CALIBRATION, _MARGIN = 10_000, 0.5
# ReLU by one polynomial: labels then differ from the network's for two images in a thousand.
_DEGREE, _PRECISION = 31, 3
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


def compiled(images: int) -> cw.Program:
    """The trained network on encrypted images.

    Args:
        images: How many go in at once.
    """
    raw = np.fromfile(_TRAINING, np.uint8, offset=_HEADER).reshape(-1, _PIXELS)[:_CALIBRATION]
    samples = torch.tensor(raw / 255, dtype=torch.float32)
    return cw.nn.compile(
        _within_one(torch.load(_MODEL, map_location="cpu"), samples),
        samples[:1],
        calibration=samples,
        precision=_PRECISION,
        margin=_MARGIN,
        degrees={"relu": _DEGREE},
        key_budget=_KEY_BUDGET,
        bootstrap=False,
        batch=images,
    )


class _Normalised(torch.nn.Module):
    """Pixels from 0 to 1 as the first layer takes them."""

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Move pixels to the mean, and divide them by the deviation, of the training images."""
        return (pixels - _MEAN) / _DEVIATION


def _within_one(weights: dict[str, torch.Tensor], samples: torch.Tensor) -> torch.nn.Module:
    """The same network with all hidden numbers within 1, as ReLU(s x) is s ReLU(x).

    The error of a polynomial is a part of the range that it is made for: each hidden number then
    has an error in proportion to its own.
    """
    parts: list[torch.nn.Module] = [_Normalised()]
    values, before = parts[0](samples), torch.ones(_PIXELS)
    for name in _LAYERS:
        weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
        values = values @ weight.T + bias
        hidden = name != _LAYERS[-1]
        largest = values.abs().amax(0) if hidden else torch.ones(len(bias))
        layer = torch.nn.Linear(weight.shape[1], weight.shape[0])
        layer.weight.data = weight * before / largest[:, None]
        layer.bias.data = bias / largest
        parts += [layer, torch.nn.ReLU()] if hidden else [layer]
        values, before = values.relu(), largest
    return torch.nn.Sequential(*parts).eval()
