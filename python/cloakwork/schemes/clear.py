"""What the schemes share that hide nothing: the meaning of the others, and their debuggers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

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

    def keys_for(self, secret: NoKey, needed: Any) -> NoKey:
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


def rotated_products(left: NDArray[Any], right: NDArray[Any], step: int) -> NDArray[Any]:
    """The sums over j of left j, rotated by t times the step, times right j.

    Example:
        >>> u, v = np.array([[1, 2, 3, 4]]), np.array([[10, 10, 1, 1]])
        >>> rotated_products(u, v, 2).tolist()
        [[10, 20, 3, 4], [30, 40, 1, 2]]
    """
    terms, *rows, slots = left.shape
    turns = slots // step
    # A matrix of each lane: rows of slots and lanes are what products are taken in.
    u, v = (each.reshape(terms, -1, turns, step) for each in (left, right))
    lanes = u.transpose(1, 3, 2, 0) @ v.transpose(1, 3, 0, 2)
    own = np.arange(turns)
    rotated = (own[:, np.newaxis] + own) % turns
    # Axes: row of slots, lane, rotation t, h.
    products = lanes[:, :, rotated, own]
    return np.ascontiguousarray(products.transpose(2, 0, 3, 1)).reshape(turns, *rows, slots)


def skewed(vectors: NDArray[Any], step: int) -> NDArray[Any]:
    """The lists whose rotated products are the diagonal products of runs of vectors.

    Slots of row h of vector j of a run are those of vector j - h.

    Example:
        >>> skewed(np.array([[1, 2], [3, 4]]), 1).tolist()
        [[1, 4], [3, 2]]
    """
    terms, *between, slots = vectors.shape
    turns = slots // step
    runs = vectors.reshape(terms // turns, turns, -1, turns, step)
    own = np.arange(turns)
    # Axes: number j of a run, row h.
    others = (own[:, np.newaxis] - own) % turns
    # Axes that are numbered come first: j, h, run, row of slots, lane.
    found = runs[:, others, :, own]
    return np.moveaxis(found, (0, 1, 2), (1, 3, 0)).reshape(terms, *between, slots)
