"""Whether a server on this machine answers, for health checks of containers.

Run as `python -m cloakwork.service.server.alive PORT`; it fails where nobody answers.
"""

from __future__ import annotations

import ssl
import sys
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection

_HOST = "127.0.0.1"
_SECONDS = 5.0
_OK = 200


def is_alive(port: int) -> bool:
    """Whether a server answers at a port, over TLS or not.

    Whose certificate it is, is not looked at: its name is seldom that of the machine itself.

    Args:
        port: Where.

    Example:
        >>> is_alive(1)
        False
    """
    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    for connection in (
        # Servers without TLS log what is not HTTP; those with it log nothing of HTTP.
        HTTPConnection(_HOST, port, timeout=_SECONDS),
        HTTPSConnection(_HOST, port, timeout=_SECONDS, context=anybody),
    ):
        with suppress(OSError, HTTPException):
            connection.request("GET", "/livez")
            return connection.getresponse().status == _OK
    return False


if __name__ == "__main__":
    sys.exit(not is_alive(int(sys.argv[1])))
