"""Compute on the words of all blocks, without any secret."""

from benchmarks.suite.transciphering.workload import asked

if __name__ == "__main__":
    workload = asked()
    evaluator = workload.evaluator().serving(workload.programs().total)
    total = evaluator.run([*workload.deciphered()])
    total.save(workload.file("ciphertexts_download", "total"))
