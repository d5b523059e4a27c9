"""Encrypt a query."""

import numpy as np

from benchmarks.suite.fetch_by_similarity.workload import asked

if __name__ == "__main__":
    workload = asked()
    vector = np.fromfile(workload.data("query.bin"), np.float32)
    query = workload.index().query(workload.client(), vector)
    query.save(workload.file("ciphertexts_upload", "query.bin"))
