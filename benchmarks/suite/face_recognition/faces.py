"""Patches of faces, as the network takes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.suite.face_recognition.network import SIDE
from benchmarks.suite.face_recognition.pictures import Picture, aligner, read


def patches_of(path: Path, count: int | None = None) -> NDArray[np.float32]:
    """Patches of the faces of pairs: three colours of each patch of one face, then the other's.

    Args:
        path: A file of the harness's.
        count: Of how many of its pairs; by default of all.
    """
    align = aligner()
    return np.stack(
        [np.concatenate([_cut(align(each)) for each in pair]) for pair in read(path, count)]
    )


def _cut(face: Picture) -> NDArray[np.float32]:
    """Three colours of each patch, from -1 to 1."""
    colours = np.moveaxis(face, 2, 0).astype(np.float32) / 127.5 - 1
    rows = face.shape[0] // SIDE
    cut = colours.reshape(3, rows, SIDE, rows, SIDE)
    return np.moveaxis(cut, (1, 3), (0, 1)).reshape(-1, SIDE, SIDE)
