"""Counts the files and functions of the package that five fixed flows enter.

Each flow runs in a process of its own that has imported everything, in rings far too small for
security. What it enters says how much a reader has to know to follow it.

Run as `python tools/flows.py`; it prints them as JSON, such as {"a run": [26, 158]}.
"""

from __future__ import annotations

import inspect
import json
import multiprocessing
import os
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import torch

import cloakwork as cw

PACKAGE = str(Path(cw.__file__).parent)
_ARRAY = np.linspace(-1, 1, 64).reshape(8, 8)
# Parts of a function that not every version of Python makes functions of their own.
_INNER = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}

Flow = Callable[[], object]


def entered(flow: Flow, package: str = PACKAGE) -> tuple[int, int]:
    """The files and functions of a package that a flow enters."""
    codes: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:  # noqa: ARG001
        code = frame.f_code
        # The bodies of modules and classes are not optimized.
        if event == "call" and code.co_flags & inspect.CO_OPTIMIZED and code.co_name not in _INNER:
            codes.add(code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        flow()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    own = [code for code in codes if code.co_filename.startswith(package)]
    return len({code.co_filename for code in own}), len(own)


def _eager_einsum() -> Flow:
    session = cw.Session(depth=1, insecure=True, log_n=9)
    return lambda: session.decrypt(cw.einsum("ij,kj->ik", session.encrypt(_ARRAY), _ARRAY))


def _program() -> cw.Program:
    return cw.compile(lambda x, w: x @ w, (8, 8), (8, 8), insecure=True, log_n=9)


def _network() -> Flow:
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.SiLU(), torch.nn.Linear(8, 4))
    return lambda: cw.nn.compile(module.eval(), _ARRAY, insecure=True, log_n=9)


def _run() -> Flow:
    client, evaluator = _program().keygen()
    sent = client.encrypt(_ARRAY, _ARRAY)
    return lambda: client.decrypt(evaluator.run(sent))


def _run_by_files() -> Flow:
    program, folder = _program(), Path(tempfile.mkdtemp())

    def flow() -> None:
        client, evaluator = program.keygen()
        client.save(folder / "client")
        evaluator.save(folder / "evaluator")
        client.encrypt(_ARRAY, _ARRAY).save(folder / "in")
        server = cw.load(folder / "evaluator", cw.Evaluator, insecure=True)
        server.run(cw.load(folder / "in", cw.Encrypted)).save(folder / "out")
        reader = cw.load(folder / "client", cw.Client, insecure=True)
        reader.decrypt(cw.load(folder / "out", cw.Encrypted))

    return flow


FLOWS: dict[str, Callable[[], Flow]] = {
    "eager einsum": _eager_einsum,
    "cw.compile": lambda: _program,
    "nn.compile": _network,
    "a run": _run,
    "a run by files": _run_by_files,
}


def _counted(name: str) -> tuple[int, int]:
    return entered(FLOWS[name]())


def main() -> None:
    """Print what each flow enters."""
    warnings.simplefilter("ignore")
    for name in cw.__all__:
        getattr(cw, name)
    import_module("torch.export")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = os.environ["TMPDIR"] = folder
        with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
            print(json.dumps(dict(zip(FLOWS, pool.map(_counted, FLOWS, chunksize=1), strict=True))))


if __name__ == "__main__":
    main()
