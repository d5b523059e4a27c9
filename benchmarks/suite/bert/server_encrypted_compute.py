"""Classify the encrypted pairs of sentences, without any secret."""

from benchmarks.suite.stages import asked

if __name__ == "__main__":
    workload = asked()
    evaluator = workload.evaluator()
    evaluator.cache_bytes = 0  # Encoded layers would not fit beside the keys.
    workload.run(evaluator)
