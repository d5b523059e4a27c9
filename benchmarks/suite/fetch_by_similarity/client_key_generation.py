"""Make the owner's keys, and what the server searches by."""

from benchmarks.suite.fetch_by_similarity.workload import asked

if __name__ == "__main__":
    workload = asked()
    index = workload.planned()
    client, evaluator = index.keygen()
    index.save(workload.file("keys", "index"))
    client.save(workload.file("secret_key", "client"))
    evaluator.save(workload.file("keys", "evaluator"))
