"""Align the faces of all pairs, and cut them into patches."""

import numpy as np

from benchmarks.suite.face_recognition.faces import patches_of
from benchmarks.suite.stages import asked

if __name__ == "__main__":
    workload = asked()
    patches = patches_of(workload.data("intermediate", "test_pairs.h5"))
    np.save(workload.file("intermediate", "patches.npy"), patches)
