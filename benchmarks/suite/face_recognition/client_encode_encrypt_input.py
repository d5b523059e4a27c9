"""Encrypt the patches of each pair."""

import numpy as np

from benchmarks.suite.stages import asked

if __name__ == "__main__":
    workload = asked()
    client = workload.client()
    pairs = np.load(workload.file("intermediate", "patches.npy"), mmap_mode="r")
    for number, pair in enumerate(pairs):
        client.encrypt(pair).save(workload.file("ciphertexts_upload", f"{number:04}"))
