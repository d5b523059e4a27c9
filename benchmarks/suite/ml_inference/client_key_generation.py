"""Plan the network, and make the client's keys and the server's."""

from benchmarks.suite.ml_inference.network import compiled, train
from benchmarks.suite.ml_inference.workload import asked

if __name__ == "__main__":
    workload = asked()
    train(workload.data("dataset_pixels.txt"), workload.file("intermediate", "labels.txt"))
    workload.save_keys(compiled(workload.images_of_run, workload.copies))
