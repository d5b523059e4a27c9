//! Out of the ring: coefficients as LWE ciphertexts under a secret of a far smaller dimension.
//!
//! A secret s' of d bits stands in the ring of degree N as s'(X^(N / d)). Under it a ciphertext is
//! N / d ciphertexts of the ring of degree d side by side, whose coefficients are LWE ciphertexts
//! of dimension d (ring switching: Gentry, Halevi, Peikert, Smart, SCN 2012; from CKKS to TFHE:
//! Boura, Gama, Georgieva, Jetchev, "CHIMERA", J. Math. Cryptol. 2020).
//!
//! The key that switches is as secure as the small ring lets it be: its modulus Q', the product of
//! two primes, is below 2^50, where d = 2048 and an error of 3.2 are as hard as the large keys of
//! TFHE, of the same d and the same error in turns ([`LEAST_DIMENSION`]). It has no special prime:
//! what a ciphertext has in its second polynomial is taken, in turns, as three digits of 11 bits,
//! each of which meets a row of the key; in its third, beside the square of the secret, as four.
//!
//! Noise, in turns squared: of the digits' end 2^-66 / 12 for each of the 1 + h coefficients of a
//! secret of h ones and minus ones, and 2^-88 / 12 for the h^2 of its square; of the key
//! 7 N (2^22 / 12) 3.2^2 / Q'^2, and of its last row's weight, which is whole, h^2 (2^22 / 12) / 12
//! / Q'^2; of the rounding to words of 32 bits 2^-64 / 12 for each of the 1 + d / 2 that s' takes.
//! See [`variance`].

use std::sync::Arc;

use rayon::prelude::*;
use zeroize::Zeroizing;

use super::keys::{KeyId, SecretKey};
use super::parameters::Parameters;
use crate::parallel;
use crate::ring::buffers;
use crate::ring::kernels;
use crate::ring::modulus::product;
use crate::ring::poly::{Basis, Poly, Ring, SecretPoly};
use crate::ring::primes::ntt_primes;
use crate::sampling::{self, Generator, SIGMA, Seed};
use crate::{Error, Result};

/// Bits that secrets of at least so many numbers keep secret under the modulus of the key: 128 by
/// the table of docs/security-estimates.md.
pub const LEAST_DIMENSION: usize = 2048;

/// Primes of the key are below 2^25, so that their product is below 2^50.
const PRIME_BITS: u32 = 25;
const PRIMES: usize = 2;
const DIGIT_BITS: u32 = 11;
const DIGITS: usize = 3;
const DIGITS_OF_SQUARE: usize = 4;
pub(crate) const ROWS: usize = DIGITS + DIGITS_OF_SQUARE;

const SWITCH: &str = "switch to another ring";

/// Takes ciphertexts of a ring to LWE ciphertexts of another secret key, which are 2^32 to a turn.
#[derive(Clone)]
pub struct RingSwitchingKey {
    pub(crate) parameters: Parameters,
    pub(crate) id: KeyId,
    pub(crate) target: KeyId,
    pub(crate) dimension: usize,
    pub(crate) ring: Arc<Ring>,
    pub(crate) seed: Seed,
    /// The first and second half of each row, for digits beside the secret and then beside its
    /// square; the second ones are what the seed expands to.
    pub(crate) rows: Vec<[Poly; 2]>,
}

/// Numbers modulo 1.
struct Turns(Vec<f64>);

impl Parameters {
    /// The primes of ring switching keys.
    pub(crate) fn switching_ring(&self) -> Result<Ring> {
        let primes: Vec<u32> = ntt_primes(self.log_n(), 0..1 << PRIME_BITS)
            .rev()
            .take(PRIMES)
            .map(|prime| prime as u32)
            .collect();
        Ring::new(self.log_n(), &primes)
    }
}

impl SecretKey {
    /// A key that takes ciphertexts of this one to LWE ciphertexts under `target`, zeros and ones.
    ///
    /// # Errors
    /// [`Error::InsecureParameters`] for fewer than [`LEAST_DIMENSION`] numbers;
    /// [`Error::InvalidArgument`] for numbers that are not a power of two up to N, or others than 0
    /// and 1; [`Error::Randomness`].
    pub fn ring_switching_key(&self, target: &[u64], label: KeyId) -> Result<RingSwitchingKey> {
        let dimension = target.len();
        check_dimension(&self.parameters, dimension)?;
        let ring = self.parameters.switching_ring()?;
        let basis = every(&ring);
        let mut spread = Zeroizing::new(system_memory::filled(0i8, ring.n()));
        let places = spread.iter_mut().step_by(ring.n() / dimension);
        places.zip(target).for_each(|(place, &bit)| *place = (bit & 1) as i8);
        let mut to = SecretPoly(ring.small(&basis, &spread));
        ring.to_montgomery(&mut to.0);
        let from = SecretPoly(ring.small(&basis, &self.coefficients));
        let mut square = SecretPoly(from.0.clone());
        ring.mul(&mut square.0, &from.0);
        let mut generator = Generator::from_os()?;
        let seed = generator.public_seed();
        let row = |index: usize| {
            let half = expand_row(&ring, &seed, index)?;
            let mut mask = SecretPoly(half.clone());
            ring.mul_montgomery(&mut mask.0, &to.0);
            let error = sampling::gaussian(&mut generator, ring.n());
            let mut first = ring.small(&basis, &error);
            ring.sub(&mut first, &mask.0);
            let (power, digit) =
                if index < DIGITS { (&from, index) } else { (&square, index - DIGITS) };
            ring.add_scaled(&mut first, &power.0, |modulus| modulus.reduce(weight(&ring, digit)));
            Ok([first, half])
        };
        let rows = (0..ROWS).map(row).collect::<Result<_>>()?;
        Ok(RingSwitchingKey {
            parameters: self.parameters.clone(),
            id: self.id,
            target: label,
            dimension,
            ring: ring.into(),
            seed,
            rows,
        })
    }
}

impl RingSwitchingKey {
    /// The parameters of the ciphertexts that it takes.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The label of the secret key of the ciphertexts that it takes.
    pub fn id(&self) -> [u8; 16] {
        self.id
    }

    /// The label of the secret key of the LWE ciphertexts that it gives.
    pub fn target(&self) -> [u8; 16] {
        self.target
    }

    /// The numbers of that secret key.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Bytes in memory.
    pub fn nbytes(&self) -> usize {
        2 * stored_bytes(self.ring.log_n)
    }

    /// For each slot the LWE ciphertext, mask and then body, of coefficient 0 of polynomials, two
    /// or three, times what `mask` gives for the slot; its phase is the body less the mask times the target.
    ///
    /// # Errors
    /// [`Error::ParametersMismatch`], [`Error::KeyMismatch`] for what another key encrypts, and
    /// those of `mask`.
    pub(crate) fn leave(
        &self,
        parameters: &Parameters,
        id: KeyId,
        polys: &[Poly],
        slots: &[usize],
        mask: impl Fn(usize) -> Result<Poly> + Sync,
    ) -> Result<Vec<Vec<u32>>> {
        if *parameters != self.parameters {
            return Err(Error::ParametersMismatch { operation: SWITCH });
        }
        if id != self.id {
            return Err(Error::KeyMismatch { operation: SWITCH });
        }
        let leave = |&slot: &usize| {
            let mask = mask(slot)?;
            let product = |poly: &Poly| {
                let mut product = poly.clone();
                parameters.ring().mul(&mut product, &mask);
                turns_of(parameters.ring(), &product)
            };
            Ok(self.first_coefficient(&polys.iter().map(product).collect::<Vec<Turns>>()))
        };
        parallel::over(slots).shared().map(leave).collect()
    }

    fn first_coefficient(&self, polys: &[Turns]) -> Vec<u32> {
        let ring = &*self.ring;
        let mut sums = [ring.zero(&every(ring)), ring.zero(&every(ring))];
        let counts = [DIGITS, DIGITS_OF_SQUARE];
        let digits = polys[1..].iter().zip(counts).flat_map(|(poly, count)| poly.digits(count));
        for (digit, row) in digits.zip(&self.rows) {
            let digit = signed(ring, &digit);
            for (sum, half) in sums.iter_mut().zip(row) {
                let mut product = digit.clone();
                ring.mul(&mut product, half);
                ring.add(sum, &product);
            }
        }
        let [constant, mask] = sums.map(|sum| turns_of(ring, &sum));
        let apart = ring.n() / self.dimension;
        // Coefficient 0 of a product takes X^i from one side and -X^(N - i) from the other.
        let first = [-mask.0[0]].into_iter();
        let others = (1..self.dimension).map(|i| mask.0[ring.n() - i * apart]);
        let body = constant.0[0] + polys[0].0[0];
        first.chain(others).chain([body]).map(word).collect()
    }
}

/// Variance, in turns squared, that switching adds to a coefficient of ciphertexts of degree
/// 2^`log_n`, of secrets that may be 0, 1 and -1, to one of `dimension` zeros and ones.
pub fn variance(log_n: u32, dimension: usize) -> f64 {
    let n = f64::from(log_n).exp2();
    let ones = n * 2.0 / 3.0;
    let end = |count: usize| f64::exp2(-2.0 * f64::from(DIGIT_BITS) * count as f64) / 12.0;
    let ends = end(DIGITS) * (1.0 + ones) + end(DIGITS_OF_SQUARE) * ones * ones;
    let digit = f64::from(DIGIT_BITS).exp2().powi(2) / 12.0;
    // The primes are the largest below 2^25; the least ones of a ring of 2^17 are above 2^24.9.
    let modulus = f64::from(PRIME_BITS * PRIMES as u32).exp2() * 0.87;
    let errors = ROWS as f64 * n * (SIGMA * SIGMA + 1.0 / 12.0) + ones * ones / 12.0;
    let key = digit * errors / (modulus * modulus);
    let words = f64::exp2(-64.0) / 12.0 * (1.0 + dimension as f64 / 2.0);
    ends + key + words
}

/// Bytes of the rows of a key in a ring of degree 2^`log_n` as they are stored.
pub fn stored_bytes(log_n: u32) -> usize {
    (ROWS * PRIMES * size_of::<u32>()) << log_n
}

pub(crate) fn check_dimension(parameters: &Parameters, dimension: usize) -> Result<()> {
    if !dimension.is_power_of_two() || dimension > parameters.n() {
        let most = parameters.n();
        let reason = format!(
            "expected a secret key of a power of two of numbers up to N = {most}, got {dimension}"
        );
        return Err(Error::InvalidArgument { operation: SWITCH, reason });
    }
    if dimension < LEAST_DIMENSION {
        return Err(Error::InsecureParameters(format!(
            "a ring is switched to {LEAST_DIMENSION} numbers or more, got {dimension}"
        )));
    }
    Ok(())
}

pub(crate) fn every(ring: &Ring) -> Basis {
    Basis::new(0..ring.primes.len())
}

/// The second half of a row of a key.
pub(crate) fn expand_row(ring: &Ring, seed: &Seed, index: usize) -> Result<Poly> {
    let mut half = ring.unwritten(&every(ring));
    for (position, limb) in half.limbs_mut() {
        let stream = (index * PRIMES + position) as u64;
        sampling::uniform_residues(seed, stream, ring.modulus(position).q, limb)?;
    }
    Ok(half)
}

/// What the digit of a row is worth, of Q'.
fn weight(ring: &Ring, index: usize) -> u64 {
    let modulus: u64 = ring.primes.iter().map(|prime| u64::from(prime.modulus.q)).product();
    let shift = DIGIT_BITS * (index as u32 + 1);
    (modulus + (1 << (shift - 1))) >> shift
}

impl Turns {
    /// Signed digits, the most significant first.
    fn digits(&self, count: usize) -> Vec<Vec<i16>> {
        let mut digits = vec![Vec::with_capacity(self.0.len()); count];
        let one = f64::exp2(f64::from(DIGIT_BITS) * count as f64);
        for &turn in &self.0 {
            let mut left = (turn * one).round() as i64;
            for digits in digits.iter_mut().rev() {
                let (base, half) = (1i64 << DIGIT_BITS, 1i64 << (DIGIT_BITS - 1));
                let digit = ((left + half) & (base - 1)) - half;
                digits.push(digit as i16);
                left = (left - digit) >> DIGIT_BITS;
            }
        }
        digits
    }
}

/// A polynomial of public signed coefficients.
fn signed(ring: &Ring, coefficients: &[i16]) -> Poly {
    let mut poly = ring.unwritten(&every(ring));
    for (position, limb) in poly.limbs_mut() {
        let prime = &ring.primes[position];
        let q = prime.modulus.q as i32;
        for (residue, &x) in limb.iter_mut().zip(coefficients) {
            *residue = i32::from(x).rem_euclid(q) as u32;
        }
        prime.forward(limb);
    }
    poly
}

/// The coefficients of a polynomial as parts of the product of its primes.
fn turns_of(ring: &Ring, poly: &Poly) -> Turns {
    let moduli = ring.moduli(&poly.basis);
    let mut turns = vec![0.0; ring.n()];
    let mut limb = buffers::take(ring.n());
    for (position, values) in poly.limbs() {
        let own = ring.modulus(position);
        let others = moduli.iter().filter(|modulus| modulus.q != own.q);
        let cofactor = product(own, others.map(|modulus| modulus.q));
        limb.copy_from_slice(values);
        ring.primes[position].inverse(&mut limb);
        kernels::scale(own, &mut limb, own.to_montgomery(own.inv(cofactor)));
        for (turn, &residue) in turns.iter_mut().zip(limb.iter()) {
            *turn += f64::from(residue) / f64::from(own.q);
        }
    }
    buffers::give(limb);
    turns.iter_mut().for_each(|turn| *turn -= turn.floor());
    Turns(turns)
}

fn word(turn: f64) -> u32 {
    let turn = turn - turn.floor();
    (turn * f64::exp2(32.0)).round() as u64 as u32
}

/// Zeros and ones for tests.
#[cfg(test)]
pub(crate) fn binary(count: usize) -> Vec<u64> {
    let drawn = sampling::ternary(&mut Generator::from_os().unwrap(), count);
    drawn.iter().map(|&x| u64::from(x == 1)).collect()
}

/// The phase of an LWE ciphertext in turns, for tests.
#[cfg(test)]
pub(crate) fn phase(lwe: &[u32], secret: &[u64]) -> f64 {
    let (body, mask) = lwe.split_last().unwrap();
    let products = mask.iter().zip(secret).map(|(&a, &s)| a.wrapping_mul(s as u32));
    let phase = body.wrapping_sub(products.fold(0u32, u32::wrapping_add));
    f64::from(phase as i32) / f64::exp2(32.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ckks;

    fn secret(log_n: u32) -> SecretKey {
        let literal =
            ckks::ParametersLiteral { log_n: Some(log_n), insecure: true, ..Default::default() };
        SecretKey::generate(&ckks::Parameters::new(literal).unwrap()).unwrap()
    }

    #[test]
    fn targets_that_are_too_small_or_too_large_are_refused() {
        let insecure = secret(12).ring_switching_key(&[1; LEAST_DIMENSION / 2], [0; 16]);
        assert!(matches!(insecure, Err(Error::InsecureParameters(_))));
        for wrong in [LEAST_DIMENSION + 1, 2 * LEAST_DIMENSION] {
            let refused = secret(11).ring_switching_key(&vec![1; wrong], [0; 16]);
            assert!(matches!(refused, Err(Error::InvalidArgument { .. })));
        }
    }

    #[test]
    fn the_key_is_estimated_at_128_bits() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/security-estimates.md");
        let file = std::fs::read_to_string(path).unwrap();
        let row = file.lines().find(|line| line.starts_with("| ring switching |")).unwrap();
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert_eq!([cells[2], cells[3]], ["binary", &LEAST_DIMENSION.to_string()]);
        assert!(cells[6].parse::<f64>().unwrap() >= 128.0);
        let bits: f64 = cells[4].parse().unwrap();
        assert!(bits >= f64::from(PRIME_BITS * PRIMES as u32));
        assert!(cells[5].parse::<f64>().unwrap() <= SIGMA);
        for log_n in [11, 16] {
            let secret = secret(log_n);
            let ring = secret.parameters.switching_ring().unwrap();
            assert!(ring.bits(&every(&ring)) <= bits);
        }
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let secret = secret(11);
        let key = secret.ring_switching_key(&[1; LEAST_DIMENSION], [3; 16]).unwrap();
        let bytes = key.to_bytes();
        assert!(
            RingSwitchingKey::from_bytes(&secret.parameters, &bytes[..bytes.len() - 1]).is_err()
        );
        assert!(
            RingSwitchingKey::from_bytes(secret.parameters(), &bytes).unwrap().target() == [3; 16]
        );
        let other = self::secret(12);
        let refused = RingSwitchingKey::from_bytes(other.parameters(), &bytes);
        assert!(matches!(refused, Err(Error::ParametersMismatch { .. })));
    }
}
