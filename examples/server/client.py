"""Whoever has data: asks a server to run its programs on them, and has none of the programs.

Run by examples.server: python -m examples.server.client URL CERTIFICATE RESULTS
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import numpy as np

import cloakwork as cw


def main(url: str, certificate: str, results: str) -> None:
    """Encrypt numbers for each program, have it run, decrypt, and keep both in a file."""
    random, kept = np.random.default_rng(0), dict[str, Any]()
    with cw.connect(url, token=os.environ["TOKEN"], authority=certificate) as server:
        for name in server.programs:
            interface = server.interface(name)
            client = interface.client()
            start = time.perf_counter()
            evaluator = server.evaluator(name, client)
            registered = time.perf_counter()
            inputs = {port.name: _numbers(port, random) for port in interface.inputs}
            found = client.decrypt(evaluator.run(client.encrypt(**inputs)))
            ran = time.perf_counter()
            print(f"  {name:<10} keys {registered - start:5.1f} s   run {ran - registered:5.1f} s")
            kept |= {f"{name}.{each}": value for each, value in inputs.items()}
            kept[name] = next(iter(found.values())) if isinstance(found, dict) else found
    np.savez(results, **kept)


def _numbers(port: cw.Port, random: np.random.Generator) -> Any:
    if port.kind == "real":
        return random.uniform(-1, 1, port.shape)
    found = random.integers(0, 100, port.shape)
    return found if port.shape else int(found)


if __name__ == "__main__":
    main(*sys.argv[1:])
