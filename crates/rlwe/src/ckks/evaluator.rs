//! Arithmetic on ciphertexts.

use std::sync::Arc;

use rustfft::num_complex::Complex64;

use super::ciphertext::Ciphertext;
use super::estimate::{self, Estimate};
use super::plaintext::{Encoding, Plaintext};
use crate::deviation;
use crate::keys::EvaluationKeys;
use crate::multiplication::tensor;
use crate::parameters::Parameters;
use crate::{Error, Result};

/// Two scales within this ratio count as one: the error that it causes is tracked.
const SCALE_TOLERANCE: f64 = 1.0 / (1u64 << 40) as f64;

/// Runs operations with evaluation keys. It holds no secret and cannot decrypt.
///
/// ```
/// use rlwe::ckks::{Encoding, Evaluator};
/// use rlwe::keys::{EvaluationKeysRequest, SecretKey};
/// use rlwe::{Parameters, ParametersLiteral};
///
/// let literal = ParametersLiteral { levels: 1, scale_bits: 40.0, ..Default::default() };
/// let parameters = Parameters::new(literal)?;
/// let secret = SecretKey::generate(&parameters)?;
/// let request = EvaluationKeysRequest { relinearisation_level: Some(1), ..Default::default() };
/// let evaluator = Evaluator::new(secret.evaluation_keys(&request)?);
///
/// let x = secret.encrypt(&parameters.encode_real(&[3.0, 0.5], Encoding::at(1))?)?;
/// let square = evaluator.rescale(&evaluator.square(&x)?)?;
/// let values = secret.decrypt(&square)?.decode_real()?;
/// assert!((values[0] - 9.0).abs() < 1e-6 && (values[1] - 0.25).abs() < 1e-6);
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
        self.parameters().check_same(&a.parameters, operation)?;
        if a.key == self.keys.id { Ok(()) } else { Err(Error::KeyMismatch { operation }) }
    }

    fn check_pair(&self, a: &Ciphertext, b: &Ciphertext, operation: &'static str) -> Result<()> {
        self.check(a, operation)?;
        self.check(b, operation)?;
        check_operands(a, (b.level, b.slots), operation)
    }

    fn check_plain(&self, a: &Ciphertext, b: &Plaintext, operation: &'static str) -> Result<()> {
        self.check(a, operation)?;
        self.parameters().check_same(&b.parameters, operation)?;
        check_operands(a, (b.level, b.slots), operation)
    }

    /// a + b.
    ///
    /// # Errors
    /// [`Error::LevelMismatch`], [`Error::ScaleMismatch`], [`Error::SlotMismatch`],
    /// [`Error::KeyMismatch`], [`Error::ParametersMismatch`].
    pub fn add(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        let (mut sum, other) =
            if a.degree() >= b.degree() { (a.clone(), b) } else { (b.clone(), a) };
        self.add_assign(&mut sum, other)?;
        Ok(sum)
    }

    /// a += b, for b of the degree of a or below it.
    pub(crate) fn add_assign(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<()> {
        self.check_pair(a, b, "add")?;
        let slack = scale_error(a.scale, b.scale, b.estimate, "add")?;
        for (poly, other) in a.polys_mut().iter_mut().zip(&*b.polys) {
            self.parameters().ring().add(poly, other);
        }
        a.estimate = a.estimate.add(b.estimate).with_error(slack);
        a.seed = None;
        Ok(())
    }

    /// a - b.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn sub(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.check_pair(a, b, "subtract")?;
        self.add(a, &self.negate(b)?)
    }

    /// -a.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`], [`Error::ParametersMismatch`].
    pub fn negate(&self, a: &Ciphertext) -> Result<Ciphertext> {
        self.check(a, "negate")?;
        let mut negated = Ciphertext { seed: None, ..a.clone() };
        negated.polys_mut().iter_mut().for_each(|poly| self.parameters().ring().negate(poly));
        Ok(negated)
    }

    /// a + b for a plaintext b of the same level and scale.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn add_plain(&self, a: &Ciphertext, b: &Plaintext) -> Result<Ciphertext> {
        self.check_plain(a, b, "add a plaintext")?;
        let slack = scale_error(a.scale, b.scale, b.estimate, "add a plaintext")?;
        let mut sum = a.clone();
        self.parameters().ring().add(&mut sum.polys_mut()[0], &b.poly);
        sum.estimate = a.estimate.add(b.estimate).with_error(slack);
        Ok(Ciphertext { seed: None, ..sum })
    }

    /// a - b for a plaintext b of the same level and scale.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn sub_plain(&self, a: &Ciphertext, b: &Plaintext) -> Result<Ciphertext> {
        self.check_plain(a, b, "subtract a plaintext")?;
        let slack = scale_error(a.scale, b.scale, b.estimate, "subtract a plaintext")?;
        let mut difference = a.clone();
        self.parameters().ring().sub(&mut difference.polys_mut()[0], &b.poly);
        difference.estimate = a.estimate.add(b.estimate).with_error(slack);
        Ok(Ciphertext { seed: None, ..difference })
    }

    /// a + value in every slot; cheapest for real values.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::ScaleOutOfRange`], [`Error::ValueOutOfRange`] for a value
    /// that overflows at the scale of a, and those of [`Self::negate`].
    pub fn add_scalar(&self, a: &Ciphertext, value: Complex64) -> Result<Ciphertext> {
        let operation = "add a scalar";
        self.check(a, operation)?;
        if let Some(value) = real(value) {
            self.parameters().check_scale(a.level, a.scale, operation)?;
            let mut sum = a.clone();
            self.add_real(&mut sum, value, operation)?;
            return Ok(sum);
        }
        let plaintext = self.constant(a, value, a.scale)?;
        self.add_plain(a, &plaintext)
    }

    /// The plaintext of one value in every slot.
    fn constant(&self, a: &Ciphertext, value: Complex64, scale: f64) -> Result<Plaintext> {
        let encoding = Encoding { level: a.level, scale: Some(scale), bound: None };
        let plaintext = self.parameters().encode(&[value], encoding)?;
        Ok(Plaintext { slots: a.slots, ..plaintext })
    }

    /// a * b, relinearised, not rescaled: the scale is the product of both scales.
    ///
    /// # Errors
    /// [`Error::MissingKey`] without a relinearisation key for the level,
    /// [`Error::DegreeMismatch`], [`Error::ScaleOutOfRange`] when the product does not fit
    /// the modulus, and those of [`Self::add`] but for the scales.
    pub fn multiply(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.relinearize(&self.multiply_lazily(a, b)?)
    }

    /// a * b of degree 2, neither relinearised nor rescaled.
    ///
    /// # Errors
    /// As [`Self::multiply`], without the key.
    pub fn multiply_lazily(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        let operation = "multiply";
        self.check_pair(a, b, operation)?;
        a.check_degree(1, operation)?;
        b.check_degree(1, operation)?;
        let scale = a.scale * b.scale;
        self.parameters().check_scale(a.level, scale, operation)?;
        let polys = tensor(self.parameters().ring(), &a.polys, &b.polys, |_, _| ());
        Ok(Ciphertext {
            scale,
            estimate: a.estimate.mul(b.estimate),
            polys: polys.into(),
            seed: None,
            ..Self::header(a)
        })
    }

    /// A ciphertext's description, without its polynomials.
    pub(crate) fn header(a: &Ciphertext) -> Ciphertext {
        Ciphertext { parameters: a.parameters.clone(), polys: Arc::new([]), ..*a }
    }

    /// a * a, relinearised, not rescaled.
    ///
    /// # Errors
    /// As [`Self::multiply`].
    pub fn square(&self, a: &Ciphertext) -> Result<Ciphertext> {
        self.multiply(a, a)
    }

    /// Brings a ciphertext of degree 2 back to degree 1; one of degree 1 is returned as it is.
    ///
    /// # Errors
    /// [`Error::MissingKey`], [`Error::KeyMismatch`], [`Error::ParametersMismatch`].
    pub fn relinearize(&self, a: &Ciphertext) -> Result<Ciphertext> {
        self.check(a, "relinearise")?;
        if a.degree() == 1 {
            return Ok(a.clone());
        }
        let division = self.parameters().division_by_special(a.level);
        let polys = self.keys.relinearize(&a.polys, a.level, division)?.into();
        let estimate = a.estimate.with_error(self.key_switching_error(a));
        Ok(Ciphertext { polys, estimate, seed: None, ..Self::header(a) })
    }

    /// Relinearises a ciphertext of degree 2 and rescales it, in one division; one of degree 1
    /// is rescaled.
    ///
    /// # Errors
    /// [`Error::MissingKey`], and those of [`Self::rescale`].
    pub fn relinearize_and_rescale(&self, a: &Ciphertext) -> Result<Ciphertext> {
        if a.degree() == 1 {
            return self.rescale(a);
        }
        self.check(a, "rescale")?;
        let scale = a.scale / self.parameters().rescale_factor(a.level)?;
        self.relinearize_and_rescale_to(a, scale)
    }

    /// Relinearises a ciphertext of degree 2 and rescales it to `scale`, which is its own
    /// divided by [`Parameters::rescale_factor`], in one division.
    pub(crate) fn relinearize_and_rescale_to(
        &self,
        a: &Ciphertext,
        scale: f64,
    ) -> Result<Ciphertext> {
        let parameters = self.parameters();
        let level = a.level - 1;
        parameters.check_scale(level, scale, "rescale")?;
        parameters.check_room(level, scale, a.estimate.bound, "rescale")?;
        let division = parameters.rescale_from_extended(a.level);
        let polys = self.keys.relinearize(&a.polys, a.level, division)?.into();
        let switching = deviation::key_switching(parameters, a.level);
        let estimate = a
            .estimate
            .with_error(estimate::in_slots(switching, a.slots, a.scale))
            .with_error(estimate::in_slots(deviation::rounding(parameters), a.slots, scale));
        Ok(Ciphertext { level, scale, polys, estimate, seed: None, ..Self::header(a) })
    }

    /// Slot deviation that switching a ciphertext's key adds, the division's rounding included.
    pub(crate) fn key_switching_error(&self, a: &Ciphertext) -> f64 {
        let parameters = self.parameters();
        let deviation =
            deviation::key_switching(parameters, a.level).hypot(deviation::rounding(parameters));
        estimate::in_slots(deviation, a.slots, a.scale)
    }

    /// a * b for a plaintext b of the same level, not rescaled.
    ///
    /// # Errors
    /// [`Error::ScaleOutOfRange`] and those of [`Self::add`] but for the scales.
    pub fn multiply_plain(&self, a: &Ciphertext, b: &Plaintext) -> Result<Ciphertext> {
        let operation = "multiply by a plaintext";
        self.check_plain(a, b, operation)?;
        let scale = a.scale * b.scale;
        self.parameters().check_scale(a.level, scale, operation)?;
        let mut product = a.clone();
        product.polys_mut().iter_mut().for_each(|poly| self.parameters().ring().mul(poly, &b.poly));
        Ok(Ciphertext { scale, estimate: a.estimate.mul(b.estimate), seed: None, ..product })
    }

    /// a * value, the value encoded at `scale`; where that is `None`, at the scale that
    /// rescaling turns into the canonical one of the level below. Cheapest for real values.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::ScaleOutOfRange`], [`Error::ValueOutOfRange`] for a value
    /// that overflows at the scale, [`Error::LevelExhausted`] without `scale` at level 0, and
    /// those of [`Self::negate`].
    pub fn multiply_scalar(
        &self,
        a: &Ciphertext,
        value: Complex64,
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        let operation = "multiply by a scalar";
        self.check(a, operation)?;
        let scale = match scale {
            Some(scale) => scale,
            None => self.parameters().matching_scale(a.level, a.scale)?,
        };
        if let Some(value) = real(value) {
            self.parameters().check_scale(a.level, scale, operation)?;
            return self.linear_combination(&[(value, a)], a.level, a.scale * scale, operation);
        }
        self.multiply_plain(a, &self.constant(a, value, scale)?)
    }

    /// a * value for an integer: exact, the scale unchanged.
    ///
    /// # Errors
    /// As [`Self::negate`].
    pub fn multiply_integer(&self, a: &Ciphertext, value: i64) -> Result<Ciphertext> {
        self.check(a, "multiply by an integer")?;
        let mut product = a.clone();
        for poly in product.polys_mut() {
            self.parameters()
                .ring()
                .scale(poly, |q| i128::from(value).rem_euclid(i128::from(q.q)) as u32);
        }
        let estimate = a.estimate.scale(value as f64);
        Ok(Ciphertext { estimate, seed: None, ..product })
    }

    /// Divides by the modulus of one level: the level falls by one, the scale by
    /// [`Parameters::rescale_factor`].
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] at level 0, [`Error::ScaleOutOfRange`] when the scale is too
    /// small to be divided, [`Error::BoundOverflow`] when values may have outgrown the modulus,
    /// and those of [`Self::negate`].
    pub fn rescale(&self, a: &Ciphertext) -> Result<Ciphertext> {
        let operation = "rescale";
        self.check(a, operation)?;
        let parameters = self.parameters();
        let scale = a.scale / parameters.rescale_factor(a.level)?;
        parameters.check_scale(a.level - 1, scale, operation)?;
        parameters.check_room(a.level - 1, scale, a.estimate.bound, operation)?;
        let division = parameters.rescale(a.level);
        let polys = a.polys.iter().map(|poly| division.apply(parameters.ring(), poly)).collect();
        let error = estimate::in_slots(rounding(a), a.slots, scale);
        Ok(Ciphertext {
            level: a.level - 1,
            scale,
            estimate: a.estimate.with_error(error),
            polys,
            seed: None,
            ..Self::header(a)
        })
    }

    /// Brings a to a lower level, values and scale unchanged.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] when `level` is above that of `a`,
    /// [`Error::ScaleOutOfRange`] when the scale does not fit there, [`Error::BoundOverflow`]
    /// when values may not.
    pub fn drop_level(&self, a: &Ciphertext, level: usize) -> Result<Ciphertext> {
        self.align(a, level, a.scale)
    }

    /// Brings a to a lower level and to `scale` there, values unchanged, so that it can be
    /// added to what has come to that level by rescaling.
    ///
    /// Where the lower level has no primes of its own and the scale is that of `a`, primes
    /// are dropped and nothing is lost. Otherwise a is multiplied by an integer and divided by
    /// the primes that leave: rounding noise, but no level beyond those given up.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] when `level` is above that of `a`,
    /// [`Error::ScaleMismatch`] when it is the same and `scale` is another than that of `a`
    /// within what additions allow, [`Error::ScaleOutOfRange`] when the scale does not fit
    /// there, [`Error::BoundOverflow`] when values may not.
    pub fn align(&self, a: &Ciphertext, level: usize, scale: f64) -> Result<Ciphertext> {
        let operation = "drop a level";
        self.check(a, operation)?;
        if level > a.level {
            return Err(Error::LevelExhausted { operation, needed: level, available: a.level });
        }
        let parameters = self.parameters();
        parameters.check_scale(level, scale, operation)?;
        let (from, to) = (parameters.level_basis(a.level), parameters.level_basis(level));
        if to.is_subset(from) && scale == a.scale {
            let polys = a.polys.iter().map(|poly| poly.restrict(to)).collect();
            // A seed expands to each prime by itself, so that it outlives those that are dropped.
            return Ok(Ciphertext { level, polys, ..Self::header(a) });
        }
        if level == a.level {
            let slack = scale_error(scale, a.scale, a.estimate, operation)?;
            let estimate = a.estimate.with_error(slack);
            return Ok(Ciphertext { scale, estimate, ..a.clone() });
        }
        self.linear_combination(&[(1.0, a)], level, scale, operation)
    }
}

/// Coefficient deviation that a division with rounding adds.
pub(super) fn rounding(a: &Ciphertext) -> f64 {
    match a.degree() {
        1 => deviation::rounding(&a.parameters),
        _ => deviation::rounding_of_square(&a.parameters),
    }
}

/// The value where it is a real number.
fn real(value: Complex64) -> Option<f64> {
    (value.im == 0.0 && value.re.is_finite()).then_some(value.re)
}

fn check_operands(
    a: &Ciphertext,
    (level, slots): (usize, usize),
    operation: &'static str,
) -> Result<()> {
    if a.level != level {
        return Err(Error::LevelMismatch { operation, expected: a.level, actual: level });
    }
    if a.slots != slots {
        return Err(Error::SlotMismatch { operation, expected: a.slots, actual: slots });
    }
    Ok(())
}

/// The error from reading a value of scale `actual` at scale `expected`.
fn scale_error(
    expected: f64,
    actual: f64,
    value: Estimate,
    operation: &'static str,
) -> Result<f64> {
    let ratio = (actual / expected - 1.0).abs();
    if ratio > SCALE_TOLERANCE {
        return Err(Error::ScaleMismatch { operation, expected, actual });
    }
    Ok(ratio * value.bound)
}
