//! Between slots and coefficients modulo the plaintext modulus.

use zeroize::Zeroizing;

use crate::ring::automorphism::rotation_element;
use crate::ring::modulus::Modulus;
use crate::ring::poly::Ring;
use crate::ring::primes::is_prime;
use crate::{Error, Result};

/// Moves between two rows of N / 2 slots and the coefficients of a polynomial modulo t.
///
/// With psi of order 2N modulo t, slot k of the first row of a polynomial m is m(psi^(5^k)),
/// of the second m(psi^(-5^k)) (Smart and Vercauteren 2014; Halevi and Shoup 2014), so that
/// X -> X^(5^k) rotates both rows left by k and X -> X^-1 swaps them.
#[derive(Debug)]
pub(crate) struct SlotEncoder {
    /// Of one prime: t.
    ring: Ring,
    /// Where a transform holds each slot, the first row before the second.
    places: Vec<u32>,
}

impl SlotEncoder {
    /// An encoder modulo `modulus` in ring degree 2^`log_n`.
    pub(crate) fn new(log_n: u32, modulus: u32) -> Result<Self> {
        let order = 2u64 << log_n;
        let fits = u64::from(modulus) % order == 1 && modulus < 1 << 30;
        if !(fits && is_prime(u64::from(modulus))) {
            return Err(Error::InvalidParameters(format!(
                "the plaintext modulus must be a prime below 2^30 that is 1 modulo {order}, got {modulus}"
            )));
        }
        let ring = Ring::new(log_n, &[modulus])?;
        let place =
            |element: usize| (((element - 1) / 2).reverse_bits() >> (usize::BITS - log_n)) as u32;
        let order = 2usize << log_n;
        let elements = || (0..1i64 << (log_n - 1)).map(|k| rotation_element(log_n, k));
        let places = elements().map(place).chain(elements().map(|g| place(order - g))).collect();
        Ok(Self { ring, places })
    }

    /// t.
    pub(crate) fn modulus(&self) -> Modulus {
        self.ring.modulus(0)
    }

    /// Coefficients modulo t of the polynomial with these slots; in constant time.
    pub(crate) fn embed(&self, slots: &[i64]) -> Zeroizing<Vec<u32>> {
        let t = i64::from(self.modulus().q);
        let mut coefficients = Zeroizing::new(system_memory::filled(0, slots.len()));
        for (&place, &slot) in self.places.iter().zip(slots) {
            coefficients[place as usize] = (slot + (t & (slot >> 63))) as u32;
        }
        self.ring.primes[0].inverse(&mut coefficients);
        coefficients
    }

    /// The slots of a polynomial given by its coefficients, in (-t / 2, t / 2); in constant time.
    pub(crate) fn project(&self, coefficients: &[u32]) -> Vec<i64> {
        let t = self.modulus();
        let mut values = Zeroizing::new(system_memory::copied(coefficients));
        self.ring.primes[0].forward(&mut values);
        system_memory::collected(
            self.places.iter().map(|&place| centred(t, values[place as usize])),
        )
    }
}

/// The representative of a residue in (-t / 2, t / 2); in constant time.
pub(crate) fn centred(t: Modulus, residue: u32) -> i64 {
    let beyond = i64::from(t.q / 2) - i64::from(residue);
    i64::from(residue) - (i64::from(t.q) & (beyond >> 63))
}
