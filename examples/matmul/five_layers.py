"""Classify 4096 encrypted images by five encrypted layers.

Convolution, square, dense layer, square, dense layer: the network of FHE4DMM's experiments, in the
sizes of CryptoNets. One client has trained it, another has the images. The convolution is a product
as the others are, by the matrix of its weights. Between which ends numbers on the way lie follows
from the images of the training, with a margin.
Run: python -m examples.matmul.five_layers
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import nn
from torch.nn import functional

import cloakwork as cw
from examples.matmul.clients import answer, step
from examples.matmul.mnist import (
    MARGIN,
    SCORES_REACH,
    UNITS_REACH,
    Array,
    Split,
    mnist,
    report,
)

SIDE = 28
CHANNELS = 5
HIDDEN = 100
EPOCHS = 25
LEARNING_RATE = 2e-3
PRECISION = 8

Model = dict[str, Array]


def trained(data: Split) -> Model:
    """The matrices of the three layers with weights, which have no biases.

    Of each a multiple, as classes are those of any multiple of the scores.
    """
    torch.manual_seed(7)
    convolution = nn.Conv2d(1, CHANNELS, 5, stride=2, padding=1, bias=False)
    middle = nn.Linear(CHANNELS * 13 * 13, HIDDEN, bias=False)
    last = nn.Linear(HIDDEN, 10, bias=False)
    layers = nn.ModuleList([convolution, middle, last])
    optimiser = torch.optim.AdamW(layers.parameters(), lr=LEARNING_RATE, weight_decay=0.1)
    images = torch.tensor(data.train[:-1].T, dtype=torch.float32).reshape(-1, 1, SIDE, SIDE)
    labels = torch.tensor(data.train_labels)
    for _ in range(EPOCHS):
        for chosen in torch.split(torch.randperm(len(images)), 32):
            optimiser.zero_grad()
            maps = convolution(images[chosen]).flatten(1) ** 2
            loss = functional.cross_entropy(last(middle(maps) ** 2), labels[chosen])
            torch.autograd.backward(loss)
            # Squares of squares have steep gradients.
            nn.utils.clip_grad_norm_(layers.parameters(), 1.0)
            optimiser.step()
    with torch.no_grad():
        # What the convolution makes of each single pixel.
        pixels = torch.eye(SIDE * SIDE).reshape(-1, 1, SIDE, SIDE)
        weights = convolution(pixels).flatten(1).T, middle.weight, last.weight
    names = "first", "middle", "last"
    model: Model = {}
    values = data.train[:-1]
    reach = UNITS_REACH, 2 * UNITS_REACH, SCORES_REACH
    for name, each, most in zip(names, weights, reach, strict=True):
        matrix = each.detach().double().numpy()
        model[name] = matrix * (most / np.abs(matrix @ values).max())
        values = np.square(model[name] @ values)
    return model


def products(images: Array, model: Model) -> tuple[Array, Array, Array]:
    """What the three products come to in the clear; the last are the scores, as columns."""
    first = model["first"] @ images
    middle = model["middle"] @ first**2
    return first, middle, model["last"] @ middle**2


def network(seen: Sequence[Array]) -> Callable[..., cw.Tensor]:
    """The network as a function of encrypted images, as columns, and of encrypted weights.

    Args:
        seen: What the three products came to, so that the ranges of their numbers are known.
    """
    reached = [MARGIN * float(np.abs(each).max()) for each in seen]

    def scores(
        images: cw.Tensor, first: cw.Tensor, middle: cw.Tensor, last: cw.Tensor
    ) -> cw.Tensor:
        maps = cw.within(first @ images, -reached[0], reached[0])
        units = cw.within(middle @ maps**2, -reached[1], reached[1])
        return cw.within(last @ units**2, -reached[2], reached[2])

    return scores


def main() -> None:
    """Run the whole job and print what it did."""
    data = mnist()
    images = data.test[:-1]
    print("Time per step")
    with step("train the network in the clear"):
        model = trained(data)
    specs = [cw.Spec(each.shape, bound=float(np.abs(each).max())) for each in model.values()]
    scores = network(products(data.train[:-1], model))
    with step("compile it"):
        program = cw.compile(
            scores, cw.Spec(images.shape), *specs, precision=PRECISION, public_inputs=True
        )
    found = answer(program, {"second": {"images": images}, "first": model})

    print(f"\nThe plan\n{cw.explain(program)}")
    report(found, products(images, model)[-1], data.test_labels)


if __name__ == "__main__":
    main()
