"""Write the class with the better score of each pair, as the harness reads it."""

import numpy as np

from benchmarks.suite.stages import asked

if __name__ == "__main__":
    workload = asked()
    labels = np.load(workload.file("intermediate", "scores.npy")).argmax(axis=1)
    np.savetxt(workload.file("encrypted_model_predictions.txt"), labels, fmt="%d")
