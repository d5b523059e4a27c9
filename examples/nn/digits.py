"""Scikit-learn's handwritten digits, 8x8 pixels and enlarged to 28x28, as torch takes them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.nn import functional

BRIGHTEST = 16.0


@dataclass(frozen=True)
class Digits:
    """Images of shape (count, 1, height, width) from 0 to 1, and the digits that they show."""

    train: torch.Tensor
    train_labels: torch.Tensor
    test: torch.Tensor
    test_labels: torch.Tensor


def digits(size: int) -> Digits:
    """The digits, three quarters for training, enlarged to size x size pixels."""
    pixels, labels = load_digits(return_X_y=True)
    parts = train_test_split(
        pixels / BRIGHTEST, labels, test_size=0.25, random_state=7, stratify=labels
    )
    train, test = (_enlarged(torch.tensor(part), size) for part in parts[:2])
    return Digits(train, torch.tensor(parts[2]), test, torch.tensor(parts[3]))


def _enlarged(pixels: torch.Tensor, size: int) -> torch.Tensor:
    images = pixels.float().reshape(-1, 1, 8, 8)
    if size == 8:
        return images
    enlarged = functional.interpolate(images, (size, size), mode="bilinear", align_corners=False)
    return enlarged.clamp(0.0, 1.0)
