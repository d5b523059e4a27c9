"""What is no program, and yet was to be explained or estimated."""

from __future__ import annotations

from typing import Any

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.runtime.program import Program


def no_program(action: str, expected: str, x: Any) -> InvalidArgumentError:
    """The refusal, which says where a model or an index has its program.

    Example:
        >>> no_program("estimate", "a program", 3)
        InvalidArgumentError('cannot estimate: expected a program, got 3')
    """
    has_one = isinstance(getattr(x, "program", None), Program)
    advice = "; take its program, .program" if has_one else ""
    return InvalidArgumentError(f"cannot {action}: expected {expected}, got {shown(x)}{advice}")
