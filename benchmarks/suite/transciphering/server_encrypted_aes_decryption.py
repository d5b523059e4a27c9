"""Decipher all blocks by the encrypted round keys, without any secret."""

import cloakwork as cw
from benchmarks.suite.transciphering.workload import asked

if __name__ == "__main__":
    workload = asked()
    evaluator = workload.evaluator()
    keys = evaluator.run(cw.load(workload.file("ciphertexts_upload", "round_keys"), cw.Encrypted))
    for number, (first, *others) in enumerate(workload.programs().rounds):
        state = evaluator.serving(first).run(keys)
        for program in others:
            state = evaluator.serving(program).run([state, keys])
        state.save(workload.file("ciphertext_aes_download", f"{number:03}"))
