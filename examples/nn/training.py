"""Train the networks of the examples, small ones in some minutes.

Run: python -m examples.nn.training
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import torch
from torch import nn
from torch.nn import functional

from examples.nn.digits import digits, distorted
from examples.nn.image_networks import Activation, resnet, yolo
from examples.nn.labelled import Labelled
from examples.nn.networks import (
    lenet,
    lola,
    mlp,
    perceptron,
    silu_net,
    text_transformer,
    vision_transformer,
)
from examples.nn.scenes import detected, detection_loss, scenes
from examples.nn.translations import translations

BATCH = 64


def _is_largest(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Whether the largest score of each input is that of its class."""
    return scores.argmax(dim=1) == labels


# Results and labels, compared.
Compare: TypeAlias = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Recipe:
    """How a network is trained.

    Args:
        epochs: Passes through the inputs.
        learning_rate: The highest.
        weight_decay: As of AdamW.
        label_smoothing: As of the cross entropy.
        noise: The deviation of what is added to inputs.
        attention: The part of the learning rate that weights of queries, keys and values learn at.
        loss: What is made small, of results and labels; None for the cross entropy.
        are_right: Which results are as labelled.
    """

    epochs: int
    learning_rate: float = 2e-3
    weight_decay: float = 1e-2
    label_smoothing: float = 0.0
    noise: float = 0.0
    attention: float = 1.0
    loss: Compare | None = None
    are_right: Compare = _is_largest


# Small weights keep the scores of attention small, and so the ranges of exp and reciprocal.
_OF_VISION = Recipe(
    epochs=15,
    learning_rate=2e-3,
    weight_decay=1.0,
    label_smoothing=0.1,
    noise=0.1,
    attention=0.1,
)
_OF_TEXT = replace(_OF_VISION, epochs=6, learning_rate=4e-3, weight_decay=0.5, noise=0.05)
_OF_IMAGES = Recipe(epochs=8, learning_rate=5e-3, weight_decay=5e-2)
# Small weights keep the values small that activations get, and so the degrees of their polynomials.
_OF_RESNETS = replace(_OF_IMAGES, epochs=16, weight_decay=0.3)


@dataclass(frozen=True)
class Trained:
    """A trained network in eval mode, and what it was trained on.

    Args:
        module: The network.
        data: Its inputs and labels.
        are_right: Which of its results are as labelled.
    """

    module: nn.Sequential
    data: Labelled
    are_right: Compare

    def accuracy(self) -> float:
        """How many of the inputs for tests the network is right about, of 1."""
        with torch.no_grad():
            found = self.module(self.data.test)
        return float(self.are_right(found, self.data.test_labels).double().mean())


def train_mlp() -> Trained:
    """The dense network."""
    return _trained(mlp, digits(28), Recipe(epochs=12))


def train_perceptron() -> Trained:
    """The dense network on few pixels, for digits that people draw with a mouse."""
    data = distorted(digits(8), times=4, spread=0.15)
    return _trained(perceptron, data, Recipe(epochs=12, noise=0.1))


def train_lola() -> Trained:
    """LoLA's network."""
    return _trained(lola, digits(28), Recipe(epochs=20))


def train_lenet() -> Trained:
    """LeNet."""
    return _trained(lenet, digits(28), Recipe(epochs=6))


def train_silu() -> Trained:
    """The small network with SiLU."""
    return _trained(silu_net, digits(8), Recipe(epochs=30))


def train_vision_transformer() -> Trained:
    """The vision transformer."""
    return _trained(vision_transformer, digits(8), _OF_VISION)


def train_text_transformer() -> Trained:
    """The transformer that tells the language of a text."""
    return _trained(text_transformer, translations(), _OF_TEXT)


def train_on_images(network: Callable[[], nn.Sequential], data: Labelled, epochs: int) -> Trained:
    """A network of `image_networks`, for coloured images."""
    return _trained(network, data, replace(_OF_IMAGES, epochs=epochs))


def train_resnet(
    depth: int, activation: Activation, data: Labelled, epochs: int = _OF_RESNETS.epochs
) -> Trained:
    """ResNet of a depth, for coloured images."""
    return _trained(partial(resnet, depth, activation), data, replace(_OF_RESNETS, epochs=epochs))


def train_yolo() -> Trained:
    """The small YOLO, which finds digits in scenes."""
    recipe = Recipe(epochs=30, learning_rate=5e-3, loss=detection_loss, are_right=detected)
    return _trained(yolo, scenes(), recipe)


def _trained(network: Callable[[], nn.Sequential], data: Labelled, recipe: Recipe) -> Trained:
    """A network after some passes through the inputs for training, the same on every run."""
    torch.manual_seed(7)
    module = network().train()
    groups = _groups(module, recipe)
    optimiser = torch.optim.AdamW(groups)
    steps = recipe.epochs * -(-len(data.train) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, [group["lr"] for group in groups], total_steps=steps
    )
    loss_of = recipe.loss or partial(
        functional.cross_entropy, label_smoothing=recipe.label_smoothing
    )
    for _ in range(recipe.epochs):
        for chosen in torch.split(torch.randperm(len(data.train)), BATCH):
            optimiser.zero_grad()
            inputs = data.train[chosen]
            if recipe.noise:
                inputs = inputs + recipe.noise * torch.randn_like(inputs)
            torch.autograd.backward(loss_of(module(inputs), data.train_labels[chosen]))
            # Squares of squares have steep gradients.
            nn.utils.clip_grad_norm_(module.parameters(), 1.0)
            optimiser.step()
            schedule.step()
    return Trained(module.eval(), data, recipe.are_right)


def _groups(module: nn.Module, recipe: Recipe) -> list[dict[str, Any]]:
    """The weights by how they are trained; AdamW multiplies their decay by their learning rate."""
    attention = [
        each.in_proj_weight for each in module.modules() if isinstance(each, nn.MultiheadAttention)
    ]
    known = {id(each) for each in attention}
    others = [each for each in module.parameters() if id(each) not in known]
    return [
        {
            "params": params,
            "lr": part * recipe.learning_rate,
            "weight_decay": recipe.weight_decay / part,
        }
        for params, part in ((others, 1.0), (attention, recipe.attention))
        if params
    ]


def main() -> None:
    """Train each network and print its accuracy."""
    for train in (
        train_mlp,
        train_perceptron,
        train_lola,
        train_lenet,
        train_silu,
        train_vision_transformer,
        train_text_transformer,
        train_yolo,
    ):
        start = time.perf_counter()
        trained = train()
        seconds = time.perf_counter() - start
        print(f"{train.__name__:<12} accuracy {trained.accuracy():.4f}, {seconds:6.1f} s")


if __name__ == "__main__":
    main()
