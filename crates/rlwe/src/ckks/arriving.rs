//! Bits into slots: the secret key of LWE ciphertexts, encrypted for whoever takes these in.
//!
//! The phase of an LWE ciphertext with mask a and body b, under a secret s' of zeros and ones, is
//! b - <a, s'> = b - sum(a) / 2 - <a / 2, t> with t = 2 s' - 1. Masks are public: times the one
//! ciphertext of t they give the phases of many in slots, without their whole turns being known.

use zeroize::Zeroizing;

use super::encoding::Encoding;
use super::parameters::Parameters;
use super::plaintext::Plaintext;
use crate::{Error, Result};

impl Parameters {
    /// For each of `numbers`, zeros and ones, -1 or 1 in as many slots as each of them has, one
    /// after the other.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for numbers that are not a power of two of at most N / 2;
    /// [`Error::LevelMismatch`].
    pub fn encode_signs(&self, numbers: &[u64], level: usize) -> Result<Plaintext> {
        let slots = self.n() / 2;
        if !numbers.len().is_power_of_two() || numbers.len() > slots {
            let got = numbers.len();
            let reason = format!("expected a power of two of numbers up to {slots}, got {got}");
            return Err(Error::InvalidArgument { operation: "encode a secret key", reason });
        }
        let each = slots / numbers.len();
        let mut signs = Zeroizing::new(Vec::with_capacity(slots));
        signs.extend((0..slots).map(|slot| 2.0 * (numbers[slot / each] & 1) as f64 - 1.0));
        self.encode_real(&signs, Encoding::at(level).within(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ckks::ParametersLiteral;
    use crate::core::ring_switching::binary;

    #[test]
    fn every_number_is_in_as_many_slots_as_the_others() {
        let literal =
            ParametersLiteral { levels: 1, log_n: Some(12), insecure: true, ..Default::default() };
        let parameters = Parameters::new(literal).unwrap();
        let numbers = binary(512);
        let found = parameters.encode_signs(&numbers, 1).unwrap().decode().unwrap();
        for (slot, number) in found.iter().enumerate() {
            assert!((number.re - (2.0 * numbers[slot / 4] as f64 - 1.0)).abs() < 1e-6);
        }
        for wrong in [vec![1; 3], vec![1; 4096]] {
            let refused = parameters.encode_signs(&wrong, 1);
            assert!(matches!(refused, Err(Error::InvalidArgument { .. })));
        }
    }
}
