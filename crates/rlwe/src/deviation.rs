//! How far the coefficients of ciphertexts go astray, whatever the scheme: the deviations of
//! encryption, key switching and rounding.

use crate::literal::SecretDistribution;
use crate::parameters::Parameters;
use crate::ring::poly::Basis;

/// Deviation of the error of an encryption.
pub(crate) const ERROR_DEVIATION: f64 = 3.2;

/// The product of two Gaussian variables exceeds this many of its deviations with a chance
/// below e^-`exponent`: `P(|XY| > t) = 2 t K1(2 t) < sqrt(4 pi t) exp(-2 t)` for complex ones.
pub(crate) fn product_tail(exponent: f64) -> f64 {
    (exponent + 0.5 * (2.0 * std::f64::consts::PI * exponent).ln()) / 2.0
}

/// Mean square norm of a secret in a ring of degree `n`.
fn secret_weight(n: usize, secret: SecretDistribution) -> f64 {
    match secret {
        SecretDistribution::Ternary => n as f64 * 2.0 / 3.0,
        SecretDistribution::FixedWeight(weight) => weight as f64,
    }
}

fn weight_under(parameters: &Parameters) -> f64 {
    secret_weight(parameters.n(), parameters.literal().secret)
}

/// Coefficient deviation that a division with rounding adds to a ciphertext of degree 1.
pub(crate) fn rounding(parameters: &Parameters) -> f64 {
    rounding_in(parameters.n(), parameters.literal().secret)
}

/// [`rounding`] in a ring of degree `n`.
pub(crate) fn rounding_in(n: usize, secret: SecretDistribution) -> f64 {
    ((1.0 + secret_weight(n, secret)) / 12.0).sqrt()
}

/// [`rounding`] for a ciphertext of degree 2: the third polynomial's rounding meets the
/// square of the secret, whose mean square at a slot is twice its mean's square. Its tail is
/// heavier than [`Estimate::precision`] allows for, by less than a factor of 3 up to 2^17.
pub(crate) fn rounding_of_square(parameters: &Parameters) -> f64 {
    let weight = weight_under(parameters);
    3.0 * ((1.0 + weight + 2.0 * weight * weight) / 12.0).sqrt()
}

/// Coefficient deviation of a public-key encryption.
pub(crate) fn public_encryption(parameters: &Parameters) -> f64 {
    let spread = parameters.n() as f64 * 2.0 / 3.0 + weight_under(parameters) + 1.0;
    let p = parameters.ring().bits(parameters.special()).exp2();
    rounding(parameters).hypot(ERROR_DEVIATION * spread.sqrt() / p)
}

/// Coefficient deviation that key switching at a level adds, division by P done but its
/// rounding left out.
pub(crate) fn key_switching(parameters: &Parameters, level: usize) -> f64 {
    let bits = |basis: &Basis| parameters.ring().bits(basis);
    let p = bits(parameters.special());
    let digits = parameters.digits(level).iter();
    let squares: f64 = digits.map(|digit| (2.0 * (bits(&digit.own) - p)).exp2() / 12.0).sum();
    ERROR_DEVIATION * (squares * parameters.n() as f64).sqrt()
}
