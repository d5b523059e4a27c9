"""A published parameter set for bits, which no machine need measure."""

from __future__ import annotations

from cloakwork.plan.cost.tfhe import BitCosts
from cloakwork.schemes.tfhe_noise import BitNoise


def published_costs() -> BitCosts:
    """A published parameter set, with costs as on a processor of 2023.

    The set is V1_1_PARAM_MESSAGE_1_CARRY_1_KS_PBS_GAUSSIAN_2M64 of Zama's tfhe 1.8: small keys of
    dimension 781 and noise 8.868e-6, large ones of 4 polynomials of 512 coefficients and noise
    2.845e-15, both binary; bootstraps of base 2^23 and one level, key switches of base 2^4 and
    three levels. Variances by the formulas of Bergerat, Boudi, Bourgerie, Chillotti, Ligier,
    Orfila and Tap, "Parameter optimization and larger precision for (T)FHE", Journal of
    Cryptology 2023, without the error of Fourier transforms.
    """
    small, polynomials, size = 781, 4, 512
    small_variance, large_variance = 8.868480365938865e-6**2, 2.845267479601915e-15**2
    large = polynomials * size
    base, switch_base, switch_levels = 2.0**23, 2.0**4, 3
    products = (polynomials + 1) * size * (base**2 + 2) / 12 * large_variance
    rounding = (1 + large / 2) / (24 * base**2)
    bootstrap_variance = small * (products + rounding)
    key_switch = large * (
        switch_levels * (switch_base**2 + 2) / 12 * small_variance
        + 1 / (24 * switch_base ** (2 * switch_levels))
    )
    steps = [2 * size / (1 << log) for log in range(3)]
    noise = BitNoise(
        "published",
        # By these formulas messages of a space of 8 are missed a little more often than 2^-64.
        2,
        large_variance,
        large_variance,
        bootstrap_variance,
        tuple(key_switch + (1 + small / 2) / (12 * step**2) for step in steps),
        # What the set was published for.
        failure_bits=64,
    )
    return BitCosts(noise, (0.018, 0.0185, 0.019), 1e-6)
