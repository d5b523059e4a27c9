"""Decrypt the deciphered blocks."""

import numpy as np

from benchmarks.suite.transciphering.workload import asked

if __name__ == "__main__":
    workload = asked()
    client = workload.client()
    pairs = zip(workload.programs().rounds, workload.deciphered(), strict=True)
    blocks = [client.serving(rounds[-1]).decrypt(block) for rounds, block in pairs]
    np.save(workload.file("intermediate", "blocks.npy"), np.array(blocks, np.uint8))
