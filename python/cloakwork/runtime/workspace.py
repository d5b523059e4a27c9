"""The memory that the engine works in, by the operations of a program."""

from __future__ import annotations

from collections import Counter
from math import isqrt

from cloakwork._native import WORD_BYTES, Parameters, cached_bytes, threads
from cloakwork.programs.bsgs import split
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import Linear, Polynomial
from cloakwork.schemes.transform_cache import transform_bytes

# Polynomials of two operands, a result and what is between.
_OPERANDS = 8
# Of a linear transform, what is not rotated: operand, first sum and result.
_UNROTATED = 3


class Workspace:
    """The polynomials that the engine keeps, by their number of limbs.

    It keeps the memory of polynomials for polynomials of the same length to come. So of each length
    there are in the end as many as any operation takes at once.

    Args:
        parameters: What it runs under.
        slots: Those of the program.

    Example:
        >>> parameters = Parameters(levels=1, log_n=10, insecure=True)
        >>> workspace = Workspace(parameters, parameters.slots)
        >>> workspace.switch(1)
        >>> workspace.nbytes // (parameters.n * WORD_BYTES)
        48
    """

    def __init__(self, parameters: Parameters, slots: int) -> None:
        self._parameters = parameters
        self._slots = slots
        self._special = parameters.key_prime_count - parameters.prime_count(parameters.levels)
        self._kept: dict[int, int] = {}
        self._transforms: dict[int, list[int]] = {}

    @property
    def in_use(self) -> int:
        """Bytes that an operation uses at once, at the most."""
        return max(self._sizes(), default=0)

    @property
    def nbytes(self) -> int:
        """Bytes of all that is kept, or of what is in use at once if that is more."""
        return min(sum(self._sizes()), max(cached_bytes(), self.in_use))

    def _sizes(self) -> list[int]:
        """Bytes of the polynomials of each length."""
        polynomial = self._parameters.n * WORD_BYTES
        return [polynomial * limbs * count for limbs, count in self._kept.items()]

    def encode(self, operation: Linear, level: int) -> int:
        """Encode the diagonals of each giant step at once; the bytes that they come to."""
        steps = split(operation.diagonals, self._slots, operation.baby_steps)
        giants = Counter(number - number % steps.baby_steps for number in steps.numbers)
        most = max(giants.values())
        self._take(self._extended(level), most)
        return transform_bytes(self._parameters, most, level)

    def transform(self, operation: Linear, level: int) -> None:
        """Two polynomials for each step, and what a key switch takes on every thread."""
        steps = split(operation.diagonals, self._slots, operation.baby_steps)
        beside = self._transforms.setdefault(level, [])
        beside.append(2 * (len(steps.baby) + len(steps.giant) + 2))
        self._take(self._extended(level), sum(sorted(beside)[-threads() :]))
        self.switch(level, threads())

    def bootstrap(self, refreshing: Refreshing) -> None:
        """Raise the modulus, transform to coefficients and back, and evaluate a cosine."""
        for level, _, rotations in refreshing.transforms:
            self._take(self._extended(level), 2 * (rotations + _UNROTATED))
            self.switch(level)
        level = refreshing.reduction_level
        # Of two values at once the first is there in full while the second is reduced.
        self._take(self._parameters.prime_count(level), 2 * refreshing.reduction_products + 2)
        self.switch(level)

    def switch(self, level: int, at_once: int = 1) -> None:
        """Switch keys: operand and result, two sums, and every digit modulo all primes."""
        own, extended = self._parameters.prime_count(level), self._extended(level)
        polynomial = self._parameters.n * WORD_BYTES
        key = self._parameters.evaluation_key_bytes(level)
        digits = max(1, round(key / (2 * extended * polynomial)))
        self._take(own, _OPERANDS)
        self._take(extended, 2 * at_once)
        self._take(extended - own // digits, digits * at_once)

    def powers(self, operation: Polynomial, level: int) -> None:
        """The powers that are held while a polynomial is evaluated, about the root of its degree.

        Paterson and Stockmeyer, SIAM Journal on Computing 1973.
        """
        self._take(self._parameters.prime_count(level), 4 * isqrt(len(operation.coefficients)))

    def _extended(self, level: int) -> int:
        return self._parameters.prime_count(level) + self._special

    def _take(self, limbs: int, count: int) -> None:
        self._kept[limbs] = max(count, self._kept.get(limbs, 0))
