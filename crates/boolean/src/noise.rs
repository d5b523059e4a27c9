//! How much noise signals carry, and how often a bootstrap misses its box.
//!
//! Variances are in turns squared. All hold for uniform binary keys and are those of
//! Chillotti, Ligier, Orfila and Tap (ASIACRYPT 2021, eprint 2021/729) and of Bergerat et al.
//! (Journal of Cryptology 2023, eprint 2022/704) as the crate `tfhe` codes them. Its formula of
//! the bootstrap contains the error of the Fourier transform, which its authors fitted to
//! measurements with 64-bit numbers. Added here is the rounding of signals and accumulators
//! to 32 bits. Tests compare with measurements.

use tfhe::core_crypto::commons::noise_formulas::centered_mean_shifted_modulus_switch::centered_binary_shifted_modulus_switch_additive_variance;
use tfhe::core_crypto::commons::noise_formulas::lwe_keyswitch::keyswitch_additive_variance_132_bits_security_gaussian;
use tfhe::core_crypto::commons::noise_formulas::lwe_programmable_bootstrap::pbs_variance_132_bits_security_gaussian_fft_mul;
use tfhe::core_crypto::prelude::LweDimension;

use crate::parameters::Parameters;

const SIGNAL_TURN: f64 = 4294967296.0;
const KEY_TURN: f64 = SIGNAL_TURN * SIGNAL_TURN;
const MANTISSA_BITS: f64 = 53.0;

/// Variance of a signal that was encrypted.
pub fn fresh_variance(parameters: Parameters) -> f64 {
    parameters.large_noise().0.powi(2) + rounding_variance(parameters)
}

/// Variance of each signal that a bootstrap gives, whatever went in.
///
/// Signals of different bootstraps are independent. Those of one are correlated, by a half at
/// most: where the accumulator is rounded, each key number multiplies other errors for one
/// signal than for the next, but all are 0 or 1 and not centred about 0.
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
/// to a signal before its box is looked up.
///
/// Rounding is centred: half of its expected error, which the public mask tells, is taken off
/// the body beforehand, so that a key bit leaves a quarter of an element's rounding error
/// instead of half. The formula is that of the crate `tfhe` and the body's own rounding.
pub fn switch_variance(parameters: Parameters, tables_log: u32) -> f64 {
    let switch = keyswitch_additive_variance_132_bits_security_gaussian(
        LweDimension(parameters.signal_dimension()),
        parameters.small_dimension(),
        parameters.switch_base_log(),
        parameters.switch_levels(),
        SIGNAL_TURN,
        SIGNAL_TURN,
    );
    let places = 2.0 * parameters.polynomial_size().0 as f64 / f64::from(1 << tables_log);
    let rounding = centered_binary_shifted_modulus_switch_additive_variance(
        parameters.small_dimension(),
        SIGNAL_TURN,
        places,
    );
    switch.0 + rounding.0 + 1.0 / (12.0 * places * places)
}

/// How often noise of this variance exceeds `margin` turns to either side: for a bootstrap
/// with 2^m boxes the margin is 1 / 2^(m + 1), and the variance that of the weighted sum and
/// [`switch_variance`].
///
/// ```
/// use boolean::noise::failure_probability;
/// assert!((failure_probability(1.0, 1.0) - 0.3173).abs() < 1e-4);
/// ```
pub fn failure_probability(margin: f64, variance: f64) -> f64 {
    libm::erfc(margin / (2.0 * variance).sqrt())
}

/// Variance of a phase when mask and body are rounded to whole torus numbers.
fn rounding_variance(parameters: Parameters) -> f64 {
    (1.0 + parameters.signal_dimension() as f64 / 2.0) / (12.0 * SIGNAL_TURN * SIGNAL_TURN)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILURE: f64 = 1.0 / KEY_TURN;

    /// The sum of two signals fresh from bootstraps, with as many boxes and tables as the
    /// table of [`Parameters`] says, and no more.
    #[test]
    fn sets_carry_what_they_are_named_for() {
        for parameters in Parameters::all() {
            let most = parameters.max_boxes_log();
            for boxes_log in 2..6 {
                for tables_log in 0..3 {
                    let variance = 2.0 * bootstrap_variance(parameters)
                        + switch_variance(parameters, tables_log);
                    let margin = 0.5 / f64::from(1 << boxes_log);
                    let holds = failure_probability(margin, variance) < FAILURE;
                    let label = format!("{parameters:?}, {boxes_log}, {tables_log}");
                    assert_eq!(holds, boxes_log + tables_log <= most, "{label}");
                }
            }
        }
    }
}
