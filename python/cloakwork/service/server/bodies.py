"""Bodies of requests, which are taken in as far as they may go."""

from __future__ import annotations

from starlette.requests import Request

from cloakwork.errors import QuotaError


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
    declared = request.headers.get("content-length", "")
    return int(declared) if declared.isascii() and declared.isdigit() else 0
