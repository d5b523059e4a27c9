"""What examples of iterations have in common: a run on ciphertexts, and what it did."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import cloakwork as cw


def shown(program: cw.Program, function: Any, *inputs: Any) -> Any:
    """The result on ciphertexts; prints the plan of all steps, and how far the result is off."""
    print(cw.explain(program).partition("\nrepeated")[2].strip())
    client, evaluator = program.keygen()
    sent = client.encrypt(*inputs)
    start = time.perf_counter()
    made = evaluator.run(sent)
    print(f"time of the run   {time.perf_counter() - start:.1f} s")
    result = client.decrypt(made)
    off = np.abs(result - function(*inputs)).max()
    print(f"largest error     {off:.1e}")
    return result
