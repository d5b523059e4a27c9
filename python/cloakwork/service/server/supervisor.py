"""What tells the service manager that started a server how it is: systemd, by its socket."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

READY, STOPPING = "READY=1", "STOPPING=1"


def tell(state: str) -> None:
    """Say a state where `NOTIFY_SOCKET` says that somebody listens; see sd_notify(3).

    A manager that is not there any more is no reason to end.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told, suppress(OSError):
        # One that begins with @ is in the abstract namespace.
        told.connect(f"\0{address[1:]}" if address.startswith("@") else address)
        told.sendall(state.encode())
