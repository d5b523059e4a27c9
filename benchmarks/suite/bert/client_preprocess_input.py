"""Look the embeddings of the sentences up."""

import numpy as np

from benchmarks.suite.bert.network import published
from benchmarks.suite.bert.sentences import embedded, read
from benchmarks.suite.stages import asked

if __name__ == "__main__":
    workload = asked()
    pairs = read(workload.data("intermediate", "test_input.txt"))
    embeddings, masks = (made.numpy() for made in embedded(published(), pairs))
    np.savez(workload.file("intermediate", "pairs.npz"), embeddings=embeddings, masks=masks)
