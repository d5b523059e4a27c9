"""Encrypt the images, as many together as a run takes."""

import numpy as np

from benchmarks.suite.ml_inference.workload import asked

if __name__ == "__main__":
    workload = asked()
    client = workload.client()
    images = np.load(workload.file("intermediate", "images.npy"))
    repeated = images.repeat(workload.copies, axis=1)
    runs = repeated.reshape(-1, workload.images_of_run, repeated.shape[-1])
    for number, run in enumerate(runs):
        client.encrypt(run).save(workload.file("ciphertexts_upload", f"{number:03}"))
