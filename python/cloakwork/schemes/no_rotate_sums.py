"""What no backend of programs over reals computes, as no such program has it."""

from __future__ import annotations

from typing import Any, NoReturn

from cloakwork.errors import InvalidProgramError


class NoRotateSums:
    """Refuses sums of rotations.

    Example:
        >>> from cloakwork.errors import CloakworkError
        >>> try:
        ...     NoRotateSums().rotate_sum(None, (0, 1), ())
        ... except CloakworkError as error:
        ...     print(error)
        cannot run rotate_sum: programs over reals have none
    """

    def rotate_sum(self, value: Any, added: Any, subtracted: Any) -> NoReturn:
        """Refuse a sum of rotations.

        Raises:
            InvalidProgramError: Always.
        """
        raise InvalidProgramError("cannot run rotate_sum: programs over reals have none")
