"""The fingerprint of a program, which ends with why numbers are not safe under it."""

from __future__ import annotations

from cloakwork.base.record import Record, digest_of

CLEAR = "clear backend: hides nothing"
INSECURE = "INSECURE"
_ENDINGS = {CLEAR: "-clear", INSECURE: "-insecure"}
_DIGITS = 32


def fingerprint_of(record: Record, warning: str) -> str:
    """What tells a program from others.

    Args:
        record: All that counts of it.
        warning: Why numbers are not safe under it; empty where they are.

    Example:
        >>> len(fingerprint_of({}, "")), fingerprint_of({}, INSECURE)[32:]
        (32, '-insecure')
    """
    return digest_of(record)[:_DIGITS] + _ENDINGS.get(warning, "")


def warning_of(fingerprint: str) -> str:
    """Why numbers are not safe under the program of a fingerprint; empty where they are.

    Who changes the ending names a program that is not there: client and evaluator refuse it.

    Example:
        >>> warning_of("0123-clear"), warning_of("0123")
        ('clear backend: hides nothing', '')
    """
    return next((told for told, ending in _ENDINGS.items() if fingerprint.endswith(ending)), "")
