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
    blocks, taken = [], 0
    async for block in request.stream():
        taken += len(block)
        if taken > most:
            raise QuotaError(
                f"cannot take {what}: expected at most {most} bytes, got more; send less at once"
            )
        blocks.append(block)
    return b"".join(blocks)
