"""Write the label with the best score of each image, as the harness reads it."""

import numpy as np

from benchmarks.suite.ml_inference.workload import asked

if __name__ == "__main__":
    workload = asked()
    labels = np.load(workload.file("intermediate", "scores.npy")).argmax(axis=1)
    np.savetxt(workload.file("encrypted_model_predictions.txt"), labels, fmt="%d")
