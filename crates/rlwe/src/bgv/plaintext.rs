//! Plaintexts: two rows of integers as polynomials.

use std::fmt;
use std::sync::OnceLock;

use rayon::prelude::*;
use zeroize::Zeroizing;

use super::parameters::Parameters;
use super::slots::centred;

use crate::ring::kernels;
use crate::ring::poly::{Basis, Poly, SecretPoly};
use crate::ring::wiped::Wiped;
use crate::{Error, Result};

/// Double-precision transforms are exact to far less than this part of the largest value.
const TRANSFORM_ERROR: f64 = 1.0 / (1u64 << 30) as f64;

/// Integers modulo t in two rows of slots, encoded at a level. Wiped from memory when dropped.
#[derive(Clone)]
pub struct Plaintext {
    pub(crate) parameters: Parameters,
    pub(crate) level: usize,
    /// Modulo t.
    pub(crate) coefficients: Zeroizing<Vec<u32>>,
    /// The centred coefficients.
    poly: SecretPoly,
    /// Computed when first asked for: encryption does not.
    norm_bits: OnceLock<f64>,
}

/// The polynomial and its norm follow from the coefficients.
impl PartialEq for Plaintext {
    fn eq(&self, other: &Self) -> bool {
        self.parameters == other.parameters
            && self.level == other.level
            && self.coefficients == other.coefficients
    }
}

impl Parameters {
    /// Encodes integers in (-t / 2, t / 2) for ciphertexts of `level`: the first row of N / 2
    /// and then the second, or one row that stands for both.
    ///
    /// # Errors
    /// [`Error::SlotMismatch`] for another number of them, [`Error::IntegerOutOfRange`],
    /// [`Error::LevelMismatch`].
    ///
    /// ```
    /// use rlwe::bgv::{Parameters, ParametersLiteral};
    /// let parameters = Parameters::new(ParametersLiteral::default())?;
    /// let row: Vec<i64> = (0..parameters.slots() as i64).collect();
    /// let values = parameters.encode(&row, 0)?.decode();
    /// assert_eq!(values, [row.clone(), row].concat());
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn encode(&self, values: &[i64], level: usize) -> Result<Plaintext> {
        let operation = "encode";
        self.basis(level, operation)?;
        let coefficients = self.embed(values, operation)?;
        Ok(self.plaintext(coefficients, level))
    }

    /// Coefficients modulo t of the polynomial with these slots.
    pub(crate) fn embed(
        &self,
        values: &[i64],
        operation: &'static str,
    ) -> Result<Zeroizing<Vec<u32>>> {
        let both;
        let values = if values.len() == self.slots() {
            let mut twice = system_memory::reserved(2 * values.len());
            [values, values].into_iter().for_each(|half| twice.extend_from_slice(half));
            both = Zeroizing::new(twice);
            &both
        } else {
            values
        };
        if values.len() != self.n() {
            let (expected, actual) = (self.slots(), values.len());
            return Err(Error::SlotMismatch { operation, expected, actual });
        }
        values.iter().try_for_each(|&value| self.check_range(value, operation))?;
        Ok(self.slot_encoder().embed(values))
    }

    /// The plaintext of coefficients modulo t, at a level that there is.
    pub(crate) fn plaintext(&self, coefficients: Zeroizing<Vec<u32>>, level: usize) -> Plaintext {
        let poly = SecretPoly(self.lifted(&coefficients, 1, self.level_basis(level)));
        let parameters = self.clone();
        Plaintext { parameters, level, coefficients, poly, norm_bits: OnceLock::new() }
    }

    /// The polynomial whose coefficients are these times `factor`, modulo t and centred; in
    /// constant time.
    pub(crate) fn lifted(&self, coefficients: &[u32], factor: u32, basis: &Basis) -> Poly {
        let (ring, t) = (self.ring(), self.t());
        let factor = t.to_montgomery(factor);
        let scaled: Zeroizing<Vec<u32>> = Zeroizing::new(system_memory::collected(
            coefficients.iter().map(|&x| t.mul_montgomery(x, factor)),
        ));
        let mut poly = ring.unwritten(basis);
        poly.par_limbs_mut().shared().for_each(|(position, limb)| {
            let prime = &ring.primes[position];
            let q = prime.modulus;
            let whole = q.mul_montgomery(t.q, q.r);
            for (residue, &x) in limb.iter_mut().zip(scaled.iter()) {
                let beyond = u32::from(x > t.q / 2);
                *residue = q.sub(q.mul_montgomery(x, q.r), beyond * whole);
            }
            prime.forward(limb);
        });
        poly
    }

    /// log2 of the largest absolute value of the centred polynomial at a root of X^N + 1.
    pub(crate) fn norm_bits(&self, coefficients: &[u32]) -> f64 {
        let t = self.t();
        let reals = Wiped::collect(coefficients.iter().map(|&x| centred(t, x) as f64));
        let any = self.noise_model().message().canonical_bits;
        let norms = self.embedding().project_each(&reals, self.slots(), |value| value.norm());
        let Ok(norms) = norms else { return any };
        let largest = norms.into_iter().fold(1.0, f64::max);
        (largest * (1.0 + TRANSFORM_ERROR)).log2().min(any)
    }

    pub(crate) fn check_range(&self, value: i64, operation: &'static str) -> Result<()> {
        let bound = i64::from(self.plaintext_modulus() / 2);
        if (-bound..=bound).contains(&value) {
            return Ok(());
        }
        Err(Error::IntegerOutOfRange { operation, value, bound })
    }

    /// t^-1 times `factor` times a message is added to `sum`, which has its primes.
    pub(crate) fn add_message(&self, sum: &mut Poly, message: &Plaintext, factor: u32) {
        let t = self.plaintext_modulus();
        let scaled;
        let poly = if factor == 1 {
            message.poly()
        } else {
            let basis = self.level_basis(message.level);
            scaled = SecretPoly(self.lifted(&message.coefficients, factor, basis));
            &scaled.0
        };
        self.ring().add_scaled(sum, poly, |q| q.inv(t % q.q));
    }

    /// t times every limb of a polynomial, one by one.
    pub(crate) fn scale_by_modulus(&self, q: crate::ring::modulus::Modulus, limb: &mut [u32]) {
        kernels::scale(q, limb, q.to_montgomery(self.plaintext_modulus() % q.q));
    }
}

impl Plaintext {
    /// The level that it is encoded at.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Its parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// log2 of what a product with it multiplies noise by: the norm of its polynomial in the
    /// canonical embedding.
    pub fn norm_bits(&self) -> f64 {
        *self.norm_bits.get_or_init(|| self.parameters.norm_bits(&self.coefficients))
    }

    pub(crate) fn poly(&self) -> &Poly {
        &self.poly.0
    }

    /// The first row and then the second.
    pub fn decode(&self) -> Vec<i64> {
        self.parameters.slot_encoder().project(&self.coefficients)
    }
}

/// Tells nothing of the values.
impl fmt::Debug for Plaintext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plaintext({self})")
    }
}

impl fmt::Display for Plaintext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (level, highest) = (self.level, self.parameters.max_level());
        write!(f, "level {level} of {highest}, {}", self.parameters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgv::estimate::residue;
    use crate::bgv::{Ciphertext, Evaluator, ParametersLiteral};
    use crate::core::keys::{EvaluationKeys, SecretKey};

    /// Messages whose coefficients have one absolute value, and such as pile up at one root or, in
    /// a product, at one coefficient.
    fn extremes(parameters: &Parameters) -> Vec<Plaintext> {
        let (half, t) = (parameters.plaintext_modulus() / 2, parameters.plaintext_modulus());
        let signed = |positive: bool| if positive { half } else { t - half };
        let patterns: [&dyn Fn(usize) -> u32; 5] = [
            &|_| half,
            &|i| signed(i == 0),
            &|i| signed(i % 2 == 0),
            &|i| signed((i / 3).is_multiple_of(2)),
            &|i| if i == 0 { half } else { 0 },
        ];
        let message = |pattern: &dyn Fn(usize) -> u32| {
            let coefficients = (0..parameters.n()).map(pattern).collect();
            parameters.plaintext(Zeroizing::new(coefficients), parameters.max_level())
        };
        patterns.map(message).into()
    }

    fn holds_within_bounds(secret: &SecretKey, ciphertext: &Ciphertext, values: &[i64]) {
        let measured = secret.measure_noise(ciphertext).unwrap();
        let bound = ciphertext.estimate().noise();
        assert!(measured.canonical_bits <= bound.canonical_bits);
        assert!(measured.length_bits <= bound.length_bits);
        assert!(measured.coefficient_bits <= bound.coefficient_bits);
        assert_eq!(secret.decrypt_integers(ciphertext).unwrap(), values);
    }

    #[test]
    fn no_message_and_no_product_exceeds_its_bounds() {
        for (log_n, modulus) in [(5, 193), (8, 65537), (10, 1_073_707_009)] {
            let plaintext_modulus = Some(modulus);
            let literal = ParametersLiteral { log_n: Some(log_n), plaintext_modulus, ..small() };
            let parameters = Parameters::new(literal).unwrap();
            let secret = SecretKey::generate(&parameters).unwrap();
            let evaluator = Evaluator::new(EvaluationKeys::none(&secret));
            let messages = extremes(&parameters);
            let any = parameters.noise_model().message();
            for a in &messages {
                assert!(a.norm_bits() <= any.canonical_bits);
                let x = secret.encrypt_integers(a).unwrap();
                holds_within_bounds(&secret, &x, &a.decode());
                for b in &messages {
                    let y = secret.encrypt_integers(b).unwrap();
                    let values: Vec<i64> = a
                        .decode()
                        .iter()
                        .zip(b.decode())
                        .map(|(x, y)| centred(parameters.t(), residue(parameters.t().q, x * y)))
                        .collect();
                    let product = evaluator.multiply_lazily(&x, &y).unwrap();
                    holds_within_bounds(&secret, &product, &values);
                    let product = evaluator.multiply_plain(&x, b).unwrap();
                    holds_within_bounds(&secret, &product, &values);
                }
            }
        }
    }

    #[test]
    fn norms_are_those_of_the_embedding() {
        let parameters = Parameters::new(ParametersLiteral { log_n: Some(8), ..small() }).unwrap();
        let norm = |row: &[i64]| parameters.encode(row, 0).unwrap().norm_bits();
        let ones = vec![1; parameters.slots()];
        assert!((norm(&ones) - 0.0).abs() < 1e-6);
        let hundreds = vec![-100; parameters.slots()];
        assert!((norm(&hundreds) - 100f64.log2()).abs() < 1e-6);
    }

    fn small() -> ParametersLiteral {
        ParametersLiteral { levels: 2, insecure: true, ..ParametersLiteral::default() }
    }
}
