"""Which addresses are this machine's own."""

from __future__ import annotations

from ipaddress import ip_address


def is_here(host: str) -> bool:
    """Whether a host is this machine, which nobody else reaches by the name.

    Example:
        >>> is_here("127.0.0.1"), is_here("::1"), is_here("0.0.0.0"), is_here("localhost")
        (True, True, False, True)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
