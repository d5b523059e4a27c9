"""Scikit-learn's handwritten digits in colours, 32x32 pixels; or CIFAR-10 from a folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from examples.nn.digits import digits
from examples.nn.labelled import Labelled

SIZE = 32
# Of a file of the binary version of CIFAR-10, each image: its label, then 3 x 32 x 32 bytes.
_RECORD = 1 + 3 * SIZE * SIZE
_TRAIN = [f"data_batch_{number}.bin" for number in range(1, 6)]
_TEST = "test_batch.bin"


def coloured_digits() -> Labelled:
    """The digits, each in a colour of its own on a ground of another, always the same ones."""
    gray = digits(SIZE)
    generator = torch.Generator().manual_seed(7)
    train, test = (coloured(part, generator) for part in (gray.train, gray.test))
    return Labelled(train, gray.train_labels, test, gray.test_labels)


def coloured(images: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Gray images, the ink of each in a random colour, on a ground of another."""
    ground, ink = (torch.rand(len(images), 3, 1, 1, generator=generator) for _ in range(2))
    # Ink and ground differ enough to be told apart: one dark, one bright.
    is_dark = torch.rand(len(images), 1, 1, 1, generator=generator) < 0.5
    ground, ink = 0.4 * ground, 0.6 + 0.4 * ink
    ground, ink = torch.where(is_dark, ground, ink), torch.where(is_dark, ink, ground)
    return ground + images * (ink - ground)


def cifar_10(folder: Path) -> Labelled:
    """The images of CIFAR-10 (Krizhevsky 2009), from a folder with its binary version.

    Args:
        folder: Has `data_batch_1.bin` to `data_batch_5.bin` and `test_batch.bin`.

    Raises:
        SystemExit: A file is missing, or is not of that form.
    """
    parts = [_read(folder / name) for name in _TRAIN]
    train, labels = (torch.cat(each) for each in zip(*parts, strict=True))
    return Labelled(train, labels, *_read(folder / _TEST))


def _read(path: Path) -> tuple[torch.Tensor, torch.Tensor]:
    try:
        data = np.fromfile(path, np.uint8)
    except OSError as error:
        raise SystemExit(f"cannot read {path}: {error.strerror}") from error
    if not len(data) or len(data) % _RECORD or data[::_RECORD].max() > 9:
        raise SystemExit(f"{path} is not of the binary version of CIFAR-10")
    records = torch.tensor(data.reshape(-1, _RECORD))
    return records[:, 1:].reshape(-1, 3, SIZE, SIZE).float() / 255, records[:, 0].long()
