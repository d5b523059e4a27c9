"""Runs a program under limits of address space, each in a process of its own.

Arguments: a program's file, its inputs as JSON, a folder, and the limits, in mebibytes above what
the process has once the program is loaded. For each limit a line says how it ended.
"""

import json
import os
import resource
import signal
import sys
from pathlib import Path

import numpy as np

import cloakwork as cw
from cloakwork.errors import CloakworkError, MemoryBudgetError

PATIENCE = 200


def steps(program: cw.Program, inputs: dict[str, object], folder: Path) -> str:
    """Everything that users do, and how far it came."""
    step = "keygen"
    try:
        client, evaluator = program.keygen()
        step = "save"
        # The key of the limit before, which no other may replace.
        (folder / "client").unlink(missing_ok=True)
        client.save(folder / "client")
        evaluator.save(folder / "evaluator")
        step = "load"
        client = cw.load(folder / "client", cw.Client)
        evaluator = cw.load(folder / "evaluator", cw.Evaluator)
        step = "encrypt"
        encrypted = client.encrypt(**inputs)
        step = "run"
        results = evaluator.run(encrypted)
        step = "decrypt"
        found = client.decrypt(results)
        return f"finished {np.round(found, 3) if isinstance(found, np.ndarray) else found}"
    except MemoryBudgetError as error:
        return f"refused {step}: {error}"
    except CloakworkError as error:
        return f"wrong {step}: {type(error).__name__}: {error}"
    # What is not named is what is looked for.
    except BaseException as error:
        return f"raw {step}: {type(error).__name__}: {error}"


def address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def limited(program: cw.Program, inputs: dict[str, object], folder: Path, more: int) -> str:
    """How it ends within so many bytes more."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(PATIENCE)
        resource.setrlimit(resource.RLIMIT_AS, (address_space() + more, resource.RLIM_INFINITY))
        os.write(write, steps(program, inputs, folder).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as told:
        text = told.read()
    _, status = os.waitpid(child, 0)
    return text if status == 0 else f"ended by status {status} {text}"


def main() -> None:
    path, inputs, folder, *limits = sys.argv[1:]
    program = cw.load(path, cw.Program)
    for mebibytes in map(float, limits):
        more = int(mebibytes * 2**20)
        told = limited(program, json.loads(inputs), Path(folder), more)
        sys.stdout.write(f"{mebibytes} {told}\n")
        # Children would write what waits.
        sys.stdout.flush()


if __name__ == "__main__":
    main()
