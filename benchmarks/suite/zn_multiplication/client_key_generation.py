"""Plan a run, and make the client's keys and the server's."""

from benchmarks.suite.zn_multiplication.circuit import product
from benchmarks.suite.zn_multiplication.workload import asked

if __name__ == "__main__":
    workload = asked()
    workload.save_keys(product.compile(batch=workload.pairs_of_run))
