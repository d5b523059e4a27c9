//! How far the coefficients of ciphertexts go astray, whatever the scheme: the deviations of
//! encryption, key switching and rounding.

use super::literal::SecretDistribution;
use super::parameters::Parameters;

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

/// Coefficient deviation that a division with rounding adds to a ciphertext of degree 1.
pub(crate) fn rounding(n: usize, secret: SecretDistribution) -> f64 {
    ((1.0 + secret_weight(n, secret)) / 12.0).sqrt()
}

/// [`rounding`] for a ciphertext of degree 2: the third polynomial's rounding meets the
/// square of the secret, whose mean square at a slot is twice its mean's square. Its tail is
/// heavier than that of [`product_tail`], by less than a factor of 3 up to 2^17.
pub(crate) fn rounding_of_square(n: usize, secret: SecretDistribution) -> f64 {
    let weight = secret_weight(n, secret);
    3.0 * ((1.0 + weight + 2.0 * weight * weight) / 12.0).sqrt()
}

/// Coefficient deviation of a public-key encryption, of which the key-switching primes have so
/// many bits.
pub(crate) fn public_encryption(n: usize, secret: SecretDistribution, special_bits: f64) -> f64 {
    let spread = n as f64 * 2.0 / 3.0 + secret_weight(n, secret) + 1.0;
    rounding(n, secret).hypot(ERROR_DEVIATION * spread.sqrt() / special_bits.exp2())
}

/// Coefficient deviation that key switching adds, division by P done but its rounding left out,
/// when each digit exceeds P by so many bits, a negative number.
pub(crate) fn key_switching(n: usize, digit_bits: &[f64]) -> f64 {
    let squares: f64 = digit_bits.iter().map(|bits| (2.0 * bits).exp2() / 12.0).sum();
    ERROR_DEVIATION * (squares * n as f64).sqrt()
}

impl Parameters {
    /// [`rounding`] and [`rounding_of_square`], by the degree of the ciphertext.
    pub(crate) fn rounding_deviation(&self, degree: usize) -> f64 {
        match degree {
            1 => rounding(self.n(), self.secret()),
            _ => rounding_of_square(self.n(), self.secret()),
        }
    }

    /// [`public_encryption`].
    pub(crate) fn public_encryption_deviation(&self) -> f64 {
        public_encryption(self.n(), self.secret(), self.special_bits())
    }

    /// [`key_switching`] at a level.
    pub(crate) fn key_switching_deviation(&self, level: usize) -> f64 {
        key_switching(self.n(), &self.digit_bits(level))
    }

    /// log2 of P.
    pub(crate) fn special_bits(&self) -> f64 {
        self.ring().bits(self.special())
    }

    /// By how many bits each digit of a level exceeds P: negative numbers.
    pub(crate) fn digit_bits(&self, level: usize) -> Vec<f64> {
        let digits = self.digits(level).iter();
        digits.map(|digit| self.ring().bits(&digit.own) - self.special_bits()).collect()
    }
}
