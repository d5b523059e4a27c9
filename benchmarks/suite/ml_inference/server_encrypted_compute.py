"""Classify the encrypted images, without any secret."""

from benchmarks.suite.ml_inference.workload import asked

if __name__ == "__main__":
    workload = asked()
    workload.run(workload.evaluator())
