"""What Dask is to be set to where programs run, before workers and scheduler start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Ciphertexts do not compress. Tasks stand on the workers where what they need is, or will be, so
# that a task stolen by another worker is one whose values have to move. Values leave a worker's
# memory for its disk only by the files that runs keep. What was sent to a worker stays there until
# all of its tasks have had it: dropped as a copy too many, it would be sent again. Runs are
# measured by `cloakwork.Profile`; what Dask does to watch its processes takes a twentieth of two
# cores, and is done less often.
SETTINGS: Mapping[str, Any] = {
    "distributed.comm.compression": None,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "2s",
}

# Attempts at a grain: on one worker where a file or a connection fails, and on workers one after
# the other where each breaks down in it.
ATTEMPTS = 3

# The part of a worker's memory for inputs that further grains take.
KEPT_OF_LIMIT = 0.25
