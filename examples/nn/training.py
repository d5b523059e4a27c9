"""Train the networks of the examples on scikit-learn's digits, each in under two minutes.

Run: python -m examples.nn.training
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from examples.nn.digits import Digits, digits
from examples.nn.networks import lenet, lola, mlp, silu_net

BATCH = 64
LEARNING_RATE = 2e-3


@dataclass(frozen=True)
class Trained:
    """A trained network in eval mode, and the digits that it was trained on."""

    module: nn.Sequential
    digits: Digits

    def accuracy(self) -> float:
        """How many of the test images the network classifies rightly, of 1."""
        with torch.no_grad():
            guesses = self.module(self.digits.test).argmax(dim=1)
        return float((guesses == self.digits.test_labels).double().mean())


def train_mlp() -> Trained:
    """The dense network."""
    return _trained(mlp, digits(28), epochs=12)


def train_lola() -> Trained:
    """LoLA's network."""
    return _trained(lola, digits(28), epochs=20)


def train_lenet() -> Trained:
    """LeNet."""
    return _trained(lenet, digits(28), epochs=6)


def train_silu() -> Trained:
    """The small network with SiLU."""
    return _trained(silu_net, digits(8), epochs=30)


def _trained(network: Callable[[], nn.Sequential], data: Digits, epochs: int) -> Trained:
    """A network after some passes through the training images, the same on every run."""
    torch.manual_seed(7)
    module = network().train()
    optimiser = torch.optim.AdamW(module.parameters(), lr=LEARNING_RATE, weight_decay=1e-2)
    steps = epochs * -(-len(data.train) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, LEARNING_RATE, total_steps=steps)
    for _ in range(epochs):
        for chosen in torch.split(torch.randperm(len(data.train)), BATCH):
            optimiser.zero_grad()
            scores = module(data.train[chosen])
            torch.autograd.backward(functional.cross_entropy(scores, data.train_labels[chosen]))
            # Squares of squares have steep gradients.
            nn.utils.clip_grad_norm_(module.parameters(), 1.0)
            optimiser.step()
            schedule.step()
    return Trained(module.eval(), data)


def main() -> None:
    """Train each network and print its accuracy."""
    for train in (train_mlp, train_lola, train_lenet, train_silu):
        start = time.perf_counter()
        trained = train()
        seconds = time.perf_counter() - start
        print(f"{train.__name__:<12} accuracy {trained.accuracy():.4f}, {seconds:6.1f} s")


if __name__ == "__main__":
    main()
