"""Encrypt the table."""

from benchmarks.suite.fetch_by_similarity.workload import asked

if __name__ == "__main__":
    workload = asked()
    workload.index().add(workload.client(), workload.table, *workload.rows())
