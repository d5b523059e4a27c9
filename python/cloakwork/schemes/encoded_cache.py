"""What is encoded once and cached: linear transforms, as far as they fit, and recent constants."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork._native import (
    WORD_BYTES,
    BgvParameters,
    LinearTransform,
    Parameters,
    Plaintext,
    SparseDiagonals,
)
from cloakwork.base.itself import Itself
from cloakwork.base.system_memory import physical_bytes
from cloakwork.programs.bsgs import Split, split
from cloakwork.programs.diagonals import SparseDiagonals as Sparse
from cloakwork.programs.equal_diagonals import different_by_giant, period_of
from cloakwork.programs.slots import Vector

Coefficients: TypeAlias = NDArray[np.int32] | NDArray[np.int64]
_Diagonals: TypeAlias = Mapping[int, Vector]
# Of the machine's memory, what encoded transforms may take by default.
_SHARE = 4
# Constants: as many as operations that run at the same time work with.
_MOST = 4


class Encoding(NamedTuple):
    """How a vector is encoded.

    Args:
        level: The level of what it meets.
        scale: The scale.
        bound: What no slot exceeds.
    """

    level: int
    scale: float
    bound: float

    def integers(self, parameters: Parameters, vector: NDArray[Any]) -> Coefficients:
        """The coefficients of a vector, rounded.

        Example:
            >>> import numpy as np
            >>> p = Parameters(levels=1, log_n=10, insecure=True)
            >>> int(Encoding(1, 2.0**20, 1.0).integers(p, np.ones(512))[0])
            1048576
        """
        slots = np.ascontiguousarray(vector, dtype=np.complex128)
        found = parameters.coefficients(slots, **self._asdict())
        return found.astype(np.int32) if np.abs(found).max() < 1 << 31 else found


@dataclass(frozen=True, slots=True, eq=False)
class EncodedVector:
    """A clear vector as the coefficients of its plaintext, encoded anew whenever it is used.

    So it takes as few bytes as its numbers; see `Encoding.integers`.

    Args:
        integers: The coefficients.
        encoding: How they were made.
    """

    integers: Coefficients
    encoding: Encoding

    @property
    def level(self) -> int:
        """The level of what it meets."""
        return self.encoding.level

    @property
    def bound(self) -> float:
        """What no slot exceeds."""
        return self.encoding.bound

    @property
    def nbytes(self) -> int:
        """Bytes of the coefficients."""
        return self.integers.nbytes

    def __neg__(self) -> EncodedVector:
        return EncodedVector(-self.integers, self.encoding)

    def plaintext(self, parameters: Parameters) -> Plaintext:
        """It as operations take it."""
        return parameters.encode_coefficients(self.integers, **self.encoding._asdict())


def ciphertext_bytes(parameters: Parameters | BgvParameters, level: int) -> int:
    """Bytes of a ciphertext of degree 1, of two polynomials.

    Example:
        >>> p = Parameters(levels=1, log_n=10, insecure=True)
        >>> ciphertext_bytes(p, 1) == 2 * 1024 * p.prime_count(1) * 4
        True
    """
    return 2 * parameters.n * parameters.prime_count(level) * WORD_BYTES


def default_cache_bytes() -> int:
    """Bytes that encoded transforms may take where nothing else is said.

    Example:
        >>> default_cache_bytes() > 10**7
        True
    """
    return physical_bytes() // _SHARE


def diagonal_limbs(parameters: Parameters, steps: Split, level: int, shared_by: int) -> int:
    """Limbs of an encoded diagonal of a linear transform.

    Few diagonals have the limbs of the key-switching modulus, too; see the engine's transforms.

    Example:
        >>> from cloakwork.programs.bsgs import split
        >>> p = Parameters(levels=1, log_n=10, insecure=True)
        >>> few, many = split(range(4), 512, 2), split(range(64), 512, 8)
        >>> diagonal_limbs(p, few, 1, 1) == p.key_prime_count
        True
        >>> diagonal_limbs(p, many, 1, 1) == p.prime_count(1)
        True
    """
    baby, giant = len(steps.baby), len(steps.giant)
    count = len(steps.numbers)
    return parameters.limbs_of_diagonals(level, count, baby, giant, shared_by=shared_by)


def transform_bytes(
    parameters: Parameters, diagonals: _Diagonals, steps: Split, level: int, shared_by: int
) -> int:
    """Bytes of the encoded diagonals of a linear transform.

    Those that repeat themselves take as many words as differ, and equal ones of a giant step are
    stored once.

    Example:
        >>> import numpy as np
        >>> from cloakwork.programs.bsgs import split
        >>> p = Parameters(levels=1, log_n=10, insecure=True)
        >>> alternating = {0: np.tile([1.0, 0.5], 256), 1: np.tile([0.5, 1.0], 256)}
        >>> limbs = p.key_prime_count
        >>> transform_bytes(p, alternating, split([0, 1], 512, 2), 1, 1) == 2 * 32 * limbs * 4
        True
    """
    words = parameters.diagonal_words(period_of(diagonals))
    words *= sum(different_by_giant(diagonals, steps.baby_steps).values())
    return words * diagonal_limbs(parameters, steps, level, shared_by) * WORD_BYTES


def native_diagonals(diagonals: _Diagonals) -> Mapping[int, Vector] | SparseDiagonals:
    """Diagonals as the engine takes them.

    Example:
        >>> import numpy as np
        >>> native_diagonals({0: np.ones(2)})
        {0: array([1., 1.])}
    """
    return diagonals.native() if isinstance(diagonals, Sparse) else dict(diagonals)


class TransformCache:
    """Encodes linear transforms; those that fit stay encoded for later runs.

    Args:
        parameters: The parameter set.
        budget: Bytes that encoded transforms may take. What does not fit is encoded diagonal by
            diagonal in every run.

    Example:
        >>> import numpy as np
        >>> p = Parameters(levels=1, log_n=10, insecure=True)
        >>> cache = TransformCache(p, budget=10**6)
        >>> diagonals = {0: np.ones(512)}
        >>> cache.of(diagonals, 1, p.scale(1), 1, 1) is cache.of(diagonals, 1, p.scale(1), 1, 1)
        True
    """

    def __init__(self, parameters: Parameters, budget: int) -> None:
        self._parameters = parameters
        self._budget = budget
        self._made: dict[tuple[Itself[_Diagonals], int, int, int], LinearTransform] = {}
        self._changing = threading.Lock()
        self.nbytes = 0

    def of(
        self,
        diagonals: _Diagonals,
        level: int,
        scale: float,
        baby_steps: int,
        shared_by: int,
    ) -> LinearTransform:
        """The transform with these diagonals of a value at a level and scale."""
        key = (Itself(diagonals), level, baby_steps, shared_by)
        with self._changing:
            if key in self._made:
                return self._made[key]
            steps = split(diagonals, self._parameters.slots, baby_steps)
            needed = transform_bytes(self._parameters, diagonals, steps, level, shared_by)
            fits = self.nbytes + needed <= self._budget
            if fits:
                self.nbytes += needed
        make = LinearTransform if fits else LinearTransform.streamed
        transform = make(
            self._parameters,
            native_diagonals(diagonals),
            slots=self._parameters.slots,
            level=level,
            scale=self._parameters.matching_scale(level, scale),
            baby_steps=baby_steps,
            shared_by=shared_by,
        )
        if fits:
            with self._changing:
                self._made[key] = transform
                # Diagonals of one giant step may repeat themselves sooner than those of another.
                self.nbytes += transform.nbytes - needed
        return transform


class RecentPlaintexts:
    """The constants that were encoded last.

    Args:
        parameters: The parameter set.

    Example:
        >>> import numpy as np
        >>> p = Parameters(levels=1, log_n=10, insecure=True)
        >>> recent, ones = RecentPlaintexts(p), np.ones(512)
        >>> recent.of(ones, 1, p.scale(1)) is recent.of(ones, 1, p.scale(1))
        True
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._made: OrderedDict[tuple[Itself[Vector], int, float], Plaintext] = OrderedDict()
        self._changing = threading.Lock()

    def of(self, constant: Vector, level: int, scale: float) -> Plaintext:
        """A constant encoded at a level and scale."""
        key = (Itself(constant), level, scale)
        with self._changing:
            if key in self._made:
                self._made.move_to_end(key)
                return self._made[key]
        made = self._parameters.encode(constant, level=level, scale=scale)
        with self._changing:
            self._made[key] = made
            if len(self._made) > _MOST:
                self._made.popitem(last=False)
        return made
