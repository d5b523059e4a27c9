//! How much noise LWE ciphertexts carry, and how often a bootstrap misses its message.
//!
//! Variances are in turns squared. All hold for uniform binary keys and are those of
//! Chillotti, Ligier, Orfila and Tap (ASIACRYPT 2021, eprint 2021/729) and of Bergerat et al.
//! (Journal of Cryptology 2023, eprint 2022/704) as the crate `tfhe` codes them. Its formula of
//! the bootstrap contains the error of the Fourier transform, which its authors fitted to
//! measurements with 64-bit numbers. Added here is the rounding of LWE ciphertexts and accumulators
//! to 32 bits. Tests compare with measurements.

use tfhe::core_crypto::commons::noise_formulas::centered_mean_shifted_modulus_switch::centered_binary_shifted_modulus_switch_additive_variance;
use tfhe::core_crypto::commons::noise_formulas::lwe_keyswitch::keyswitch_additive_variance_132_bits_security_gaussian;
use tfhe::core_crypto::commons::noise_formulas::lwe_programmable_bootstrap::pbs_variance_132_bits_security_gaussian_fft_mul;
use tfhe::core_crypto::prelude::LweDimension;

use crate::parameters::Parameters;
use crate::{Error, Result};

const LWE_TURN: f64 = 4294967296.0;
const KEY_TURN: f64 = LWE_TURN * LWE_TURN;
const MANTISSA_BITS: f64 = 53.0;

/// Variance of an LWE ciphertext that was encrypted.
pub fn fresh_variance(parameters: Parameters) -> f64 {
    parameters.large_noise().0.powi(2) + rounding_variance(parameters)
}

/// Variance of each LWE ciphertext that a bootstrap gives, whatever went in.
///
/// Those of different bootstraps are independent. Those of one are correlated, by a half at
/// most: where the accumulator is rounded, each key number multiplies other errors for one
/// output than for the next, but all are 0 or 1 and not centred about 0.
pub fn bootstrap_variance(parameters: Parameters) -> f64 {
    let rotations = pbs_variance_132_bits_security_gaussian_fft_mul(
        parameters.small_dimension(),
        parameters.large_polynomials(),
        parameters.polynomial_size(),
        parameters.bootstrap_base_log(),
        parameters.bootstrap_levels(),
        MANTISSA_BITS,
        KEY_TURN,
    );
    rotations.0 + parameters.small_dimension().0 as f64 * rounding_variance(parameters)
}

/// Variance that the key switch and the rounding to multiples of `2^tables_log` rotations add
/// to an LWE ciphertext before its message is looked up.
///
/// Rounding is centred: half of its expected error, which the public mask shows, is taken off
/// the body beforehand, so that a key bit leaves a quarter of an element's rounding error
/// instead of half. The formula is that of the crate `tfhe` and the body's own rounding.
pub fn switch_variance(parameters: Parameters, tables_log: u32) -> f64 {
    let switch = keyswitch_additive_variance_132_bits_security_gaussian(
        LweDimension(parameters.lwe_dimension()),
        parameters.small_dimension(),
        parameters.switch_base_log(),
        parameters.switch_levels(),
        LWE_TURN,
        LWE_TURN,
    );
    let places = 2.0 * parameters.polynomial_size().0 as f64 / f64::from(1 << tables_log);
    let rounding = centered_binary_shifted_modulus_switch_additive_variance(
        parameters.small_dimension(),
        LWE_TURN,
        places,
    );
    switch.0 + rounding.0 + 1.0 / (12.0 * places * places)
}

/// Variance of an LWE ciphertext that was encrypted under a public key.
///
/// With the key's errors e, the ephemeral secret r, the encryption's errors e1 and e2 and the secret
/// s, the noise is e r - e1 s + e2 (Bos et al. 2018, "CRYSTALS - Kyber", section 2, over the
/// torus): inner products over the whole dimension, in which r and s have a mean square of a half.
pub fn public_variance(parameters: Parameters) -> f64 {
    let products = 1.0 + parameters.lwe_dimension() as f64;
    parameters.large_noise().0.powi(2) * products + rounding_variance(parameters)
}

/// log2 of [`failure_probability`], also where that is too small for a double.
///
/// ```
/// use tfhe_eval::noise::log2_failure;
/// assert!((log2_failure(1.0, 1.0) + 1.656).abs() < 1e-3);
/// assert!(log2_failure(1.0, 1e-5) < -65536.0);
/// ```
pub fn log2_failure(margin: f64, variance: f64) -> f64 {
    use std::f64::consts::{LOG2_E, PI};
    if variance == 0.0 {
        return f64::NEG_INFINITY;
    }
    let argument = margin / (2.0 * variance).sqrt();
    if argument < LARGE_ARGUMENT {
        return libm::erfc(argument).log2();
    }
    // The first two terms of the asymptotic series; the third is 3 / (4 argument^4).
    let series = (-1.0 / (2.0 * argument * argument)).ln_1p() - argument * argument;
    series * LOG2_E - (argument * PI.sqrt()).log2()
}

/// The largest variance that exceeds `margin` turns with a probability of 2^`log2_probability` at
/// most: the inverse of [`log2_failure`].
///
/// # Errors
/// [`Error::InvalidArgument`] for a margin that is not positive, or a probability of 1 or more.
///
/// ```
/// use tfhe_eval::noise::{largest_variance, log2_failure};
/// let largest = largest_variance(0.125, -128.0)?;
/// assert!((log2_failure(0.125, largest) + 128.0).abs() < 1e-9);
/// # Ok::<(), tfhe_eval::Error>(())
/// ```
pub fn largest_variance(margin: f64, log2_probability: f64) -> Result<f64> {
    if !(margin > 0.0 && margin.is_finite() && log2_probability < 0.0 && log2_probability > -1e6) {
        let reason = format!(
            "expected a margin above 0 and a probability below 1, got {margin} and 2^{log2_probability}"
        );
        return Err(Error::InvalidArgument { operation: "bound the noise", reason });
    }
    // Of unit margin: erfc falls in its argument.
    let (mut low, mut high) = (0.0, 1000.0);
    for _ in 0..100 {
        let middle: f64 = (low + high) / 2.0;
        let variance = 1.0 / (2.0 * middle * middle);
        if log2_failure(1.0, variance) > log2_probability { low = middle } else { high = middle }
    }
    Ok((margin / high).powi(2) / 2.0)
}

/// Where erfc is still far from the least double.
const LARGE_ARGUMENT: f64 = 20.0;

/// How often noise of this variance exceeds `margin` turns to either side: for a bootstrap
/// with a message space of 2^m the margin is 1 / 2^(m + 1), and the variance that of the weighted sum
/// and [`switch_variance`].
///
/// ```
/// use tfhe_eval::noise::failure_probability;
/// assert!((failure_probability(1.0, 1.0) - 0.3173).abs() < 1e-4);
/// ```
pub fn failure_probability(margin: f64, variance: f64) -> f64 {
    libm::erfc(margin / (2.0 * variance).sqrt())
}

/// Variance of a phase when mask and body are rounded to whole torus numbers.
fn rounding_variance(parameters: Parameters) -> f64 {
    (1.0 + parameters.lwe_dimension() as f64 / 2.0) / (12.0 * LWE_TURN * LWE_TURN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// log2 of how often a bootstrap goes wrong whose sum is of so many LWE ciphertexts fresh from
    /// bootstraps.
    fn failure(parameters: Parameters, outputs: f64, message_bits: u32, tables_log: u32) -> f64 {
        let variance =
            outputs * bootstrap_variance(parameters) + switch_variance(parameters, tables_log);
        log2_failure(0.5 / f64::from(1 << message_bits), variance)
    }

    #[test]
    fn sets_carry_what_they_may_have_at_most() {
        for parameters in Parameters::all() {
            let most = parameters.max_message_bits();
            for message_bits in 2..6 {
                for tables_log in 0..3 {
                    let holds = failure(parameters, 2.0, message_bits, tables_log) < -64.0;
                    let label = format!("{parameters:?}, {message_bits}, {tables_log}");
                    assert_eq!(holds, message_bits + tables_log <= most, "{label}");
                }
            }
        }
    }

    /// By message space and tables, as the table of [`Parameters`] says.
    #[test]
    fn sets_carry_what_they_are_named_for() {
        let carried = |parameters: Parameters| -> Vec<(u32, u32)> {
            let every = (2..6).flat_map(|space| (0..3).map(move |tables| (space, tables)));
            every
                .filter(|&(space, tables)| failure(parameters, 1.0, space, tables) < -128.0)
                .collect()
        };
        let [space4, space4x2, space8, space16] = ["space4", "space4x2", "space8", "space16"]
            .map(|name| carried(Parameters::named(name).unwrap()));
        assert_eq!(space4, [(2, 0)]);
        assert_eq!(space4x2, [(2, 0), (2, 1)]);
        assert_eq!(space8, [(2, 0), (2, 1), (3, 0)]);
        assert_eq!(space16, [(2, 0), (2, 1), (2, 2), (3, 0), (3, 1), (4, 0)]);
    }
}
