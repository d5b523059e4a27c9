"""Pictures of the harness's, and the faces in them, which whoever encrypts finds."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import h5py
import numpy as np
from insightface.app import FaceAnalysis
from insightface.utils.face_align import norm_crop
from numpy.typing import NDArray
from PIL import Image

from benchmarks.suite.face_recognition.network import FACES

_FACE, _ALIGNED, _DETECTED = 64, 112, (640, 640)

Picture = NDArray[np.uint8]
Aligner = Callable[[Picture], Picture]


def read(path: Path, count: int | None = None) -> Iterator[tuple[Picture, Picture]]:
    """The pairs of pictures of a file of the harness's, the first so many, or all."""
    with h5py.File(path) as file:
        for pair in zip(*(file[f"image{face}"][:count] for face in range(FACES)), strict=True):
            first, second = (
                np.asarray(Image.open(io.BytesIO(bytes(picture))).convert("RGB"))
                for picture in pair
            )
            yield first, second


def aligner() -> Aligner:
    """What finds the face of a picture, by the detector that the harness names, and aligns it.

    Of a picture without one the largest square in its middle is taken.
    """
    detector = FaceAnalysis(name="buffalo_l", providers=["CPUExecutionProvider"])
    detector.prepare(ctx_id=-1, det_size=_DETECTED)

    def align(picture: Picture) -> Picture:
        colours = np.ascontiguousarray(picture[:, :, ::-1])
        found: list[Any] = detector.get(colours)
        face = norm_crop(colours, found[0].kps, image_size=_ALIGNED) if found else _middle(colours)
        small: Picture = cv2.resize(face, (_FACE, _FACE), interpolation=cv2.INTER_LINEAR)
        return small[:, :, ::-1]

    return align


def _middle(picture: Picture) -> Picture:
    """The largest square in the middle of a picture."""
    side = min(picture.shape[:2])
    top, left = ((length - side) // 2 for length in picture.shape[:2])
    return picture[top : top + side, left : left + side]
