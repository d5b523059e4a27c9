"""Bodies of requests, which are taken in as far as they may go, and what headers say of them."""

from __future__ import annotations

from starlette.requests import Request

from cloakwork.errors import InvalidArgumentError, QuotaError

_MOST_DIGITS = 16


async def body_of(request: Request, most: int, what: str) -> bytes:
    """The body of a request.

    Args:
        request: The request.
        most: How many bytes it may have.
        what: What it is.

    Raises:
        QuotaError: It has more.
    """
    refusal = QuotaError(
        f"cannot take {what}: expected at most {most} bytes, got more; send less at once"
    )
    if declared_bytes(request) > most:
        raise refusal
    blocks, taken = [], 0
    async for block in request.stream():
        taken += len(block)
        if taken > most:
            raise refusal
        blocks.append(block)
    return b"".join(blocks)


def declared_bytes(request: Request) -> int:
    """How many bytes a request says that its body has; 0 where it does not say."""
    return number_said(request, "content-length", absent=0)


def number_said(request: Request, header: str, *, absent: int | None = None) -> int:
    """The number that a header says.

    Args:
        request: The request.
        header: The name of the header.
        absent: What stands for none; None where there has to be one.

    Raises:
        InvalidArgumentError: It is no number, or there is none.
    """
    text = request.headers.get(header)
    if text is None and absent is not None:
        return absent
    if text is None or not (text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS):
        raise InvalidArgumentError(
            f"cannot answer: expected a number as the header {header}, got {text!r:.40}; give one"
        )
    return int(text)
