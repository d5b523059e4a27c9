"""What may be said of how well a tensor or a party hides numbers."""

from __future__ import annotations

from cloakwork._native import Parameters


def warning(parameters: Parameters, *, hidden: bool) -> str:
    """Why numbers are not safe; empty where they are.

    Args:
        parameters: The parameter set.
        hidden: Whether numbers are encrypted at all.

    Example:
        >>> warning(Parameters(levels=1, log_n=10, insecure=True), hidden=True)
        'INSECURE'
        >>> warning(Parameters(levels=1), hidden=False)
        'clear backend: hides nothing'
    """
    if not hidden:
        return "clear backend: hides nothing"
    return "INSECURE" if parameters.insecure else ""


def describe(parameters: Parameters, *, hidden: bool) -> str:
    """A parameter set, claiming no security where nothing is encrypted.

    Example:
        >>> describe(Parameters(levels=1), hidden=False)
        'clear backend: hides nothing, 4096 slots, 1 levels'
    """
    if hidden:
        return str(parameters)
    reason = warning(parameters, hidden=hidden)
    return f"{reason}, {parameters.slots} slots, {parameters.levels} levels"
