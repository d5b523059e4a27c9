"""What a client loads: nothing that compiles, runs on a cluster, or serves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import cloakwork as cw
from tests.service.serving import Serving, put

_CODE = """
import json, sys
import cloakwork as cw
with cw.connect(sys.argv[1], insecure=True) as server:
    client = server.interface("norm").client()
    evaluator = server.evaluator("norm", client)
    results = evaluator.run(client.encrypt([0.5] * 16))
print(json.dumps([client.decrypt(results).item(), [*sys.modules]]))
"""
# Of others, and of Cloakwork's own.
_LARGE = {"torch", "scipy", "dask", "distributed", "matplotlib", "jax", "pandas", "sklearn"}
_LARGE |= {"opt_einsum", "fsspec", "starlette", "uvicorn", "sqlite3", "anyio.from_thread"}
_OWN = ("plan", "frontends", "cluster", "cli", "service.server")


def test_a_client_loads_what_it_takes_and_no_more(tmp_path: Path) -> None:
    put(tmp_path, norm=cw.compile(lambda x: x @ x, (16,), log_n=9, insecure=True))
    serving = Serving(tmp_path)
    try:
        address = f"http://127.0.0.1:{serving.port}"
        command = [sys.executable, "-c", _CODE, address]
        printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    finally:
        serving.stop()
    found, modules = json.loads(printed.stdout)
    assert abs(found - 4) < 2.0**-8
    assert "cloakwork.service.client.remote" in modules
    assert sorted(_LARGE & {*modules}) == []
    own = tuple(f"cloakwork.{name}" for name in _OWN)
    assert not [name for name in modules if name.startswith(own)]
