"""Encrypt the numbers, as many pairs together as a run takes."""

from benchmarks.suite.zn_multiplication.workload import asked

if __name__ == "__main__":
    workload = asked()
    client = workload.client()
    runs = zip(workload.numbers("lhs.txt"), workload.numbers("rhs.txt"), strict=True)
    for number, (left, right) in enumerate(runs):
        sent = client.encrypt(left=left, right=right)
        sent.save(workload.file("ciphertexts_upload", f"{number:04}"))
