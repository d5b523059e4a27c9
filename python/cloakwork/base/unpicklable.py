"""A base of what goes to files by functions of its own, never by pickle."""

from __future__ import annotations

from typing import ClassVar, NoReturn, SupportsIndex

from cloakwork.errors import NotPicklableError


class Unpicklable:
    """Keys and ciphertexts, which are not pickled, nor copied as pickle would copy them.

    Attributes:
        saved_by: What writes it to a file.

    Example:
        >>> import pickle
        >>> pickle.dumps(Unpicklable())
        Traceback (most recent call last):
        cloakwork.errors.NotPicklableError: cannot pickle or copy Unpicklable; save it by its ...
    """

    __slots__ = ()

    saved_by: ClassVar[str] = "its method save"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise NotPicklableError(
            f"cannot pickle or copy {type(self).__name__}; save it by {self.saved_by}"
        )
