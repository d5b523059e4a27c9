"""Errors as they go over a connection: problem details of RFC 9457, of Cloakwork's own errors."""

from __future__ import annotations

from typing import Any

from cloakwork import errors
from cloakwork.base.arguments import printable
from cloakwork.errors import CloakworkError

MEDIA_TYPE = "application/problem+json"
PREFIX = "urn:cloakwork:"
# Names of errors; no others are told, or taken.
KINDS = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, CloakworkError)
}
_STATUSES: dict[type[CloakworkError], int] = {
    errors.AccessDeniedError: 401,
    errors.NotServedError: 404,
    errors.UploadMismatchError: 409,
    errors.RunCancelledError: 410,
    errors.QuotaError: 429,
    errors.StorageFullError: 507,
    errors.WorkerFailedError: 424,
}
# What is asked for is well understood, and cannot be done.
_REFUSED = 422


def problem_of(error: CloakworkError) -> dict[str, Any]:
    """What is told of an error.

    Example:
        >>> from cloakwork.errors import NotServedError
        >>> problem_of(NotServedError("cannot run: there is no such program"))["status"]
        404
    """
    # Of kinds that are not told apart here, the nearest one that is.
    kind = next(each for each in type(error).__mro__ if each.__name__ in KINDS)
    statuses = [status for known, status in _STATUSES.items() if isinstance(error, known)]
    return {
        "type": f"{PREFIX}{kind.__name__}",
        "title": (kind.__doc__ or "").partition("\n")[0],
        "status": statuses[0] if statuses else _REFUSED,
        "detail": str(error),
    }


def told_error(problem: object) -> CloakworkError | None:
    """The error that a problem tells of; None where it tells of none that is known.

    Example:
        >>> from cloakwork.errors import QuotaError
        >>> told_error(problem_of(QuotaError("cannot run: too many jobs")))
        QuotaError('cannot run: too many jobs')
    """
    if not isinstance(problem, dict):
        return None
    name, text = str(problem.get("type", "")), problem.get("detail")
    kind = KINDS.get(name.removeprefix(PREFIX))
    if kind is None or not name.startswith(PREFIX) or not isinstance(text, str):
        return None
    # Whoever tells it may be anyone.
    detail = printable(text)
    # One whose maker takes more than a message is told as its base.
    try:
        return kind(detail)
    except TypeError:
        return CloakworkError(detail)
