"""Scikit-learn's handwritten digits, 8x8 pixels and enlarged to 28x28, as torch takes them."""

from __future__ import annotations

from dataclasses import replace

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.nn import functional

from examples.nn.labelled import Labelled

BRIGHTEST = 16.0


def digits(size: int) -> Labelled:
    """The digits, three quarters for training, enlarged to size x size pixels.

    Images have the shape (count, 1, height, width) and pixels from 0 to 1.
    """
    pixels, labels = load_digits(return_X_y=True)
    parts = train_test_split(
        pixels / BRIGHTEST, labels, test_size=0.25, random_state=7, stratify=labels
    )
    train, test = (_enlarged(torch.tensor(part), size) for part in parts[:2])
    return Labelled(train, torch.tensor(parts[2]), test, torch.tensor(parts[3]))


def distorted(labelled: Labelled, times: int, spread: float) -> Labelled:
    """Images for training beside which stand distorted ones, the same on every run.

    Args:
        labelled: Images and labels.
        times: How many distorted ones of each.
        spread: By which part of an image it is sheared, turned, stretched and moved, as deviation.
    """
    random = torch.Generator().manual_seed(7)
    count, shape = len(labelled.train), labelled.train.shape
    images = [labelled.train]
    for _ in range(times):
        maps = spread * torch.randn(count, 2, 3, generator=random) + torch.eye(2, 3)
        grid = functional.affine_grid(maps, [*shape], align_corners=False)
        images.append(functional.grid_sample(labelled.train, grid, align_corners=False))
    labels = labelled.train_labels.repeat(times + 1)
    return replace(labelled, train=torch.cat(images), train_labels=labels)


def _enlarged(pixels: torch.Tensor, size: int) -> torch.Tensor:
    images = pixels.float().reshape(-1, 1, 8, 8)
    if size == 8:
        return images
    enlarged = functional.interpolate(images, (size, size), mode="bilinear", align_corners=False)
    return enlarged.clamp(0.0, 1.0)
