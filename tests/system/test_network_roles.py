"""A trained network between two processes that share files, the evaluator's without PyTorch."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cloakwork as cw

torch = pytest.importorskip("torch")

from examples.nn.digits import digits  # noqa: E402
from examples.nn.evaluator import peak_bytes  # noqa: E402
from examples.nn.networks import Square  # noqa: E402

IMAGES = 3
EVALUATOR = """
import sys
from pathlib import Path
import cloakwork as cw

folder = Path(sys.argv[1])
network = cw.nn.load_network(folder / "network")
evaluator = network.evaluator(cw.load_evaluator(folder / "evaluator"))
result = evaluator.run(cw.nn.load_encrypted(folder / "inputs", network))
cw.nn.save_encrypted(result, folder / "result")
assert not hasattr(evaluator, "decrypt")
assert not {"torch", "scipy", "sklearn"} & set(sys.modules)
try:
    cw.load_client(folder / "evaluator")
except cw.errors.MalformedBytesError:
    print("no client")
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""
