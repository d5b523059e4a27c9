"""Programs of every kind on a server in another process, over TLS.

The operator compiles programs and serves them; a client in a third process has the server's
address, its certificate and a token. The server has no secret key, the client no program.
Run: python -m examples.server
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import torch

import cloakwork as cw
from cloakwork.service.server.access import new_token
from examples.server.certificate import write_certificate


def programs() -> dict[str, cw.Program]:
    """What the operator offers: statistics, a product, a network, integers, bits."""

    @cw.circuit(price=cw.vector(4, bits=8), count=cw.vector(4, bits=8))
    def total(price: Any, count: Any) -> Any:
        return sum(price[n] * count[n] for n in range(4))

    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.SiLU(), torch.nn.Linear(4, 2))
    samples = torch.rand(64, 8) * 2 - 1
    return {
        "spread": cw.compile(lambda x: x.var(), (64,)),
        "product": cw.compile(lambda a, b: a @ b, (16, 16), (16, 16)),
        "network": cw.nn.compile(network.eval(), samples[:1], calibration=samples),
        "total": total.compile(bits=20),
        "adult": cw.boolean.above(cw.Port("age", "unsigned", 7), 17).compile(),
    }


def main() -> None:
    """Serve, let a client ask, and compare what it got with the programs in the clear."""
    offered = programs()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "programs").mkdir()
        for name, program in offered.items():
            program.save(folder / "programs" / f"{name}.cw")
        token = new_token(folder / "tokens", "ada", datetime.now(UTC) + timedelta(hours=1))
        certificate, key = write_certificate(folder)
        command = [sys.executable, "-m", "cloakwork", "serve", made, "--port", "0"]
        command += ["--token-file", str(folder / "tokens")]
        command += ["--tls-cert", str(certificate), "--tls-key", str(key)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            print(told := server.stdout.readline().rstrip())
            asking = [sys.executable, "-m", "examples.server.client", told.split()[-1]]
            asking += [str(certificate), str(folder / "found.npz")]
            subprocess.run(asking, env={**os.environ, "TOKEN": token}, check=True)
            server.terminate()
        _compare(offered, np.load(folder / "found.npz"))


def _compare(offered: dict[str, cw.Program], found: Any) -> None:
    for name, program in offered.items():
        inputs = {port.name: found[f"{name}.{port.name}"] for port in program.inputs}
        clear = program.run_clear(**inputs)
        expected = next(iter(clear.values())) if isinstance(clear, dict) else clear
        print(f"  {name:<10} off by {np.abs(np.float64(expected) - found[name]).max():.1e}")


if __name__ == "__main__":
    main()
