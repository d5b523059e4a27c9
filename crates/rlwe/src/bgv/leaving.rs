//! Integers out of slots, as LWE ciphertexts of another key.
//!
//! Coefficient 0 of a polynomial modulo t is the sum of its N slots divided by N. A ciphertext
//! times a plaintext with one slot that is not 0 has a multiple of that slot's integer there. Its
//! phase is that multiple times 1 / t modulo q: with k = -1 / q modulo t, the multiple times k / t
//! turns. So any number of parts of t may stand for 1.

use super::ciphertext::Ciphertext;
use super::slots::centred;
use crate::core::ring_switching::RingSwitchingKey;
use crate::ring::modulus::product;
use crate::ring::poly::Poly;
use crate::{Error, Result};

const LEAVE: &str = "take integers out of slots";

impl Ciphertext {
    /// For each of these slots, of the first row and then the second, an LWE ciphertext, mask and
    /// then body, 2^32 to a turn, whose phase is the slot's integer times `parts` / t.
    ///
    /// What lies beyond half a turn wraps around. The noise is that of the ciphertext times a
    /// plaintext of any slots ([`Self::leaving_variance`]), and
    /// [`variance`](crate::core::ring_switching::variance).
    ///
    /// # Errors
    /// [`Error::KeyMismatch`]; [`Error::ParametersMismatch`];
    /// [`Error::SlotMismatch`] for a slot that there is not; [`Error::IntegerOutOfRange`] for parts
    /// that are not between 0 and t.
    pub fn leave(
        &self,
        key: &RingSwitchingKey,
        slots: &[usize],
        parts: u32,
    ) -> Result<Vec<Vec<u32>>> {
        let parameters = self.parameters();
        if let Some(&actual) = slots.iter().find(|&&slot| slot >= parameters.n()) {
            let expected = parameters.n();
            return Err(Error::SlotMismatch { operation: LEAVE, expected, actual });
        }
        let t = parameters.t();
        if parts == 0 || parts >= t.q {
            let (value, bound) = (parts.into(), t.q.into());
            return Err(Error::IntegerOutOfRange { operation: LEAVE, value, bound });
        }
        let moduli = parameters.ring().moduli(parameters.level_basis(self.level()));
        let q = product(t, moduli.iter().map(|modulus| modulus.q));
        // By k = -1 / q and the correction factor a slot's integer comes multiplied.
        let inverse = t.mul(t.sub(0, q), t.inv(self.estimate.factor));
        let n = t.reduce(parameters.n() as u64);
        let value = centred(t, t.mul(t.mul(parts, n), inverse));
        key.leave(parameters, self.key, &self.polys, slots, |slot| self.mask(slot, value))
    }

    /// The polynomial of an integer in one slot.
    fn mask(&self, slot: usize, value: i64) -> Result<Poly> {
        let parameters = self.parameters();
        let mut values = vec![0; parameters.n()];
        values[slot] = value;
        let plaintext = parameters.encode(&values, self.level())?;
        Ok(plaintext.poly().clone())
    }
}

impl super::estimate::Estimate {
    /// The variance, in turns squared, that the noise of a ciphertext has in what
    /// [`Ciphertext::leave`] makes of it, whatever the slot.
    ///
    /// A coefficient of a product is the sum of N products of the noise's coefficients and a
    /// plaintext's, which are as good as uniform in (-t / 2, t / 2): its variance is t^2 / 12 times
    /// the square of the noise's length.
    pub fn leaving_variance(&self) -> f64 {
        let t = f64::from(self.parameters().plaintext_modulus());
        let bits = self.parameters().ring().bits(self.parameters().level_basis(self.level()));
        // Of t times the phase, messages included, the bound is.
        let length = (self.noise().length_bits - t.log2() - bits).exp2();
        t * t / 12.0 * length * length
    }
}

#[cfg(test)]
mod tests {
    use crate::bgv::{Parameters, ParametersLiteral};
    use crate::core::keys::SecretKey;
    use crate::core::ring_switching::{LEAST_DIMENSION, binary, phase, variance};

    #[test]
    fn integers_leave_with_no_more_noise_than_stated() {
        let literal = ParametersLiteral { log_n: Some(13), levels: 1, ..Default::default() };
        let parameters = Parameters::new(literal).unwrap();
        let t = f64::from(parameters.plaintext_modulus());
        let secret = SecretKey::generate(&parameters).unwrap();
        let target = binary(LEAST_DIMENSION);
        let key = secret.ring_switching_key(&target, [7; 16]).unwrap();
        let values: Vec<i64> = (0..parameters.n() as i64).map(|i| i % 100 - 50).collect();
        let ciphertext = secret.encrypt_integers(&parameters.encode(&values, 1).unwrap()).unwrap();
        let slots: Vec<usize> = (0..200).map(|i| i * 37).collect();
        let parts = (t / 256.0) as u32;
        let lwes = ciphertext.leave(&key, &slots, parts).unwrap();
        let squares = slots.iter().zip(&lwes).map(|(&slot, lwe)| {
            let expected = values[slot] as f64 * f64::from(parts) / t;
            let off = phase(lwe, &target) - expected;
            (off - off.round()).powi(2)
        });
        let measured = squares.sum::<f64>() / slots.len() as f64;
        let stated = variance(13, LEAST_DIMENSION) + ciphertext.estimate().leaving_variance();
        assert!(measured < 1.3 * stated, "{measured:e} {stated:e}");
        assert!(measured > 1e-4 * stated, "{measured:e} {stated:e}");
    }
}
