"""Encrypt the table."""

from benchmarks.suite.fetch_by_similarity.workload import asked

if __name__ == "__main__":
    workload = asked()
    workload.index().encrypt(workload.client(), workload.table)
