"""Classify the encrypted images, without any secret."""

import cloakwork as cw
from benchmarks.suite.ml_inference.workload import asked

if __name__ == "__main__":
    workload = asked()
    evaluator = cw.load(workload.file("public_keys", "evaluator"), cw.Evaluator)
    for sent in sorted(workload.file("ciphertexts_upload").iterdir()):
        scores = evaluator.run(cw.load(sent, cw.Encrypted))
        scores.save(workload.file("ciphertexts_download", sent.name))
