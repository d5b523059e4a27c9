//! Parameters for bootstrapping.

use std::f64::consts::TAU;
use std::fmt;
use std::sync::Arc;

use super::cosine::cosine;
use super::overflow::{log2_failure, most_overflows};
use crate::chain::{Chain, ChainRequest, RESCALE_BITS};
use crate::ckks::parameters::Parameters;
use crate::ckks::polynomial::Polynomial;
use crate::core::SecretDistribution;
use crate::ring::primes::WORD_BITS;
use crate::security::max_log_qp;
use crate::{Error, Result};

/// What the range of the reduction has beyond overflows and messages: noise of CoeffsToSlots.
const RANGE_MARGIN: f64 = 1.0 / 64.0;
/// No chain has more levels.
const MAX_LEVELS: usize = 256;
/// No secret that is called sparse has more coefficients.
const MAX_SPARSE_WEIGHT: usize = 256;
/// The polynomial is nearer to the cosine than the sine to its argument, by so many bits.
const POLYNOMIAL_MARGIN_BITS: f64 = 3.0;

/// What a person asks of parameters for bootstrapping.
///
/// ```text
///   level 0            base_bits: what values are reduced modulo
///   SlotsToCoeffs      levels of scale_bits
///   the program        `levels` of scale_bits, which a refreshed ciphertext has left
///   EvalMod            levels of reduction_bits
///   CoeffsToSlots      levels of transform_bits
/// ```
///
/// ```
/// use rlwe::ckks::{BootstrappingLiteral, BootstrappingParameters};
/// let literal = BootstrappingLiteral { log_n: 10, insecure: true, ..Default::default() };
/// let parameters = BootstrappingParameters::new(literal)?;
/// assert_eq!((parameters.input_level(), parameters.output_level()), (3, 13));
/// # Ok::<(), rlwe::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrappingLiteral {
    /// The ring degree as log2.
    pub log_n: u32,
    /// The levels that a refreshed ciphertext has for a program, those of SlotsToCoeffs left out.
    pub levels: usize,
    /// log2 of the scale of these levels.
    pub scale_bits: f64,
    /// log2 of the modulus of level 0.
    pub base_bits: f64,
    /// No slot may exceed this in absolute value where a ciphertext is refreshed.
    pub bound: f64,
    /// log2 of the modulus of level 0 over the largest message at the bound: a message at the bound
    /// is off by `(2 pi / ratio)^2 / 6` of itself, as its sine is.
    pub ratio_bits: f64,
    /// Factors of SlotsToCoeffs, a level each.
    pub slots_to_coefficients: usize,
    /// Factors of CoeffsToSlots, a level each.
    pub coefficients_to_slots: usize,
    /// What each level of CoeffsToSlots divides by, in bits.
    pub transform_bits: f64,
    /// What each level of EvalMod divides by, in bits.
    pub reduction_bits: f64,
    /// Double angles of the cosine, a level each.
    pub double_angles: u32,
    /// The key-switching digits, at most; `None` takes the number with the cheapest rotation.
    pub digits: Option<usize>,
    /// Nonzero coefficients of the sparse secret under which the modulus is raised.
    pub sparse_weight: usize,
    /// Allows parameters that the security tables do not cover.
    pub insecure: bool,
}

impl Default for BootstrappingLiteral {
    /// Those of N = 2^16: 2^15 slots with a mean error of 2^-24, 10 levels of 40 bits.
    fn default() -> Self {
        Self {
            log_n: 16,
            levels: 10,
            scale_bits: 40.0,
            base_bits: 54.0,
            bound: 1.0,
            ratio_bits: 14.0,
            slots_to_coefficients: 3,
            coefficients_to_slots: 4,
            transform_bits: 50.0,
            reduction_bits: 59.7,
            double_angles: 2,
            digits: Some(3),
            sparse_weight: 32,
            insecure: false,
        }
    }
}

impl BootstrappingLiteral {
    /// The set for a ring of degree 2^`log_n`, 128-bit secure.
    ///
    /// | log_n | slots | levels | mean error |
    /// |---|---|---|---|
    /// | 15 | 2^14 | 3 of 30 bits | 2^-16.8 |
    /// | 16 | 2^15 | 10 of 40 bits | 2^-24.2 |
    /// | 17 | 2^16 | 40 of 40 bits | 2^-22, estimated |
    ///
    /// # Errors
    /// [`Error::InvalidParameters`] for another ring.
    pub fn of_ring(log_n: u32) -> Result<Self> {
        match log_n {
            15 => Ok(Self {
                log_n,
                levels: 3,
                scale_bits: 30.0,
                base_bits: 35.5,
                ratio_bits: 9.5,
                slots_to_coefficients: 2,
                coefficients_to_slots: 3,
                transform_bits: 51.0,
                reduction_bits: 51.0,
                digits: None,
                sparse_weight: 40,
                ..Self::default()
            }),
            16 => Ok(Self::default()),
            17 => Ok(Self {
                log_n,
                levels: 40,
                base_bits: 53.0,
                ratio_bits: 13.0,
                reduction_bits: 59.0,
                ..Self::default()
            }),
            _ => Err(Error::InvalidParameters(format!(
                "there are bootstrapping parameters for log_n = 15, 16 and 17, got {log_n}"
            ))),
        }
    }

    fn check(&self) -> Result<()> {
        let invalid = |what: String| Err(Error::InvalidParameters(what));
        if !(self.bound.is_finite() && self.bound > 0.0) {
            return invalid(format!("bound must be positive and finite, got {}", self.bound));
        }
        if !(2.0..=30.0).contains(&self.ratio_bits) {
            return invalid(format!(
                "ratio_bits must lie between 2 and 30, got {}",
                self.ratio_bits
            ));
        }
        for (name, count) in [
            ("slots_to_coefficients", self.slots_to_coefficients),
            ("coefficients_to_slots", self.coefficients_to_slots),
        ] {
            if !(1..=16).contains(&count) {
                return invalid(format!("{name} must lie between 1 and 16, got {count}"));
            }
        }
        for (name, bits) in
            [("transform_bits", self.transform_bits), ("reduction_bits", self.reduction_bits)]
        {
            if !RESCALE_BITS.contains(&bits) {
                let (least, most) = (RESCALE_BITS.start(), RESCALE_BITS.end());
                return invalid(format!("{name} must lie between {least} and {most}, got {bits}"));
            }
        }
        if self.levels > MAX_LEVELS {
            return invalid(format!("levels must be at most {MAX_LEVELS}, got {}", self.levels));
        }
        if self.sparse_weight == 0 || self.sparse_weight > MAX_SPARSE_WEIGHT {
            return invalid(format!(
                "sparse_weight must lie between 1 and {MAX_SPARSE_WEIGHT}, got {}",
                self.sparse_weight
            ));
        }
        if self.double_angles > 8 {
            return invalid(format!("double_angles must be at most 8, got {}", self.double_angles));
        }
        Ok(())
    }

    /// The part of the modulus of level 0 that messages take.
    fn part(&self) -> f64 {
        (-self.ratio_bits).exp2()
    }

    fn most_overflows(&self) -> usize {
        most_overflows(self.sparse_weight, 1 << self.log_n, self.part())
    }

    /// What t - 1/4 is divided by to lie in [-1, 1].
    fn range(&self) -> f64 {
        self.most_overflows() as f64 + 0.25 + self.part() + RANGE_MARGIN
    }

    fn cosine(&self) -> Result<Polynomial> {
        let width = TAU * self.range() / f64::from(1u32 << self.double_angles);
        cosine(width, self.polynomial_error())
    }

    /// How far a message at the bound is off by being a sine, as a part of the bound.
    fn sine_error(&self) -> f64 {
        (TAU * self.part()).powi(2) / 6.0
    }

    /// How near the polynomial must come to the cosine: double angles and the ratio enlarge its
    /// error.
    fn polynomial_error(&self) -> f64 {
        let enlarged = 4f64.powi(self.double_angles as i32);
        self.sine_error() * (-POLYNOMIAL_MARGIN_BITS).exp2() * TAU * self.part() / enlarged
    }

    fn request(&self) -> ChainRequest {
        ChainRequest {
            log_n: self.log_n,
            levels: self.slots_to_coefficients + self.levels,
            scale_bits: self.scale_bits,
            headroom_bits: self.base_bits - self.scale_bits,
            digits: self.digits,
            max_log_qp: if self.insecure { None } else { max_log_qp(self.log_n) },
            avoided: None,
            word_bits: WORD_BITS,
        }
    }
}

/// What is in the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Packing {
    /// Complex numbers, or two real ones in each slot: both parts are reduced.
    Complex,
    /// Real numbers: imaginary parts, which are noise, are dropped. Half the work of EvalMod.
    Real,
    /// Nothing in particular: numbers are in coefficients, and come out in slots, number k and
    /// number k + slots in slot k with its bits reversed. There is no SlotsToCoeffs.
    Coefficients,
}

/// A compiled set: CKKS parameters whose chain has the levels of a bootstrapping on top, and what
/// the circuit there computes. Cloning is cheap.
#[derive(Clone)]
pub struct BootstrappingParameters(Arc<Tables>);

struct Tables {
    literal: BootstrappingLiteral,
    parameters: Parameters,
    most_overflows: usize,
    cosine: Polynomial,
}

impl BootstrappingParameters {
    /// Compiles `literal`.
    ///
    /// # Errors
    /// [`Error::InvalidParameters`] for a request out of range, and [`Error::InsecureParameters`]
    /// for one that is not 128-bit secure, or whose sparse secret is not, and does not say that it
    /// may be insecure.
    pub fn new(literal: BootstrappingLiteral) -> Result<Self> {
        literal.check()?;
        let request = literal.request();
        request.check()?;
        if !literal.insecure && request.max_log_qp.is_none() {
            return Err(Error::InsecureParameters(format!(
                "log_n = {} lies outside the security table; take 15, 16 or 17, or set insecure",
                literal.log_n
            )));
        }
        let cosine = literal.cosine()?;
        let reduction =
            vec![literal.reduction_bits; cosine.depth() + literal.double_angles as usize];
        let transform = vec![literal.transform_bits; literal.coefficients_to_slots];
        let chain = Chain::stacked(&request, &[reduction, transform].concat())?;
        Self::of_chain(literal, chain)
    }

    /// The set of a chain that was made for `literal`.
    ///
    /// # Errors
    /// [`Error::InvalidParameters`] for one that was not, and those of
    /// [`core::Parameters::check_encapsulation`](crate::core::Parameters::check_encapsulation).
    pub(crate) fn of_chain(literal: BootstrappingLiteral, chain: Chain) -> Result<Self> {
        literal.check()?;
        let cosine = literal.cosine()?;
        let upper = cosine.depth() + literal.double_angles as usize + literal.coefficients_to_slots;
        let expected = literal.slots_to_coefficients + literal.levels + upper;
        if chain.max_level() != expected {
            return Err(Error::InvalidParameters(format!(
                "a bootstrapping of these numbers takes a chain of {expected} levels, got {}",
                chain.max_level()
            )));
        }
        let nominal = [literal.scale_bits, literal.base_bits - literal.scale_bits];
        let secret = SecretDistribution::Ternary;
        let parameters = Parameters::of_chain(literal.log_n, chain, secret, nominal)?;
        parameters.check_encapsulation(literal.sparse_weight)?;
        let most_overflows = literal.most_overflows();
        Ok(Self(Arc::new(Tables { literal, parameters, most_overflows, cosine })))
    }

    /// The CKKS parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.0.parameters
    }

    /// What was asked for.
    pub fn literal(&self) -> &BootstrappingLiteral {
        &self.0.literal
    }

    /// The least level of a ciphertext that is to be refreshed.
    pub fn input_level(&self) -> usize {
        self.0.literal.slots_to_coefficients
    }

    /// The level of a refreshed ciphertext.
    pub fn output_level(&self) -> usize {
        self.0.literal.slots_to_coefficients + self.0.literal.levels
    }

    /// The modulus that a refreshed ciphertext has above that of [`Self::input_level`], in bits:
    /// what a program can use up before the next refreshing.
    pub fn bits_left(&self) -> f64 {
        let levels = &self.0.parameters.chain().levels;
        levels[self.output_level()].log_q - levels[self.input_level()].log_q
    }

    /// A refreshing goes wrong by an overflow with a chance below 2^-so many.
    pub fn failure_bits(&self) -> f64 {
        let Tables { literal, most_overflows, .. } = &*self.0;
        -log2_failure(literal.sparse_weight, 1 << literal.log_n, *most_overflows, literal.part())
    }

    /// How many moduli of level 0 a coefficient is from its message, at most.
    pub fn most_overflows(&self) -> usize {
        self.0.most_overflows
    }

    /// The level that EvalMod begins at: that of products and of the conjugation.
    pub fn reduction_level(&self) -> usize {
        self.0.parameters.max_level() - self.0.literal.coefficients_to_slots
    }

    /// The products that each EvalMod relinearises: those of the cosine and of its double angles.
    pub fn reduction_products(&self) -> usize {
        self.0.cosine.key_switches() + self.0.literal.double_angles as usize
    }

    /// The cosine of [`Self::range`] with the angle divided by 2^double_angles.
    pub(super) fn cosine(&self) -> &Polynomial {
        &self.0.cosine
    }

    /// What t - 1/4 is divided by to lie in [-1, 1].
    pub(super) fn range(&self) -> f64 {
        self.0.literal.range()
    }

    /// The modulus of level 0.
    pub(super) fn base(&self) -> f64 {
        let chain = self.0.parameters.chain();
        chain.levels[0].primes.iter().map(|&p| f64::from(chain.q_primes[p])).product()
    }

    /// The scale of values in coefficients, for a ciphertext of canonical scale.
    pub(super) fn base_scale(&self) -> f64 {
        self.base() / self.0.literal.ratio_bits.exp2() / self.0.literal.bound
    }

    /// The scale at which EvalMod begins: that of its canonical products.
    pub(super) fn reduction_scale(&self) -> Result<f64> {
        self.parameters().rescale_factor(self.reduction_level())
    }

    /// The scales of EvalMod after the polynomial and after each double angle: such that the last
    /// one is canonical once the sine of an angle is read as the angle, of a message of this scale.
    pub(super) fn reduction_scales(&self, message_scale: f64) -> Result<Vec<f64>> {
        let parameters = self.parameters();
        let last = self.output_level();
        let angle = TAU * message_scale / self.base();
        let mut scales = vec![parameters.scale(last)? / angle];
        for level in last + 1..=last + self.literal().double_angles as usize {
            let below = scales[scales.len() - 1];
            scales.push((below * parameters.rescale_factor(level)?).sqrt());
        }
        scales.reverse();
        Ok(scales)
    }

    /// How far a value at the bound is off by being the sine of an angle.
    pub(super) fn sine_error(&self) -> f64 {
        self.0.literal.sine_error() * self.0.literal.bound
    }
}

impl fmt::Display for BootstrappingParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, refreshed from level {} to level {}, bound {}",
            self.0.parameters,
            self.input_level(),
            self.output_level(),
            self.0.literal.bound,
        )
    }
}

impl fmt::Debug for BootstrappingParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BootstrappingParameters({self})")
    }
}
