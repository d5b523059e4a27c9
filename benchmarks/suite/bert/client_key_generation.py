"""Plan the model, and make the client's keys and the server's."""

from benchmarks.suite.bert.network import SAMPLES, compiled, published
from benchmarks.suite.bert.sentences import embedded, read
from benchmarks.suite.stages import asked

if __name__ == "__main__":
    workload, model = asked(), published()
    pairs = read(workload.data("dataset_samples.jsonl"))[:SAMPLES]
    workload.save_keys(compiled(model, *embedded(model, pairs)))
