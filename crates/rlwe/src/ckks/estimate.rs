//! What operations do to level, scale, precision and bounds, known without decrypting.

use std::fmt;

use super::encoding::Encoding;
use super::parameters::Parameters;
use crate::core::noise::{ERROR_DEVIATION, product_tail};
use crate::{Error, Result};

/// Double-precision transforms are exact to about this much of the largest value.
pub(crate) const DOUBLE_DEVIATION: f64 = 1.0 / (1u64 << 50) as f64;

/// Two scales within this ratio count as one: the error that it causes is tracked.
pub(crate) const SCALE_TOLERANCE: f64 = 1.0 / (1u64 << 40) as f64;

/// [`Estimate::precision`] is wrong with a chance below 2^-so many.
pub const PRECISION_FAILURE_BITS: f64 = 20.0;

/// What is known of a ciphertext or, at degree 0, of a plaintext without its polynomials.
///
/// An operation of the evaluator is refused or let through on this alone, and changes it as it
/// changes the ciphertext: whoever repeats the operations of a program on estimates gets those
/// of its results, to the last bit, and needs not believe what a ciphertext says of itself.
///
/// The error is modelled as an independent complex Gaussian in every slot
/// (Costache, Curtis, Hales, Murphy, Ogilvie, Player 2022: average-case noise in
/// the canonical embedding).
///
/// ```
/// use rlwe::ckks::{Encoding, Evaluator, Parameters, ParametersLiteral};
/// use rlwe::keys::{EvaluationKeysRequest, SecretKey};
///
/// let parameters = Parameters::new(ParametersLiteral { levels: 1, ..Default::default() })?;
/// let secret = SecretKey::generate(&parameters)?;
/// let request = EvaluationKeysRequest { relinearisation_level: Some(1), ..Default::default() };
/// let evaluator = Evaluator::new(secret.evaluation_keys(&request)?);
///
/// // The evaluator's work, and the client's own account of it.
/// let encoding = Encoding::at(1).within(1.0);
/// let x = secret.encrypt(&parameters.encode_real(&[0.5, -1.0], encoding)?)?;
/// let square = evaluator.relinearize_and_rescale(&evaluator.multiply_lazily(&x, &x)?)?;
/// let x = parameters.estimate(2, encoding)?.encrypted()?;
/// let expected = x.multiply_lazily(&x)?.relinearize_and_rescale()?;
/// assert_eq!(*square.estimate(), expected);
/// assert!(secret.decrypt(&square, &expected)?.precision() > 25.0);
/// # Ok::<(), rlwe::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    pub(crate) parameters: Parameters,
    pub(crate) level: usize,
    pub(crate) scale: f64,
    pub(crate) slots: usize,
    pub(crate) degree: usize,
    /// Root mean square of the error of a slot, in units of the values.
    pub(crate) deviation: f64,
    /// No slot exceeds this in absolute value.
    pub(crate) bound: f64,
}

impl Parameters {
    /// A plaintext of so many slots, encoded with a declared bound.
    ///
    /// # Errors
    /// [`Error::SlotMismatch`], [`Error::LevelMismatch`], [`Error::ScaleOutOfRange`];
    /// [`Error::InvalidArgument`] without a bound, or for one that is negative or not finite.
    pub fn estimate(&self, slots: usize, encoding: Encoding) -> Result<Estimate> {
        let operation = "estimate a plaintext";
        let Some(bound) = encoding.bound else {
            let reason = "the encoding declares no bound".to_string();
            return Err(Error::InvalidArgument { operation, reason });
        };
        check_bound(bound, operation)?;
        self.plaintext_estimate(slots, encoding, bound, operation)
    }

    /// A plaintext of values up to `bound`, whatever the encoding declares.
    pub(crate) fn plaintext_estimate(
        &self,
        slots: usize,
        encoding: Encoding,
        bound: f64,
        operation: &'static str,
    ) -> Result<Estimate> {
        let level = encoding.level;
        self.check_level(level, operation)?;
        self.check_slots(slots, operation)?;
        let scale = match encoding.scale {
            Some(scale) => scale,
            None => self.scale(level)?,
        };
        self.check_scale(level, scale, operation)?;
        let parameters = self.clone();
        let empty =
            Estimate { parameters, level, scale, slots, degree: 0, deviation: 0.0, bound: 0.0 };
        let deviation = (bound * DOUBLE_DEVIATION).hypot(empty.in_slots(encoding_deviation()));
        Ok(empty.with(deviation, bound))
    }
}

impl Estimate {
    /// The parameters of the ciphertext.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// How many times it can still be rescaled.
    pub fn level(&self) -> usize {
        self.level
    }

    /// The factor between coefficients and values, exact to a few roundings of a double.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The number of values.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// 1, or 2 after a multiplication that was not relinearised; 0 of a plaintext.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Root mean square of the error of a slot, in units of the values.
    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    /// No slot exceeds this in absolute value.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// The largest error of any slot, as bits below 1: the chance of a larger one is below 2^-20,
    /// which is [`PRECISION_FAILURE_BITS`].
    ///
    /// Errors are mostly products of two Gaussians, one of them the secret's or a digit's
    /// value at the slot; those of polynomials of high degree have heavier tails.
    pub fn precision(&self) -> f64 {
        let exponent = (self.slots as f64).ln() + PRECISION_FAILURE_BITS * std::f64::consts::LN_2;
        -(self.deviation * product_tail(exponent)).log2()
    }

    /// The least that deviation and bound can be: nothing is known better than a polynomial's
    /// rounding to whole coefficients.
    pub(crate) fn floor(&self) -> f64 {
        self.in_slots(encoding_deviation())
    }

    /// With other numbers, finite and not below [`Self::floor`]: what outgrows a double stays at
    /// its largest, which promises nothing.
    pub(crate) fn with(&self, deviation: f64, bound: f64) -> Self {
        let floor = self.floor();
        let within = |x: f64| x.max(floor).min(f64::MAX);
        Self { deviation: within(deviation), bound: within(bound), ..self.clone() }
    }

    /// With an independent error of `deviation` more.
    pub(crate) fn with_error(&self, deviation: f64) -> Self {
        self.with(self.deviation.hypot(deviation), self.bound)
    }

    /// With an independent error of this deviation in every coefficient more.
    pub(crate) fn with_coefficient_error(&self, deviation: f64) -> Self {
        self.with_error(self.in_slots(deviation))
    }

    /// A coefficient deviation as it is seen in each slot.
    pub(crate) fn in_slots(&self, deviation: f64) -> f64 {
        deviation * (2.0 * self.slots as f64).sqrt() / self.scale
    }

    /// The coefficient deviation that the slot error amounts to.
    pub(crate) fn in_coefficients(&self) -> f64 {
        self.deviation * self.scale / (2.0 * self.slots as f64).sqrt()
    }

    /// Values and errors times a factor.
    fn scaled(&self, factor: f64) -> Self {
        self.with(self.deviation * factor.abs(), self.bound * factor.abs())
    }

    /// The values of a sum: of two errors the worst is that they are one and the same.
    fn plus(&self, other: &Self) -> Self {
        self.with(self.deviation + other.deviation, self.bound + other.bound)
    }

    /// The same where no slot exceeds `bound`: the smaller of this bound and its own.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a bound that is negative or not finite.
    pub fn with_bound(&self, bound: f64) -> Result<Self> {
        check_bound(bound, "tighten a bound")?;
        Ok(self.bounded(bound))
    }

    /// The same with another deviation, which whoever has the program has worked out by it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for one that is negative or not finite.
    pub fn with_deviation(&self, deviation: f64) -> Result<Self> {
        if deviation.is_finite() && deviation >= 0.0 {
            return Ok(self.with(deviation, self.bound));
        }
        let reason = format!("expected a finite deviation of 0 or more, got {deviation}");
        Err(Error::InvalidArgument { operation: "state a deviation", reason })
    }

    pub(crate) fn bounded(&self, bound: f64) -> Self {
        self.with(self.deviation, bound.min(self.bound))
    }

    /// The plaintext encrypted by a secret key.
    ///
    /// # Errors
    /// [`Error::DegreeMismatch`] for a ciphertext.
    pub fn encrypted(&self) -> Result<Self> {
        self.encrypted_with(ERROR_DEVIATION)
    }

    /// The plaintext encrypted by a public key.
    ///
    /// # Errors
    /// As [`Self::encrypted`].
    pub fn encrypted_publicly(&self) -> Result<Self> {
        self.encrypted_with(self.parameters.public_encryption_deviation())
    }

    fn encrypted_with(&self, deviation: f64) -> Result<Self> {
        self.check_degree(0, "encrypt")?;
        Ok(Self { degree: 1, ..self.with_coefficient_error(deviation) })
    }

    pub(crate) fn check_degree(&self, expected: usize, operation: &'static str) -> Result<()> {
        if self.degree == expected {
            return Ok(());
        }
        Err(Error::DegreeMismatch { operation, expected, actual: self.degree })
    }

    pub(super) fn check_operand(&self, other: &Self, operation: &'static str) -> Result<()> {
        self.parameters.check_same(&other.parameters, operation)?;
        if self.level != other.level {
            let (expected, actual) = (self.level, other.level);
            return Err(Error::LevelMismatch { operation, expected, actual });
        }
        if self.slots != other.slots {
            let (expected, actual) = (self.slots, other.slots);
            return Err(Error::SlotMismatch { operation, expected, actual });
        }
        Ok(())
    }

    /// The error from reading these values, whose scale is `self.scale`, at scale `expected`.
    pub(crate) fn scale_error(&self, expected: f64, operation: &'static str) -> Result<f64> {
        let actual = self.scale;
        let ratio = (actual / expected - 1.0).abs();
        if ratio > SCALE_TOLERANCE {
            return Err(Error::ScaleMismatch { operation, expected, actual });
        }
        Ok(ratio * self.bound)
    }

    /// A sum or difference, at the scale of the side of higher degree, the first if they are equal.
    ///
    /// # Errors
    /// [`Error::LevelMismatch`], [`Error::ScaleMismatch`], [`Error::SlotMismatch`],
    /// [`Error::ParametersMismatch`].
    pub fn add(&self, other: &Self) -> Result<Self> {
        let (a, b) = if self.degree >= other.degree { (self, other) } else { (other, self) };
        a.sum(b, "add")
    }

    /// A sum or difference at this scale, `other` of this degree or below it.
    pub(crate) fn sum(&self, other: &Self, operation: &'static str) -> Result<Self> {
        self.check_operand(other, operation)?;
        let slack = other.scale_error(self.scale, operation)?;
        Ok(self.plus(other).with_error(slack))
    }

    /// A sum or difference with a plaintext.
    ///
    /// # Errors
    /// As [`Self::add`]; [`Error::DegreeMismatch`] for a ciphertext.
    pub fn add_plain(&self, plaintext: &Self) -> Result<Self> {
        let operation = "add a plaintext";
        plaintext.check_degree(0, operation)?;
        self.sum(plaintext, operation)
    }

    /// A product, relinearised, not rescaled.
    ///
    /// # Errors
    /// [`Error::DegreeMismatch`], [`Error::ScaleOutOfRange`] when the product does not fit the
    /// modulus, and those of [`Self::add`] but for the scales.
    pub fn multiply(&self, other: &Self) -> Result<Self> {
        Ok(self.multiply_lazily(other)?.relinearize())
    }

    /// A product of degree 2, neither relinearised nor rescaled.
    ///
    /// # Errors
    /// As [`Self::multiply`].
    pub fn multiply_lazily(&self, other: &Self) -> Result<Self> {
        let operation = "multiply";
        self.check_operand(other, operation)?;
        self.check_degree(1, operation)?;
        other.check_degree(1, operation)?;
        self.product(other, operation)
    }

    /// A product with a plaintext, not rescaled.
    ///
    /// # Errors
    /// As [`Self::multiply`]; [`Error::DegreeMismatch`] for a ciphertext.
    pub fn multiply_plain(&self, plaintext: &Self) -> Result<Self> {
        let operation = "multiply by a plaintext";
        self.check_operand(plaintext, operation)?;
        plaintext.check_degree(0, operation)?;
        self.product(plaintext, operation)
    }

    fn product(&self, other: &Self, operation: &'static str) -> Result<Self> {
        let scale = self.scale * other.scale;
        self.parameters.check_scale(self.level, scale, operation)?;
        let product = Self { scale, degree: self.degree + other.degree, ..self.clone() };
        let first = self.deviation * other.bound;
        let second = other.deviation * self.bound;
        // Errors of one and the same factor add up, so that a square is covered too.
        let deviation = first + second + self.deviation * other.deviation;
        Ok(product.with(deviation, self.bound * other.bound))
    }

    /// A product with an integer: exact, the scale unchanged.
    pub fn multiply_integer(&self, value: i64) -> Self {
        self.scaled(value as f64)
    }

    /// The same values at degree 1.
    pub fn relinearize(&self) -> Self {
        if self.degree == 1 { self.clone() } else { Self { degree: 1, ..self.switched() } }
    }

    /// After a key switch and the rounding of its division.
    pub(crate) fn switched(&self) -> Self {
        let parameters = &self.parameters;
        let switching = parameters.key_switching_deviation(self.level);
        self.with_coefficient_error(switching.hypot(parameters.rounding_deviation(1)))
    }

    /// The scale after a rescaling.
    pub(crate) fn rescaled_scale(&self) -> Result<f64> {
        Ok(self.scale / self.parameters.rescale_factor(self.level)?)
    }

    /// One level down, the scale divided by [`crate::core::Parameters::rescale_factor`].
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] at level 0, [`Error::ScaleOutOfRange`] when the scale is too
    /// small to be divided, [`Error::BoundOverflow`] when values may have outgrown the modulus.
    pub fn rescale(&self) -> Result<Self> {
        self.rescaled_to(self.rescaled_scale()?)
    }

    pub(super) fn rescaled_to(&self, scale: f64) -> Result<Self> {
        let (parameters, level, operation) = (&self.parameters, self.level - 1, "rescale");
        parameters.check_scale(level, scale, operation)?;
        parameters.check_headroom(level, scale, self.bound, operation)?;
        let rounding = parameters.rounding_deviation(self.degree);
        Ok(Self { level, scale, ..self.clone() }.with_coefficient_error(rounding))
    }

    /// [`Self::relinearize`] and [`Self::rescale`] in one division.
    ///
    /// # Errors
    /// As [`Self::rescale`].
    pub fn relinearize_and_rescale(&self) -> Result<Self> {
        self.relinearize_and_rescale_to(self.rescaled_scale()?)
    }

    /// [`Self::relinearize_and_rescale`] to `scale`, which is what it comes to.
    ///
    /// # Errors
    /// As [`Self::rescale`].
    pub fn relinearize_and_rescale_to(&self, scale: f64) -> Result<Self> {
        // There is a level below.
        self.parameters.rescale_factor(self.level)?;
        if self.degree == 1 {
            return self.rescaled_to(scale);
        }
        let switching = self.parameters.key_switching_deviation(self.level);
        Self { degree: 1, ..self.with_coefficient_error(switching) }.rescaled_to(scale)
    }

    /// A rotation by `k`, which costs nothing where it is 0 modulo the slots.
    ///
    /// # Errors
    /// [`Error::DegreeMismatch`].
    pub fn rotate(&self, k: i64) -> Result<Self> {
        self.check_degree(1, "rotate")?;
        Ok(if k.rem_euclid(self.slots as i64) == 0 { self.clone() } else { self.switched() })
    }

    /// The complex conjugate, or another automorphism that moves anything.
    ///
    /// # Errors
    /// [`Error::DegreeMismatch`].
    pub fn conjugate(&self) -> Result<Self> {
        self.check_degree(1, "conjugate")?;
        Ok(self.switched())
    }

    /// A sum of multiples of values of one level, before misfits and rounding: for combinations.
    pub(crate) fn weighted_sum(terms: &[(f64, &Self)], level: usize, scale: f64) -> Self {
        let (coefficient, first) = terms[0];
        let at = |(coefficient, term): (f64, &Self)| {
            Self { level, scale, ..term.clone() }.scaled(coefficient)
        };
        let others = terms[1..].iter();
        others.fold(at((coefficient, first)), |sum, &term| sum.plus(&at(term)))
    }

    /// The values times plaintexts of level and scale of `encoding`, added up, where the errors and
    /// values of several slots come to `row_sum` of one: a sum or a transform before this one
    /// gives several slots the same errors.
    pub(crate) fn times(
        &self,
        encoding: &Self,
        row_sum: f64,
        operation: &'static str,
    ) -> Result<Self> {
        self.check_operand(encoding, operation)?;
        let scale = self.scale * encoding.scale;
        self.parameters.check_scale(self.level, scale, operation)?;
        let sum = Self { scale, ..self.clone() };
        Ok(sum.with(self.deviation * row_sum, self.bound * row_sum))
    }

    /// Twice the values, exactly.
    pub fn doubled(&self) -> Self {
        self.scaled(2.0)
    }
}

/// Coefficient deviation of encoding: every coefficient is rounded.
pub(crate) fn encoding_deviation() -> f64 {
    (1.0f64 / 12.0).sqrt()
}

fn check_bound(bound: f64, operation: &'static str) -> Result<()> {
    if bound.is_finite() && bound >= 0.0 {
        return Ok(());
    }
    let reason = format!("expected a finite bound of 0 or more, got {bound}");
    Err(Error::InvalidArgument { operation, reason })
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "level {} of {}, scale 2^{:.3}, {} slots, precision about {:.0} bits, N = 2^{}, {}",
            self.level,
            self.parameters.max_level(),
            self.scale.log2(),
            self.slots,
            self.precision(),
            self.parameters.log_n(),
            self.parameters.security(),
        )
    }
}
