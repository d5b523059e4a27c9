"""What users may call what they keep on a server."""

from __future__ import annotations

import re

from cloakwork.errors import InvalidArgumentError

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def is_name(text: str) -> bool:
    """Whether it is a name.

    Example:
        >>> is_name("meter-1"), is_name("../meter")
        (True, False)
    """
    return bool(_NAME.fullmatch(text))


def require_name(text: str, action: str) -> None:
    """Refuse what is not a name.

    Args:
        text: What is given for a name.
        action: What is attempted.

    Raises:
        InvalidArgumentError: It is not.
    """
    if not is_name(text):
        raise InvalidArgumentError(
            f"cannot {action}: expected a name of up to 64 letters, digits and _.-, got "
            f"{text!r:.80}; give another"
        )


def shown_name(name: str) -> str:
    """What its user calls a program.

    Example:
        >>> shown_name("~ada/scores"), shown_name("scores")
        ('scores', 'scores')
    """
    return name.rpartition("/")[2]
