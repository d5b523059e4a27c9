"""Decrypt the scores of all pairs of sentences."""

import numpy as np

import cloakwork as cw
from benchmarks.suite.bert.workload import asked

if __name__ == "__main__":
    workload = asked()
    client = workload.client()
    answers = sorted(workload.file("ciphertexts_download").iterdir())
    scores = [client.decrypt(cw.load(answer, cw.Encrypted)) for answer in answers]
    np.save(workload.file("intermediate", "scores.npy"), np.stack(scores))
