"""A worker that says how far it is and goes on as a test lets it; then it runs the job."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from cloakwork.service.server.worker import Worker

# The folder in which a test leaves files named 0, 1, ...: the worker goes on by each.
PACE = "CLOAKWORK_TEST_PACE"
STEPS = [
    {"done": 0.0, "of": 1.0, "step": ""},
    {"done": 2, "of": 8, "step": "multiply x by constants"},
    {"done": 0.75, "of": 1.0, "step": "sum over x"},
]


def main() -> None:
    """Run what standard input asks for until it ends."""
    worker, pace = Worker(insecure=True), Path(os.environ[PACE])
    for line in sys.stdin:
        for number, step in enumerate(STEPS):
            _say(step)
            while not (pace / f"{number}").exists():
                time.sleep(0.01)
        made = worker.run(**json.loads(line), tell=lambda *_: None)
        _say({**made.written(), "kept": worker.kept_bytes})


def _say(told: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
