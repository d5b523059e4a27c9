//! Plaintexts: vectors of numbers as scaled polynomials.

use std::fmt;

use rayon::prelude::*;
use rustfft::num_complex::Complex64;

use super::coefficients::Coefficients;
use super::encoding::Encoding;
use super::estimate::Estimate;
use super::parameters::Parameters;
use super::rounding::{IntegerCoefficients, NARROW_BOUND, RoundedCoefficients, scale_and_round};
use crate::ring::embedding::Embedding;
use crate::ring::poly::{Poly, SecretPoly};
use crate::ring::wiped::Wiped;
use crate::{Error, Result};

/// Numbers in slots, encoded at a level and a scale. Wiped from memory when dropped.
#[derive(Clone, PartialEq)]
pub struct Plaintext {
    /// Of degree 0.
    pub(crate) estimate: Estimate,
    /// Whether the bound was declared, or taken from the values.
    pub(crate) declares_bound: bool,
    pub(crate) poly: SecretPoly,
}

/// A number that can stand in a slot.
pub(crate) trait Slot: Copy + PartialEq + Send + Sync {
    fn is_finite(self) -> bool;
    fn magnitude(self) -> f64;
    /// The coefficients of the polynomial with these slots.
    fn embed(embedding: &Embedding, values: &[Self]) -> Result<Wiped<f64>>;
}

impl Slot for f64 {
    fn is_finite(self) -> bool {
        self.is_finite()
    }

    fn magnitude(self) -> f64 {
        self.abs()
    }

    fn embed(embedding: &Embedding, values: &[Self]) -> Result<Wiped<f64>> {
        embedding.embed_each(values, |value| Complex64::new(value, 0.0))
    }
}

impl Slot for Complex64 {
    fn is_finite(self) -> bool {
        self.re.is_finite() && self.im.is_finite()
    }

    /// That of a real number, which most are, without a root.
    fn magnitude(self) -> f64 {
        if self.im == 0.0 { self.re.abs() } else { self.norm() }
    }

    fn embed(embedding: &Embedding, values: &[Self]) -> Result<Wiped<f64>> {
        embedding.embed_each(values, |value| value)
    }
}

impl Parameters {
    /// Encodes complex numbers, one a slot; their count is a power of two up to N / 2.
    ///
    /// Fewer than N / 2 values are a sparse packing: they stand for themselves
    /// repeated. The error is that of rounding every coefficient to an integer, plus that
    /// of double precision (about 2^-50 of the largest value), so that scales beyond about
    /// 2^50 gain nothing for values near 1. Operands that repeat themselves, with no bound declared,
    /// take the time of one repetition.
    ///
    /// # Errors
    /// [`Error::SlotMismatch`], [`Error::NotFinite`], [`Error::ValueOutOfRange`] when a value
    /// exceeds the bound or, at this scale, a quarter of the modulus,
    /// [`Error::ScaleOutOfRange`] when values near 1 would, [`Error::LevelMismatch`].
    ///
    /// ```
    /// use rlwe::ckks::{Encoding, Parameters, ParametersLiteral};
    /// let literal = ParametersLiteral { levels: 1, scale_bits: 40.0, ..Default::default() };
    /// let parameters = Parameters::new(literal)?;
    /// let plaintext = parameters.encode_real(&[0.5, -1.0], Encoding::at(1))?;
    /// assert!((plaintext.decode()?[1].re + 1.0).abs() < 1e-9);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn encode(&self, values: &[Complex64], encoding: Encoding) -> Result<Plaintext> {
        self.encode_slots(values, encoding)
    }

    /// [`Self::encode`] for real numbers.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn encode_real(&self, values: &[f64], encoding: Encoding) -> Result<Plaintext> {
        self.encode_slots(values, encoding)
    }

    fn encode_slots<T: Slot>(&self, values: &[T], encoding: Encoding) -> Result<Plaintext> {
        let bound = check_values(values, encoding.bound)?;
        let estimate = self.plaintext_estimate(values.len(), encoding, bound, "encode")?;
        // What may be secret declares a bound, and takes the same time whatever it is.
        let values = if encoding.bound.is_none() { once(values) } else { values };
        let poly = self.encode_at(values, &estimate)?;
        Ok(Plaintext { estimate, declares_bound: encoding.bound.is_some(), poly })
    }

    /// The plaintext of one value in each of `slots` slots.
    pub(crate) fn encode_constant(
        &self,
        value: Complex64,
        slots: usize,
        encoding: Encoding,
    ) -> Result<Plaintext> {
        let bound = check_values(&[value], encoding.bound)?;
        let estimate = self.plaintext_estimate(slots, encoding, bound, "encode")?;
        let poly = self.encode_at(&[value], &estimate)?;
        Ok(Plaintext { estimate, declares_bound: encoding.bound.is_some(), poly })
    }

    /// The coefficients of the polynomial that [`Self::encode`] makes of complex numbers, one in
    /// each slot: what [`Self::encode_coefficients`] makes the same plaintext of, in less time.
    ///
    /// # Errors
    /// As [`Self::encode`], and [`Error::ValueOutOfRange`] of coefficients of 2^61 and more.
    ///
    /// ```
    /// use rlwe::ckks::{
    ///     Complex64, Encoding, IntegerCoefficients, Parameters, ParametersLiteral,
    /// };
    /// let literal = ParametersLiteral { levels: 1, scale_bits: 24.0, ..Default::default() };
    /// let parameters = Parameters::new(literal)?;
    /// let values = vec![Complex64::new(0.5, -1.0); parameters.slots()];
    /// let encoding = Encoding::at(1).within(2.0);
    /// let coefficients = parameters.coefficients(&values, encoding)?;
    /// let coefficients = IntegerCoefficients::Wide(&coefficients);
    /// let plaintext = parameters.encode_coefficients(coefficients, encoding)?;
    /// assert_eq!(plaintext, parameters.encode(&values, encoding)?);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn coefficients(&self, values: &[Complex64], encoding: Encoding) -> Result<Vec<i64>> {
        self.check_all_slots(values.len())?;
        let bound = check_values(values, encoding.bound)?;
        let estimate = self.plaintext_estimate(values.len(), encoding, bound, "encode")?;
        let rounded = self.rounded(values, &estimate)?;
        let (value, bound) = (rounded.magnitude() / estimate.scale, NARROW_BOUND / estimate.scale);
        let refusal = Error::ValueOutOfRange { operation: "encode", value, bound };
        rounded.integers().map(<[i64]>::to_vec).ok_or(refusal)
    }

    /// The plaintext of a polynomial with these coefficients, whose slots are taken to be within
    /// the bound of `encoding`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] unless there are N coefficients and a bound;
    /// [`Error::ValueOutOfRange`] for one beyond a quarter of the modulus, or 2^61;
    /// [`Error::ScaleOutOfRange`], [`Error::LevelMismatch`].
    pub fn encode_coefficients(
        &self,
        coefficients: IntegerCoefficients<'_>,
        encoding: Encoding,
    ) -> Result<Plaintext> {
        let estimate = self.estimate(self.slots(), encoding)?;
        self.check_coefficients(coefficients, &estimate)?;
        let ring = self.ring();
        let mut poly = ring.unwritten(self.level_basis(estimate.level));
        poly.par_limbs_mut().shared().for_each(|(position, limb)| {
            let prime = &ring.primes[position];
            coefficients.residues(prime.modulus.q, limb);
            prime.forward(limb);
        });
        Ok(Plaintext { estimate, declares_bound: true, poly: SecretPoly(poly) })
    }

    /// Refuses what are not the coefficients of a plaintext.
    pub(crate) fn check_coefficients(
        &self,
        coefficients: IntegerCoefficients<'_>,
        estimate: &Estimate,
    ) -> Result<()> {
        self.check_all_slots(coefficients.len() / 2)?;
        let magnitude = coefficients.magnitude();
        let most = self.largest_coefficient(estimate.level)?.min(NARROW_BOUND);
        if magnitude < most {
            return Ok(());
        }
        let (value, bound) = (magnitude / estimate.scale, most / estimate.scale);
        Err(Error::ValueOutOfRange { operation: "encode", value, bound })
    }

    /// Refuses fewer values than slots.
    fn check_all_slots(&self, count: usize) -> Result<()> {
        if count == self.slots() {
            return Ok(());
        }
        let slots = self.slots();
        let reason = format!("expected numbers for all {slots} slots, got {count}");
        Err(Error::InvalidArgument { operation: "encode", reason })
    }

    /// The polynomial of values, at the level and scale of `estimate`.
    fn encode_at<T: Slot>(&self, values: &[T], estimate: &Estimate) -> Result<SecretPoly> {
        let rounded = self.rounded(values, estimate)?;
        let ring = self.ring();
        let mut poly = ring.unwritten(self.level_basis(estimate.level));
        poly.par_limbs_mut().shared().try_for_each(|(position, limb)| {
            let prime = &ring.primes[position];
            rounded.residues(prime.modulus.q, &mut limb[..rounded.len()])?;
            prime.forward_sparse(limb, rounded.len());
            Ok::<_, Error>(())
        })?;
        Ok(SecretPoly(poly))
    }

    /// The coefficients of values at the scale of `estimate`, two for each value: those between them
    /// are zero.
    pub(crate) fn rounded<T: Slot>(
        &self,
        values: &[T],
        estimate: &Estimate,
    ) -> Result<RoundedCoefficients> {
        let coefficients = T::embed(self.embedding(), values)?;
        let rounded = scale_and_round(&coefficients, estimate.scale)?;
        let most = self.largest_coefficient(estimate.level)?;
        if rounded.magnitude() >= most {
            let value = values.iter().map(|x| x.magnitude()).fold(0.0, f64::max);
            let bound = most / estimate.scale;
            return Err(Error::ValueOutOfRange { operation: "encode", value, bound });
        }
        Ok(rounded)
    }
}

/// The bound of the values, after checking that it holds.
pub(crate) fn check_values<T: Slot>(values: &[T], bound: Option<f64>) -> Result<f64> {
    let operation = "encode";
    if let Some(index) = values.iter().position(|x| !x.is_finite()) {
        return Err(Error::NotFinite { operation, index });
    }
    let largest = values.iter().map(|x| x.magnitude()).fold(0.0, f64::max);
    let bound = bound.unwrap_or(largest);
    if largest > bound || !bound.is_finite() {
        return Err(Error::ValueOutOfRange { operation, value: largest, bound });
    }
    Ok(bound)
}

/// Values that repeat themselves, once: fewer are encoded in less time and memory.
pub(super) fn once<T: PartialEq>(mut values: &[T]) -> &[T] {
    while let (first, second) = values.split_at(values.len() / 2)
        && !first.is_empty()
        && first == second
    {
        values = first;
    }
    values
}

impl Plaintext {
    /// What is known of it beside the values, as of a ciphertext of degree 0.
    pub fn estimate(&self) -> &Estimate {
        &self.estimate
    }

    /// Its parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.estimate.parameters
    }

    /// The level that it is encoded at.
    pub fn level(&self) -> usize {
        self.estimate.level
    }

    /// The factor between coefficients and values.
    pub fn scale(&self) -> f64 {
        self.estimate.scale
    }

    /// The number of values.
    pub fn slots(&self) -> usize {
        self.estimate.slots
    }

    /// The public bound on the absolute values, or the largest of them where none was declared.
    pub fn bound(&self) -> f64 {
        self.estimate.bound
    }

    /// Refuses to encrypt what declares no bound.
    pub(crate) fn check_declared_bound(&self) -> Result<()> {
        if self.declares_bound {
            return Ok(());
        }
        let reason = "the plaintext declares no bound, and evaluators would learn the largest of its values; declare one where it is encoded";
        Err(Error::InvalidArgument { operation: "encrypt", reason: reason.into() })
    }

    pub(crate) fn poly(&self) -> &Poly {
        &self.poly.0
    }

    /// The values.
    ///
    /// # Errors
    /// [`Error::DecryptionOverflow`] when the coefficients fill the modulus.
    pub fn decode(&self) -> Result<Vec<Complex64>> {
        self.decode_each(|value| value)
    }

    /// The real parts of the values.
    ///
    /// # Errors
    /// As [`Self::decode`].
    pub fn decode_real(&self) -> Result<Vec<f64>> {
        self.decode_each(|value| value.re)
    }

    fn decode_each<T>(&self, map: impl Fn(Complex64) -> T) -> Result<Vec<T>> {
        let parameters = self.parameters();
        let coefficients = Coefficients::of(parameters.ring(), self.poly(), &self.estimate)?;
        parameters.embedding().project_each(&coefficients.values(self.scale()), self.slots(), map)
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
        write!(
            f,
            "level {} of {}, scale 2^{:.3}, {} slots, N = 2^{}, {}",
            self.level(),
            self.parameters().max_level(),
            self.scale().log2(),
            self.slots(),
            self.parameters().log_n(),
            self.parameters().security(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ckks::ParametersLiteral;

    #[test]
    fn operands_that_repeat_themselves_have_the_residues_of_what_declares_a_bound() {
        let literal = ParametersLiteral { levels: 1, scale_bits: 30.0, ..Default::default() };
        let parameters = Parameters::new(literal).unwrap();
        let slots = parameters.slots();
        for period in [1, 2, 64, slots] {
            let values: Vec<f64> = (0..slots).map(|slot| (slot % period) as f64 / 8.0).collect();
            let complex: Vec<Complex64> =
                values.iter().map(|&value| Complex64::new(value, 1.0 - value)).collect();
            let whole = Encoding::at(1).within(2.0 * slots as f64);
            for (operand, declared) in [
                (
                    parameters.encode_real(&values, Encoding::at(1)),
                    parameters.encode_real(&values, whole),
                ),
                (parameters.encode(&complex, Encoding::at(1)), parameters.encode(&complex, whole)),
            ] {
                let (operand, declared) = (operand.unwrap(), declared.unwrap());
                assert_eq!(operand.slots(), slots);
                assert_eq!(operand.words(), declared.words(), "period {period}");
            }
        }
    }
}
