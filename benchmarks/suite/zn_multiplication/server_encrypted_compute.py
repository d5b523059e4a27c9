"""Multiply the encrypted numbers, without any secret."""

from benchmarks.suite.zn_multiplication.workload import asked

if __name__ == "__main__":
    workload = asked()
    workload.run(workload.evaluator())
