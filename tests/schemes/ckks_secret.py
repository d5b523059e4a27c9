"""A secret key of CKKS that encrypts single vectors and decrypts them, for tests."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from cloakwork._native import Ciphertext, EvaluationKeys, Parameters
from cloakwork.programs.keys import KeyRequirements
from cloakwork.schemes.ckks import Ckks


class CkksSecret:
    """A new secret key of a parameter set."""

    def __init__(self, parameters: Parameters) -> None:
        self.scheme = Ckks(parameters)
        self.key = self.scheme.secret_key()

    def encrypt(self, vector: NDArray[np.float64], *, bound: float, level: int) -> Ciphertext:
        """Encrypt a vector at a level."""
        return self.scheme.encrypt_vector(self.key, vector, level=level, bound=bound)

    def encrypt_publicly(
        self, vector: NDArray[np.float64], *, bound: float, level: int
    ) -> Ciphertext:
        """Encrypt a vector at a level by the public key, which is noisier."""
        public = self.scheme.public_key(self.key)
        return self.scheme.encrypt_vector(public, vector, level=level, bound=bound)

    def decrypt(self, value: Ciphertext) -> NDArray[np.float64]:
        """The real parts of all slots."""
        return self.scheme.decrypt(self.key, [value], None, [value.estimate]).vectors[0].real

    def evaluation_keys(
        self, relinearisation_level: int | None, rotations: Mapping[int, int]
    ) -> EvaluationKeys:
        """Evaluation keys at these levels."""
        needed = KeyRequirements(relinearisation_level, dict(rotations))
        return self.scheme.keys_for(self.key, needed)
