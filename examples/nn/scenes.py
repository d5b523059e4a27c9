"""Scikit-learn's handwritten digits somewhere in a coloured scene, and where each one is."""

from __future__ import annotations

import torch
from torch.nn import functional

from examples.nn.coloured import SIZE, coloured
from examples.nn.digits import digits
from examples.nn.labelled import Labelled

# Cells along each side of a scene; a digit belongs to the cell of its middle.
CELLS = 4
# Pixels of the sides of digits, and what they are told in parts of.
_SMALLEST, USUAL, _LARGEST = 12, 16, 20


def scenes() -> Labelled:
    """Scenes of 3 x 32 x 32, each with a digit, always the same ones.

    Labels are, for each scene, the number of the digit's cell, its class, how far across and down
    the cell its middle is, of 1, and its width and height in parts of the usual ones.
    """
    gray = digits(8)
    generator = torch.Generator().manual_seed(7)
    train, train_labels = _placed(gray.train, gray.train_labels, generator)
    test, test_labels = _placed(gray.test, gray.test_labels, generator)
    return Labelled(train, train_labels, test, test_labels)


def _placed(
    images: torch.Tensor, classes: torch.Tensor, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    placed = torch.zeros(len(images), 1, SIZE, SIZE)
    labels = torch.zeros(len(images), 6)
    for number, image in enumerate(images):
        height, width = torch.randint(_SMALLEST, _LARGEST + 1, (2,), generator=generator).tolist()
        top = int(torch.randint(SIZE - height + 1, (), generator=generator))
        left = int(torch.randint(SIZE - width + 1, (), generator=generator))
        digit = functional.interpolate(image[None], (height, width), mode="bilinear")[0]
        placed[number, :, top : top + height, left : left + width] = digit
        across = CELLS * (left + width / 2) / SIZE
        down = CELLS * (top + height / 2) / SIZE
        cell = CELLS * int(down) + int(across)
        labels[number] = torch.tensor(
            [cell, classes[number], across % 1, down % 1, width / USUAL, height / USUAL]
        )
    return coloured(placed, generator), labels


def detection_loss(found: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """How far places and sizes, which cells have a digit, and classes are off, together.

    Args:
        found: What the network makes, of shape (batch, features, cells, cells).
        labels: As of `scenes`.
    """
    cells = found.flatten(2)
    place = labels[:, 0].long()
    is_there = functional.one_hot(place, CELLS * CELLS).float()
    of_place = cells[torch.arange(len(cells)), :, place]
    chances = of_place[:, 5:].gather(1, labels[:, 1:2].long())
    return (
        functional.binary_cross_entropy(cells[:, 4], is_there, reduction="sum") / len(cells)
        + 5 * functional.mse_loss(of_place[:, :4], labels[:, 2:])
        - chances.clamp_min(1e-6).log().mean()
    )


def detected(found: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Whether the digit of each scene is seen in its cell, and as what it is."""
    cells = found.flatten(2)
    place = cells[:, 4].argmax(dim=1)
    guesses = cells[torch.arange(len(cells)), 5:, place].argmax(dim=1)
    return (place == labels[:, 0]) & (guesses == labels[:, 1])
