"""A circuit between two processes that share files."""

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import cloakwork as cw

EVALUATOR = """
import sys
from pathlib import Path
import cloakwork as cw

folder = Path(sys.argv[1])
evaluator = cw.integers.load_evaluator(folder / "evaluator")
result = evaluator.run(cw.integers.load_integers(folder / "inputs", evaluator))
cw.integers.save_integers(result, folder / "results")
assert not hasattr(evaluator, "decrypt")
try:
    cw.integers.load_client(folder / "evaluator")
except cw.errors.MalformedBytesError:
    print("no client")
"""


@cw.circuit(
    a=cw.matrix(2, 3, bounds=(-99, 99)),
    b=cw.matrix(3, 2, bounds=(-99, 99)),
    bit=cw.scalar(bounds=(0, 1)),
)
def product_or_sum(a: Any, b: Any, bit: Any) -> Any:
    entries = [[sum(a[i, k] * b[k, j] for k in range(3)) for j in range(2)] for i in range(2)]
    total = sum(sum(row) for row in a)
    return cw.select(bit, entries, [[total, total], [total, total]])


def test_an_evaluator_process_runs_a_circuit_from_files(tmp_path: Path) -> None:
    program = product_or_sum.compile(bits=34, batch=5)
    assert not any(each.insecure for each in program.parameter_sets)
    client, evaluator = program.keygen()
    given, kept = tmp_path / "given", tmp_path / "kept"
    given.mkdir()
    kept.mkdir()
    rng = random.Random(3)
    a = [[[rng.randint(-99, 99) for _ in range(3)] for _ in range(2)] for _ in range(5)]
    b = [[[rng.randint(-99, 99) for _ in range(2)] for _ in range(3)] for _ in range(5)]
    bits = [0, 1, 1, 0, 1]
    cw.integers.save_evaluator(evaluator, given / "evaluator")
    cw.integers.save_integers(client.encrypt(a=a, b=b, bit=bits), given / "inputs")
    cw.integers.save_client(client, kept / "client")

    done = subprocess.run(
        [sys.executable, "-c", EVALUATOR, str(given)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["no client"]

    again = cw.integers.load_client(kept / "client")
    found = again.decrypt(cw.integers.load_integers(given / "results", again))
    for entry, x, y, bit in zip(found, a, b, bits, strict=True):
        products = [[sum(x[i][k] * y[k][j] for k in range(3)) for j in range(2)] for i in range(2)]
        total = sum(map(sum, x))
        assert entry == (products if bit else [[total, total], [total, total]])
