"""Train the networks of the examples on scikit-learn's digits, all but ResNet in two minutes.

Run: python -m examples.nn.training
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import nn
from torch.nn import functional

from examples.nn.digits import Digits, digits
from examples.nn.image_networks import Activation, resnet
from examples.nn.networks import lenet, lola, mlp, silu_net, transformer

BATCH = 64


@dataclass(frozen=True)
class Recipe:
    """How a network is trained.

    Args:
        epochs: Passes through the training images.
        learning_rate: The highest.
        weight_decay: As of AdamW.
        label_smoothing: As of the cross entropy.
        noise: The deviation of what is added to pixels.
    """

    epochs: int
    learning_rate: float = 2e-3
    weight_decay: float = 1e-2
    label_smoothing: float = 0.0
    noise: float = 0.0


# Small weights keep the scores of attention small, and so the ranges of exp and reciprocal.
_OF_TRANSFORMER = Recipe(
    epochs=15, learning_rate=5e-3, weight_decay=1.0, label_smoothing=0.1, noise=0.1
)
_OF_RESNET = Recipe(epochs=16, learning_rate=5e-3, weight_decay=5e-2)


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
    return _trained(mlp, digits(28), Recipe(epochs=12))


def train_lola() -> Trained:
    """LoLA's network."""
    return _trained(lola, digits(28), Recipe(epochs=20))


def train_lenet() -> Trained:
    """LeNet."""
    return _trained(lenet, digits(28), Recipe(epochs=6))


def train_silu() -> Trained:
    """The small network with SiLU."""
    return _trained(silu_net, digits(8), Recipe(epochs=30))


def train_transformer() -> Trained:
    """The vision transformer."""
    return _trained(transformer, digits(8), _OF_TRANSFORMER)


def train_resnet(data: Digits, depth: int, activation: Activation, epochs: int) -> Trained:
    """ResNet of a depth, for coloured images."""
    return _trained(lambda: resnet(depth, activation), data, replace(_OF_RESNET, epochs=epochs))


def _trained(network: Callable[[], nn.Sequential], data: Digits, recipe: Recipe) -> Trained:
    """A network after some passes through the training images, the same on every run."""
    torch.manual_seed(7)
    module = network().train()
    optimiser = torch.optim.AdamW(
        module.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay
    )
    steps = recipe.epochs * -(-len(data.train) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, recipe.learning_rate, total_steps=steps
    )
    for _ in range(recipe.epochs):
        for chosen in torch.split(torch.randperm(len(data.train)), BATCH):
            optimiser.zero_grad()
            images = data.train[chosen]
            if recipe.noise:
                images = images + recipe.noise * torch.randn_like(images)
            loss = functional.cross_entropy(
                module(images), data.train_labels[chosen], label_smoothing=recipe.label_smoothing
            )
            torch.autograd.backward(loss)
            # Squares of squares have steep gradients.
            nn.utils.clip_grad_norm_(module.parameters(), 1.0)
            optimiser.step()
            schedule.step()
    return Trained(module.eval(), data)


def main() -> None:
    """Train each network and print its accuracy."""
    for train in (train_mlp, train_lola, train_lenet, train_silu, train_transformer):
        start = time.perf_counter()
        trained = train()
        seconds = time.perf_counter() - start
        print(f"{train.__name__:<12} accuracy {trained.accuracy():.4f}, {seconds:6.1f} s")


if __name__ == "__main__":
    main()
