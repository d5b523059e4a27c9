"""Encrypt the embeddings and the mask of each pair of sentences."""

import numpy as np

from benchmarks.suite.stages import asked

if __name__ == "__main__":
    workload = asked()
    client = workload.client()
    pairs = np.load(workload.file("intermediate", "pairs.npz"))
    for number, (pair, mask) in enumerate(zip(pairs["embeddings"], pairs["masks"], strict=True)):
        sent = client.encrypt(embedded=pair, mask=mask)
        sent.save(workload.file("ciphertexts_upload", f"{number:03}"))
