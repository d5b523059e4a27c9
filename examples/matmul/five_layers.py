"""Classify 4096 encrypted images by five encrypted layers.

Convolution, square, dense layer, square, dense layer: the network of FHE4DMM's experiments, in the
sizes of CryptoNets. One client has trained it, another has the images. Between which ends numbers
on the way lie follows from the images of the training, with a margin.
Run: python -m examples.matmul.five_layers
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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
# Windows of 5 by 5 pixels, every second one; beyond the edge is a pixel of zeros above and left.
KERNEL, STRIDE, POSITIONS = 5, 2, 13
PADDING = 1
HIDDEN = 100
EPOCHS = 25
LEARNING_RATE = 2e-3
PRECISION = 8

Model = dict[str, Array]


def trained(data: Split) -> Model:
    """The kernels of the convolution and the matrices of both dense layers, without biases.

    Of each a multiple, as classes are those of any multiple of the scores.
    """
    torch.manual_seed(7)
    convolution = nn.Conv2d(1, CHANNELS, KERNEL, stride=STRIDE, padding=PADDING, bias=False)
    middle = nn.Linear(CHANNELS * POSITIONS**2, HIDDEN, bias=False)
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
    reach = {"kernels": UNITS_REACH, "middle": 2 * UNITS_REACH, "last": SCORES_REACH}
    weights = convolution.weight[:, 0], middle.weight, last.weight
    model: Model = {
        name: each.detach().double().numpy() for name, each in zip(reach, weights, strict=True)
    }
    images_of_training = padded(data.train)
    for number, (name, most) in enumerate(reach.items()):
        model[name] *= most / np.abs(products(images_of_training, model)[number]).max()
    return model


def padded(columns: Array) -> Array:
    """Images by pixel rows and pixel columns, with zeros at the edges where windows begin."""
    pixels = columns[:-1].reshape(SIDE, SIDE, -1)
    return np.pad(pixels, ((PADDING, 0), (PADDING, 0), (0, 0)))


def maps(images: Any, kernels: Any) -> Any:
    """The convolution: each pixel of a window times its number in the kernels.

    Args:
        images: By pixel rows and pixel columns, arrays or tensors.
        kernels: The kernels.
    """
    ends = range(KERNEL)
    reach = STRIDE * POSITIONS - 1
    terms = [
        np.einsum(
            "c,yxn->cyxn", kernels[:, y, x], images[y : y + reach : STRIDE, x : x + reach : STRIDE]
        )
        for y in ends
        for x in ends
    ]
    return sum(terms[1:], terms[0]).reshape(CHANNELS * POSITIONS**2, -1)


def products(images: Array, model: Model) -> tuple[Array, Array, Array]:
    """What the three layers come to in the clear; the last are the scores, as columns."""
    first = maps(images, model["kernels"])
    middle = model["middle"] @ first**2
    return first, middle, model["last"] @ middle**2


def network(seen: Sequence[Array]) -> Callable[..., cw.Tensor]:
    """The network as a function of encrypted images and of encrypted weights.

    Args:
        seen: What the three layers came to, so that the ranges of their numbers are known.
    """
    reached = [MARGIN * float(np.abs(each).max()) for each in seen]

    def scores(
        images: cw.Tensor, kernels: cw.Tensor, middle: cw.Tensor, last: cw.Tensor
    ) -> cw.Tensor:
        convolved: cw.Tensor = maps(images, kernels)
        first = cw.within(convolved, -reached[0], reached[0])
        units = cw.within(middle @ first**2, -reached[1], reached[1])
        return cw.within(last @ units**2, -reached[2], reached[2])

    return scores


def main() -> None:
    """Run the whole job and print what it did."""
    data = mnist()
    images = padded(data.test)
    print("Time per step")
    with step("train the network in the clear"):
        model = trained(data)
    specs = [cw.Spec(each.shape, bound=float(np.abs(each).max())) for each in model.values()]
    scores = network(products(padded(data.train), model))
    with step("compile it"):
        program = cw.compile(
            scores, cw.Spec(images.shape), *specs, precision=PRECISION, public_inputs=True
        )
    found = answer(program, {"second": {"images": images}, "first": model})

    print(f"\nThe plan\n{cw.explain(program)}")
    report(found, products(images, model)[-1], data.test_labels)


if __name__ == "__main__":
    main()
