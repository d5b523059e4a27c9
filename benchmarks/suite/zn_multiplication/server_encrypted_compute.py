"""Multiply the encrypted numbers, without any secret."""

import cloakwork as cw
from benchmarks.suite.zn_multiplication.workload import asked

if __name__ == "__main__":
    workload = asked()
    evaluator = cw.load(workload.file("public_keys", "evaluator"), cw.Evaluator)
    for sent in sorted(workload.file("ciphertexts_upload").iterdir()):
        products = evaluator.run(cw.load(sent, cw.Encrypted))
        products.save(workload.file("ciphertexts_download", sent.name))
