//! Numbers out of slots, as LWE ciphertexts of another key.
//!
//! Coefficient 0 of a polynomial is the mean of its slots' real parts. A ciphertext times a
//! plaintext that has N / 2 in one slot and 0 in all others has that slot's number there, at
//! whatever scale the plaintext has: what a number is worth, in turns of the LWE ciphertext, is
//! free to choose, and takes no rescaling.

use super::ciphertext::Ciphertext;
use super::plaintext::Slot;
use super::rounding::scale_and_round;
use crate::core::ring_switching::RingSwitchingKey;
use crate::ring::poly::Poly;
use crate::{Error, Result};

/// Coefficients of a mask are rounded to integers, each of which is off by a half: with this scale
/// a number is off by 2^-20 of all others together at most.
const LEAST_SCALE: f64 = (1u64 << 20) as f64;

const LEAVE: &str = "take numbers out of slots";

impl Ciphertext {
    /// For each of these slots an LWE ciphertext, mask and then body, 2^32 to a turn, whose phase
    /// is `turns` times the slot's number: its real part, where that is complex.
    ///
    /// A number times `turns` beyond half a turn wraps around. The noise is that of the ciphertext
    /// times `turns`, and [`variance`](crate::core::ring_switching::variance).
    ///
    /// # Errors
    /// [`Error::KeyMismatch`]; [`Error::ParametersMismatch`];
    /// [`Error::SlotMismatch`] for a slot that there is not; [`Error::ScaleOutOfRange`] where the
    /// level leaves no room for a plaintext: a level higher does.
    pub fn leave(
        &self,
        key: &RingSwitchingKey,
        slots: &[usize],
        turns: f64,
    ) -> Result<Vec<Vec<u32>>> {
        let parameters = self.parameters();
        if let Some(&actual) = slots.iter().find(|&&slot| slot >= self.slots()) {
            let expected = self.slots();
            return Err(Error::SlotMismatch { operation: LEAVE, expected, actual });
        }
        let modulus_bits = parameters.log_q(self.level())?;
        let scale = turns * modulus_bits.exp2() / self.scale();
        if !(scale.is_finite() && scale >= LEAST_SCALE) {
            return Err(Error::ScaleOutOfRange { operation: LEAVE, scale, modulus_bits });
        }
        key.leave(parameters, self.key, &self.polys, slots, |slot| self.mask(slot, scale))
    }

    /// The polynomial of N / 2 in one slot, at a scale.
    fn mask(&self, slot: usize, scale: f64) -> Result<Poly> {
        let parameters = self.parameters();
        let ring = parameters.ring();
        let mut values = vec![0.0; parameters.slots()];
        values[slot] = parameters.slots() as f64;
        let coefficients = f64::embed(parameters.embedding(), &values)?;
        let rounded = scale_and_round(&coefficients, scale)?;
        let mut poly = ring.unwritten(parameters.level_basis(self.level()));
        for (position, limb) in poly.limbs_mut() {
            let prime = &ring.primes[position];
            rounded.residues(prime.modulus.q, limb)?;
            prime.forward(limb);
        }
        Ok(poly)
    }
}

#[cfg(test)]
mod tests {
    use crate::ckks::{Encoding, Parameters, ParametersLiteral};
    use crate::core::keys::SecretKey;
    use crate::core::ring_switching::{LEAST_DIMENSION, binary, phase, variance};

    #[test]
    fn numbers_leave_with_no_more_noise_than_stated() {
        let literal = ParametersLiteral { log_n: Some(14), levels: 1, ..Default::default() };
        let parameters = Parameters::new(literal).unwrap();
        let secret = SecretKey::generate(&parameters).unwrap();
        let target = binary(LEAST_DIMENSION);
        let key = secret.ring_switching_key(&target, [7; 16]).unwrap();
        let values: Vec<f64> = (0..parameters.slots()).map(|i| (i as f64).sin()).collect();
        let plaintext = parameters.encode_real(&values, Encoding::at(1).within(1.0)).unwrap();
        let ciphertext = secret.encrypt(&plaintext).unwrap();
        let slots: Vec<usize> = (0..400).map(|i| i * 20).collect();
        let lwes = ciphertext.leave(&key, &slots, 0.25).unwrap();
        let squares = slots
            .iter()
            .zip(&lwes)
            .map(|(&slot, lwe)| (phase(lwe, &target) - values[slot] * 0.25).powi(2));
        let measured = squares.sum::<f64>() / slots.len() as f64;
        // What is stated holds for products that were not relinearised, too.
        let stated = variance(14, LEAST_DIMENSION);
        assert!((0.5..1.3).contains(&(measured / stated)), "{measured:e} {stated:e}");
    }
}
