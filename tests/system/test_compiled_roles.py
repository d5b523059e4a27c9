"""A compiled program between two processes that share files."""

import subprocess
import sys
from pathlib import Path

import numpy as np

import cloakwork as cw
from cloakwork.frontends.tensors.tracing import TracedTensor

EVALUATOR = """
import sys
from pathlib import Path
import cloakwork as cw

folder = Path(sys.argv[1])
program = cw.load_program(folder / "program")
evaluator = program.evaluator(cw.load_evaluator(folder / "evaluator"))
count = len(program.packings)
inputs = [cw.load_tensor(folder / f"input{n}", evaluator.party) for n in range(count)]
for number, result in enumerate(evaluator.run(inputs)):
    cw.save_tensor(result, folder / f"result{number}", program.parameters)
assert not hasattr(evaluator, "decrypt")
try:
    cw.load_client(folder / "evaluator")
except cw.errors.MalformedBytesError:
    print("no client")
"""

WEIGHTS = np.random.default_rng(0).uniform(-1, 1, (8, 8))


def scores(x: TracedTensor, y: TracedTensor) -> tuple[TracedTensor, TracedTensor]:
    return (x @ WEIGHTS) @ y, x.sum(axis=1)


def test_an_evaluator_process_runs_a_program_from_files(tmp_path: Path) -> None:
    program = cw.compile(scores, (4, 8), (8, 3), log_n=10, insecure=True)
    client, evaluator = program.keygen()
    given, kept = tmp_path / "given", tmp_path / "kept"
    given.mkdir()
    kept.mkdir()
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-1, 1, (4, 8)), rng.uniform(-1, 1, (8, 3))
    cw.save_program(program, given / "program")
    cw.save_evaluator(evaluator.party, given / "evaluator")
    for number, tensor in enumerate(client.encrypt(x, y)):
        cw.save_tensor(tensor, given / f"input{number}", program.parameters)
    cw.save_client(client.party, kept / "client")

    done = subprocess.run(
        [sys.executable, "-c", EVALUATOR, str(given)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["no client"]

    # The client too comes back from its file, as in another process.
    again = cw.load_program(given / "program").client(cw.load_client(kept / "client"))
    results = [cw.load_tensor(given / f"result{number}", again.party) for number in range(2)]
    products, sums = again.decrypt(results)
    assert np.abs(products - x @ WEIGHTS @ y).max() < 2**-20
    assert np.abs(sums - x.sum(axis=1)).max() < 2**-20
