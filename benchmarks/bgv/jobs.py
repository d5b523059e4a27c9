"""Operations of BGV and of CKKS on one modulus."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork._native import (
    BgvCiphertext,
    BgvEvaluator,
    BgvParameters,
    BgvSecretKey,
    Evaluator,
    Parameters,
    SecretKey,
)

Rows: TypeAlias = NDArray[np.int64]

PRODUCT = "multiply and relinearise"
_SEED = 20160521


def same_modulus(parameters: Parameters) -> BgvParameters:
    """BGV on a chain of as many levels of as many bits."""
    return BgvParameters(
        levels=parameters.levels,
        level_bits=parameters.scale_bits,
        base_bits=parameters.scale_bits + parameters.headroom_bits,
        log_n=parameters.log_n,
        digits=3,
        insecure=parameters.insecure,
    )


def ckks_jobs(parameters: Parameters) -> Mapping[str, Callable[[], Any]]:
    """Operations by name."""
    top = parameters.levels
    secret = SecretKey.generate(parameters)
    keys = secret.evaluation_keys(
        relinearisation_level=top, rotations={1: top}, conjugation_level=None
    )
    evaluator = Evaluator(keys)
    a = secret.encrypt(parameters.encode(np.ones(parameters.slots), level=top, bound=1.0))
    product = evaluator.multiply(a, a)
    return {
        PRODUCT: lambda: evaluator.multiply(a, a),
        "switch down one level": lambda: evaluator.rescale(product),
        "rotate": lambda: evaluator.rotate(a, 1),
        "add": lambda: evaluator.add(a, a),
    }


def bgv_jobs(
    parameters: BgvParameters,
) -> Mapping[str, tuple[Callable[[], BgvCiphertext], Callable[[BgvCiphertext], bool]]]:
    """Operations by name, each with the check of its result."""
    top = parameters.levels
    secret = BgvSecretKey.generate(parameters)
    keys = secret.evaluation_keys(
        relinearisation_level=top, rotations={1: top}, row_swap_level=None
    )
    evaluator = BgvEvaluator(keys)
    modulus = parameters.plaintext_modulus
    half = modulus // 2
    values = np.random.default_rng(_SEED).integers(-half, half + 1, (2, parameters.slots))
    a = secret.encrypt(parameters.encode(values, level=top))
    product = evaluator.multiply(a, a)

    def holds(expected: Rows) -> Callable[[BgvCiphertext], bool]:
        centred = (expected + half) % modulus - half
        return lambda found: bool((secret.decrypt(found) == centred).all())

    squares = holds(values * values)
    return {
        PRODUCT: (lambda: evaluator.multiply(a, a), squares),
        "switch down one level": (lambda: evaluator.switch_to(product, top - 1), squares),
        "rotate": (lambda: evaluator.rotate(a, 1), holds(np.roll(values, -1, axis=1))),
        "add": (lambda: evaluator.add(a, a), holds(2 * values)),
    }
