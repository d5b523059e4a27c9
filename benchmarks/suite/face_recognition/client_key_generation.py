"""Plan the network, and make the client's keys and the server's."""

from pathlib import Path

import torch

from benchmarks.suite.face_recognition.faces import patches_of
from benchmarks.suite.face_recognition.network import SAMPLES, compiled, published
from benchmarks.suite.stages import asked

if __name__ == "__main__":
    patches = patches_of(Path("datasets", "face_dataset.h5"), SAMPLES)
    asked().save_keys(compiled(published(), torch.from_numpy(patches)))
