"""Compare the encrypted faces, without any secret."""

from benchmarks.suite.stages import asked

if __name__ == "__main__":
    workload = asked()
    workload.run(workload.evaluator())
