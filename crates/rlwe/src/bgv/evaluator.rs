//! Arithmetic on ciphertexts.

use super::ciphertext::Ciphertext;
use super::estimate::residue;
use super::plaintext::Plaintext;
use crate::core::Parameters;
use crate::core::keys::EvaluationKeys;
use crate::core::tensor_product::tensor;
use crate::ring::poly::Poly;
use crate::{Error, Result};

/// Runs operations with evaluation keys. It holds no secret and cannot decrypt.
///
/// Every operation refuses by [`Error::NoiseExhausted`] what could decrypt to a wrong number,
/// before it happens.
///
/// ```
/// use rlwe::bgv::{Evaluator, Parameters, ParametersLiteral};
/// use rlwe::keys::{EvaluationKeysRequest, SecretKey};
///
/// let parameters = Parameters::new(ParametersLiteral { levels: 1, ..Default::default() })?;
/// let secret = SecretKey::generate(&parameters)?;
/// let request = EvaluationKeysRequest { relinearisation_level: Some(1), ..Default::default() };
/// let evaluator = Evaluator::new(secret.evaluation_keys(&request)?);
///
/// let row: Vec<i64> = (0..parameters.slots() as i64).map(|i| i % 200 - 100).collect();
/// let x = secret.encrypt_integers(&parameters.encode(&row, 1)?)?;
/// let square = evaluator.switch_down(&evaluator.square(&x)?)?;
/// assert_eq!(secret.decrypt_integers(&square)?[..3], [10000, 9801, 9604]);
/// # Ok::<(), rlwe::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Evaluator {
    pub(crate) keys: EvaluationKeys,
}

impl Evaluator {
    /// An evaluator with these keys.
    pub fn new(keys: EvaluationKeys) -> Self {
        Self { keys }
    }

    /// The keys.
    pub fn keys(&self) -> &EvaluationKeys {
        &self.keys
    }

    /// Adds keys.
    ///
    /// # Errors
    /// [`Error::ParametersMismatch`], [`Error::KeyMismatch`].
    pub fn extend_keys(&mut self, keys: EvaluationKeys) -> Result<()> {
        self.keys.extend(keys)
    }

    pub(crate) fn parameters(&self) -> &Parameters {
        &self.keys.parameters
    }

    /// Refuses ciphertexts that are not of this evaluator's key.
    pub(crate) fn check(&self, a: &Ciphertext, operation: &'static str) -> Result<()> {
        self.parameters().check_same(a.parameters(), operation)?;
        if a.key == self.keys.id { Ok(()) } else { Err(Error::KeyMismatch { operation }) }
    }

    fn check_plain(&self, a: &Ciphertext, b: &Plaintext, operation: &'static str) -> Result<()> {
        self.check(a, operation)?;
        self.parameters().check_same(&b.parameters, operation)?;
        if a.level() == b.level {
            return Ok(());
        }
        Err(Error::LevelMismatch { operation, expected: a.level(), actual: b.level })
    }

    /// a + b; correction factors that differ are aligned at some cost in noise.
    ///
    /// # Errors
    /// [`Error::LevelMismatch`], [`Error::NoiseExhausted`], [`Error::KeyMismatch`],
    /// [`Error::ParametersMismatch`].
    pub fn add(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.combine(a, b, 1, "add")
    }

    /// a - b.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn sub(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.combine(a, b, -1, "subtract")
    }

    /// a + sign b.
    fn combine(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        sign: i64,
        operation: &'static str,
    ) -> Result<Ciphertext> {
        self.check(a, operation)?;
        self.check(b, operation)?;
        let ([of_a, of_b], estimate) = a.estimate.aligned(&b.estimate, operation)?;
        let of_b = of_b * sign;
        let ring = self.parameters().ring();
        let count = a.polys.len().max(b.polys.len());
        let polys: Vec<Poly> = (0..count)
            .map(|index| {
                let mut sum = match a.polys.get(index) {
                    Some(poly) => poly.clone(),
                    None => ring.zero(&b.polys[index].basis),
                };
                self.multiply_by_integer(&mut sum, of_a);
                match (b.polys.get(index), of_b) {
                    (Some(poly), 1) => ring.add(&mut sum, poly),
                    (Some(poly), -1) => ring.sub(&mut sum, poly),
                    (Some(poly), _) => ring.add_scaled(&mut sum, poly, |q| residue(q.q, of_b)),
                    (None, _) => (),
                }
                sum
            })
            .collect();
        Ok(a.with(estimate, polys))
    }

    /// poly *= value.
    pub(super) fn multiply_by_integer(&self, poly: &mut Poly, value: i64) {
        let ring = self.parameters().ring();
        match value {
            1 => (),
            -1 => ring.negate(poly),
            _ => ring.scale(poly, |q| residue(q.q, value)),
        }
    }

    /// -a.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`], [`Error::ParametersMismatch`].
    pub fn negate(&self, a: &Ciphertext) -> Result<Ciphertext> {
        self.check(a, "negate")?;
        Ok(self.multiple(a, a.estimate.clone(), -1))
    }

    fn multiple(&self, a: &Ciphertext, estimate: super::Estimate, value: i64) -> Ciphertext {
        let mut product = a.with(estimate, a.polys.clone());
        let polys = std::sync::Arc::make_mut(&mut product.polys);
        polys.iter_mut().for_each(|poly| self.multiply_by_integer(poly, value));
        product
    }

    /// a + b for a plaintext b of the same level.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn add_plain(&self, a: &Ciphertext, b: &Plaintext) -> Result<Ciphertext> {
        self.check_plain(a, b, "add a plaintext")?;
        self.add_coefficients(a, b, a.estimate.factor)
    }

    /// a - b for a plaintext b of the same level.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn sub_plain(&self, a: &Ciphertext, b: &Plaintext) -> Result<Ciphertext> {
        self.check_plain(a, b, "subtract a plaintext")?;
        self.add_coefficients(a, b, a.parameters().t().sub(0, a.estimate.factor))
    }

    /// a + factor b, the factor taken as a's own or its negative.
    fn add_coefficients(&self, a: &Ciphertext, b: &Plaintext, factor: u32) -> Result<Ciphertext> {
        let mut sum = a.with(a.estimate.add_plain()?, a.polys.clone());
        let first = &mut std::sync::Arc::make_mut(&mut sum.polys)[0];
        a.parameters().add_message(first, b, factor);
        Ok(sum)
    }

    /// a + value in every slot.
    ///
    /// # Errors
    /// [`Error::IntegerOutOfRange`], [`Error::NoiseExhausted`], and those of [`Self::negate`].
    pub fn add_scalar(&self, a: &Ciphertext, value: i64) -> Result<Ciphertext> {
        let operation = "add a scalar";
        self.check(a, operation)?;
        a.parameters().check_range(value, operation)?;
        let t = a.parameters().t();
        let constant = super::slots::centred(t, t.mul(a.estimate.factor, residue(t.q, value)));
        let mut sum = a.with(a.estimate.add_plain()?, a.polys.clone());
        let first = &mut std::sync::Arc::make_mut(&mut sum.polys)[0];
        let ring = self.parameters().ring();
        ring.add_constant(first, |q| q.mul(residue(q.q, constant), q.inv(t.q % q.q)));
        Ok(sum)
    }

    /// a * b, relinearised, the modulus as it was: see [`Self::switch_down`].
    ///
    /// # Errors
    /// [`Error::MissingKey`] without a relinearisation key for the level,
    /// [`Error::DegreeMismatch`], and those of [`Self::add`].
    pub fn multiply(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.relinearize(&self.multiply_lazily(a, b)?)
    }

    /// a * b of degree 2.
    ///
    /// # Errors
    /// As [`Self::multiply`], without the key.
    pub fn multiply_lazily(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        let operation = "multiply";
        self.check(a, operation)?;
        self.check(b, operation)?;
        let estimate = a.estimate.multiply_lazily(&b.estimate)?;
        let ring = self.parameters().ring();
        // Both sides are divided by t, their product is to be once.
        let by_modulus = |q, limb: &mut [u32]| a.parameters().scale_by_modulus(q, limb);
        Ok(a.with(estimate, tensor(ring, &a.polys, &b.polys, by_modulus)))
    }

    /// a * a, relinearised.
    ///
    /// # Errors
    /// As [`Self::multiply`].
    pub fn square(&self, a: &Ciphertext) -> Result<Ciphertext> {
        self.multiply(a, a)
    }

    /// Brings a ciphertext of degree 2 back to degree 1; one of degree 1 is returned as it is.
    ///
    /// # Errors
    /// [`Error::MissingKey`], [`Error::NoiseExhausted`], [`Error::KeyMismatch`],
    /// [`Error::ParametersMismatch`].
    pub fn relinearize(&self, a: &Ciphertext) -> Result<Ciphertext> {
        self.check(a, "relinearise")?;
        if a.degree() == 1 {
            return Ok(a.clone());
        }
        let estimate = a.estimate.relinearize()?;
        let division = self.parameters().division_by_special(a.level());
        Ok(a.with(estimate, self.keys.relinearize(&a.polys, a.level(), division)?))
    }

    /// Relinearises a ciphertext of degree 2 and switches it one level down, in one division;
    /// one of degree 1 is switched to the factor that fresh ones of that level have, if that costs
    /// little noise.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] at level 0, and those of [`Self::relinearize`].
    pub fn relinearize_and_switch(&self, a: &Ciphertext) -> Result<Ciphertext> {
        self.check(a, "switch the modulus")?;
        if a.degree() == 1 {
            return Ok(self.switched(a, a.estimate.switching_below()?));
        }
        let estimate = a.estimate.relinearize_and_switch()?;
        let division = self.parameters().rescale_from_extended(a.level());
        Ok(a.with(estimate, self.keys.relinearize(&a.polys, a.level(), division)?))
    }

    /// a * b for a plaintext b of the same level.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn multiply_plain(&self, a: &Ciphertext, b: &Plaintext) -> Result<Ciphertext> {
        self.check_plain(a, b, "multiply by a plaintext")?;
        let estimate = a.estimate.multiply_plain(Some(b.norm_bits()))?;
        let mut product = a.with(estimate, a.polys.clone());
        let ring = self.parameters().ring();
        let polys = std::sync::Arc::make_mut(&mut product.polys);
        polys.iter_mut().for_each(|poly| ring.mul(poly, b.poly()));
        Ok(product)
    }

    /// a * value in every slot.
    ///
    /// # Errors
    /// [`Error::IntegerOutOfRange`], [`Error::NoiseExhausted`], and those of [`Self::negate`].
    pub fn multiply_scalar(&self, a: &Ciphertext, value: i64) -> Result<Ciphertext> {
        self.check(a, "multiply by a scalar")?;
        Ok(self.multiple(a, a.estimate.multiply_scalar(value)?, value))
    }
}
