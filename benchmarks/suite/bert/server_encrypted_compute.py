"""Classify the encrypted pairs of sentences, without any secret."""

import cloakwork as cw
from benchmarks.suite.bert.workload import asked

if __name__ == "__main__":
    workload = asked()
    evaluator = cw.load(workload.file("public_keys", "evaluator"), cw.Evaluator)
    evaluator.cache_bytes = 0  # Encoded layers would not fit beside the keys.
    for sent in sorted(workload.file("ciphertexts_upload").iterdir()):
        scores = evaluator.run(cw.load(sent, cw.Encrypted))
        scores.save(workload.file("ciphertexts_download", sent.name))
