//! The coefficients of a decrypted or encoded polynomial.

use rayon::prelude::*;

use super::estimate::Estimate;
use crate::parallel;
use crate::ring::centring::{Centring, Shifted};
use crate::ring::modulus::Modulus;
use crate::ring::poly::{Poly, Ring};
use crate::ring::wiped::Wiped;
use crate::sampling::{self, Generator};
use crate::{Error, Result};

/// Bits of modulus that are read at least, where there are so many; further primes only confirm.
const LEAST_BITS: f64 = 120.0;

/// Coefficients that are read together.
const BLOCK: usize = 1024;

/// The centred coefficients of a polynomial, in units of a power of two that is 1 up to 120 bits.
///
/// Wiped from memory when dropped: of a decryption they give the secret key away, beside the
/// ciphertext.
pub(crate) struct Coefficients {
    pub(crate) values: Wiped<i128>,
    /// log2 of the unit.
    pub(crate) shift: u32,
    /// What a coefficient may be off by, in units.
    pub(crate) error: f64,
}

impl Coefficients {
    /// Of a polynomial that is small beside the modulus, and no larger than `estimate` says.
    ///
    /// Residues modulo enough primes together give the coefficient (mixed radix, Garner 1959); one
    /// more prime, or headroom at the top, must agree.
    ///
    /// # Errors
    /// [`Error::DecryptionOverflow`] when they do not.
    pub(crate) fn of(ring: &Ring, poly: &Poly, estimate: &Estimate) -> Result<Self> {
        let mut positions: Vec<usize> = poly.basis.iter().collect();
        positions.sort_by_key(|&p| std::cmp::Reverse(ring.modulus(p).q));
        let exact = enough(ring, &positions, estimate.bound * estimate.scale);
        positions.truncate(exact + 1);
        let mut limbs: Vec<Wiped<u32>> =
            positions.iter().map(|&p| Wiped::collect(poly.limb(p).iter().copied())).collect();
        let each = parallel::over(&mut limbs).zip(parallel::over(&positions)).shared();
        each.for_each(|(limb, &p)| ring.primes[p].inverse(limb));
        let moduli: Vec<Modulus> = positions.iter().map(|&p| ring.modulus(p)).collect();
        let (moduli, witness) = moduli.split_at(exact);
        let (centring, shifted) = (Centring::new(moduli, witness), Shifted::new(moduli));
        let mut values = Wiped::new(0, ring.n());
        let blocks = parallel::chunks_mut(&mut values, BLOCK).enumerate();
        blocks.shared().try_for_each(|(block, values)| {
            let mut residues = Wiped::new(0, exact);
            let mut digits = Wiped::new(0, exact);
            for (i, value) in values.iter_mut().enumerate() {
                let limb = |limb: &Wiped<u32>| limb[block * BLOCK + i];
                residues.iter_mut().zip(&limbs).for_each(|(residue, from)| *residue = limb(from));
                let sign = centring.read(&residues, &mut digits);
                let agrees = match limbs.get(exact) {
                    Some(witness) => centring.residue(0, sign, &digits).1 == limb(witness),
                    None => centring.part(sign, &digits).abs() < 0.25,
                };
                *value = if agrees {
                    shifted.value(sign, &digits)
                } else {
                    return Err(Error::DecryptionOverflow);
                };
            }
            Ok(())
        })?;
        Ok(Self { values, shift: shifted.shift, error: shifted.error() })
    }

    /// Makes 2^`unit` the unit, where it is less.
    pub(crate) fn round_to_units(&mut self, unit: u32) {
        let bits = unit.saturating_sub(self.shift);
        if bits == 0 {
            return;
        }
        // Beyond 126 bits nothing is left of 120.
        let shift = bits.min(126);
        let half = 1i128 << (shift - 1);
        self.values.iter_mut().for_each(|x| *x = (*x + half) >> shift);
        self.shift = unit;
        self.error = self.error / f64::from(bits).exp2() + 0.5;
    }

    /// Adds noise of this width, in units, to every coefficient.
    pub(crate) fn flood(&mut self, generator: &mut Generator, log2_sigma: u32) -> Result<()> {
        let noise = sampling::wide_gaussian(generator, self.values.len(), log2_sigma)?;
        self.values.iter_mut().zip(noise.iter()).for_each(|(x, &noise)| *x += i128::from(noise));
        Ok(())
    }

    /// What they stand for at `scale`.
    pub(crate) fn values(&self, scale: f64) -> Wiped<f64> {
        let unit = f64::from(self.shift).exp2() / scale;
        Wiped::collect(self.values.iter().map(|&x| x as f64 * unit))
    }
}

/// How many of these primes hold coefficients up to `largest`, and most of those up to
/// [`LEAST_BITS`]: all, or all but some that are left to confirm.
fn enough(ring: &Ring, positions: &[usize], largest: f64) -> usize {
    // Twice the size for the sign, and twice that for noise.
    let needed = largest.max(1.0).log2() + 2.0;
    let mut bits = 0.0;
    let sufficient = positions.iter().take_while(|&&p| {
        let before = bits;
        bits += f64::from(ring.modulus(p).q).log2();
        bits < LEAST_BITS || before < needed
    });
    sufficient.count()
}
