"""A base of what goes to files by functions of its own, never by pickle."""

from __future__ import annotations

from typing import ClassVar, NoReturn, SupportsIndex

from cloakwork.errors import NotPicklableError


class Unpicklable:
    """Keys and ciphertexts, which are not pickled, nor copied as pickle would copy them.

    Attributes:
        saved_by: The function that writes it to a file.

    Example:
        >>> import pickle
        >>> class Lock(Unpicklable):
        ...     saved_by = "save_lock"
        >>> pickle.dumps(Lock())
        Traceback (most recent call last):
        cloakwork.errors.NotPicklableError: cannot pickle or copy Lock; save it by save_lock
    """

    __slots__ = ()

    saved_by: ClassVar[str]

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise NotPicklableError(
            f"cannot pickle or copy {type(self).__name__}; save it by {self.saved_by}"
        )
