"""What no backend of programs over integers computes, as no such program has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from numpy.typing import NDArray

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.slots import Basis


class NoTransforms:
    """Refuses linear transforms and polynomials.

    Example:
        >>> from cloakwork.errors import CloakworkError
        >>> try:
        ...     NoTransforms().polynomial(None, (0, 1), "monomial")
        ... except CloakworkError as error:
        ...     print(error)
        cannot run polynomial: programs over integers have none
    """

    def linear(
        self, value: Any, diagonals: Mapping[int, NDArray[Any]], baby_steps: int
    ) -> NoReturn:
        """Refuse a linear transform.

        Raises:
            InvalidProgramError: Always.
        """
        raise InvalidProgramError("cannot run linear: programs over integers have none")

    def polynomial(self, value: Any, coefficients: Sequence[float], basis: Basis) -> NoReturn:
        """Refuse a polynomial.

        Raises:
            InvalidProgramError: Always.
        """
        raise InvalidProgramError("cannot run polynomial: programs over integers have none")
