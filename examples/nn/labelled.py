"""Inputs and what each of them is, for training and for tests."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Labelled:
    """Inputs along the first axis, and the class of each."""

    train: torch.Tensor
    train_labels: torch.Tensor
    test: torch.Tensor
    test_labels: torch.Tensor


def spread(inputs: torch.Tensor, count: int) -> torch.Tensor:
    """Inputs at even distances: where they are in the order of their classes, of every class."""
    return inputs[torch.linspace(0, len(inputs) - 1, min(count, len(inputs))).round().long()]
