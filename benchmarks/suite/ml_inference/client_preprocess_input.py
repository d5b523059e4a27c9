"""Read the images, without the pixels that are always blank."""

import numpy as np

from benchmarks.suite.ml_inference.workload import DRAWN, asked

if __name__ == "__main__":
    workload = asked()
    pixels = np.loadtxt(workload.data("intermediate", "test_pixels.txt"), ndmin=2)
    np.save(workload.file("intermediate", "images.npy"), pixels[:, DRAWN])
