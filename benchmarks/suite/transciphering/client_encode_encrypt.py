"""Encrypt the round keys."""

from benchmarks.suite.transciphering.cipher import round_keys
from benchmarks.suite.transciphering.workload import asked

if __name__ == "__main__":
    workload = asked()
    keys = round_keys(workload.enciphered.direction, workload.key)
    sent = workload.client().encrypt(keys=[byte for key in keys for byte in key])
    sent.save(workload.file("ciphertexts_upload", "round_keys"))
