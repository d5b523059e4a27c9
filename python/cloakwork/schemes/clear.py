"""What the schemes share that hide nothing: the meaning of the others, and their debuggers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from cloakwork.base.record import Fields, Record
from cloakwork.schemes.base import Decrypted, Scheme


class NoKey:
    """Stands where a key stands, and hides nothing."""

    nbytes: ClassVar[int] = 0


class ClearScheme(Scheme):
    """A scheme that hides nothing; see `schemes.base.Scheme`.

    Attributes:
        error: How far any number may be off.
    """

    encrypts: ClassVar[bool] = False
    error: ClassVar[float] = 0.0
    insecure = True

    def log2_failure(self, body: Any) -> float:
        """Nothing goes wrong."""
        return -math.inf

    def in_clear(self, noise_seed: int | None = None) -> Self:
        """The same."""
        return self

    def secret_key(self) -> NoKey:
        """What stands where a secret key stands."""
        return NoKey()

    def public_key(self, secret: NoKey) -> NoKey:
        """What stands where a public key stands."""
        return secret

    def evaluation_keys(self, secret: NoKey, body: Any) -> NoKey:
        """What stands where evaluation keys stand."""
        return secret

    def decrypt(
        self,
        secret: NoKey,
        values: Sequence[Any],
        body: Any,
        expected: Any = None,
        flooding: Any = None,
    ) -> Decrypted:
        """The vectors."""
        return Decrypted([value.slots for value in values], self.error)

    def dump(self, item: Any) -> Record:
        """A value as a record; a key is nothing."""
        return {} if isinstance(item, NoKey) else item.to_record()

    def read_key(self, kind: str, fields: Fields) -> NoKey:
        """What stands where keys stand."""
        return self.secret_key()
