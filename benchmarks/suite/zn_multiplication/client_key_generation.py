"""Plan a run, and make the client's keys and the server's."""

from benchmarks.suite.zn_multiplication.circuit import product
from benchmarks.suite.zn_multiplication.workload import asked

if __name__ == "__main__":
    workload = asked()
    client, evaluator = product.compile(batch=workload.pairs_of_run).keygen()
    client.save(workload.file("private_keys", "client"))
    evaluator.save(workload.file("public_keys", "evaluator"))
