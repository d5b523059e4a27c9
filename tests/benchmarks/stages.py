"""How tests run the stages of a workload."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def secret_kept_from_servers(stage: str, secret: Path) -> Iterator[None]:
    """The run of a stage, from which the folder of secret keys is moved away if it is a server's.

    Args:
        stage: The name of the stage.
        secret: The folder, io/SIZE/NAME of the one that the stages run in.
    """
    if not stage.startswith("server"):
        yield
        return
    aside = secret.parents[2] / "aside"
    secret.rename(aside)
    yield
    aside.rename(secret)
