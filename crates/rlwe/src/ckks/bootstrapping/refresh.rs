//! A bootstrapping that is ready to be applied.

use std::fmt;

use super::fourier::{Factor, coefficients_to_slots, slots_to_coefficients};
use super::noise::{Causes, Noise};
use super::parameters::{BootstrappingParameters, Packing};
use crate::Result;
use crate::ckks::encoding::Encoding;
use crate::ckks::linear_transform::{Diagonals, LinearTransform};
use crate::ckks::parameters::Parameters;
use crate::core::BabySteps;
use crate::keys::EvaluationKeysRequest;

/// The circuit that refreshes ciphertexts of a number of slots, its transforms at hand.
///
/// Cost at full packing, in key switches: two for the modulus, those of seven transforms, one
/// conjugation, and once or twice those of the cosine and its double angles: twice for complex
/// numbers, and for two vectors of real ones at once. Keys: [`Bootstrapping::keys`].
#[derive(Clone)]
pub struct Bootstrapping {
    pub(super) parameters: BootstrappingParameters,
    pub(super) slots: usize,
    pub(super) packing: Packing,
    pub(super) slots_to_coefficients: Vec<LinearTransform>,
    pub(super) coefficients_to_slots: Vec<LinearTransform>,
    pub(super) noise: Noise,
    /// Of each of two that are refreshed at once.
    pub(super) pair_noise: Noise,
}

/// How transforms are stored: encoded ahead or streamed.
type Constructor =
    fn(&Parameters, &Diagonals, usize, Encoding, BabySteps) -> Result<LinearTransform>;

impl Bootstrapping {
    /// With the diagonals of its transforms encoded ahead: N words of 4 bytes for each diagonal and
    /// each prime of its level and of key switching.
    ///
    /// # Errors
    /// [`Error::SlotMismatch`](crate::Error::SlotMismatch) for slots that are no power of two up to
    /// N / 2.
    ///
    /// ```
    /// use rlwe::ckks::{
    ///     Bootstrapping, BootstrappingLiteral, BootstrappingParameters, Encoding, Evaluator, Packing,
    /// };
    /// use rlwe::keys::SecretKey;
    ///
    /// let literal = BootstrappingLiteral { log_n: 8, insecure: true, ..Default::default() };
    /// let parameters = BootstrappingParameters::new(literal)?;
    /// let bootstrapping = Bootstrapping::new(&parameters, 4, Packing::Real)?;
    /// let secret = SecretKey::generate(parameters.parameters())?;
    /// let evaluator = Evaluator::new(secret.evaluation_keys(&bootstrapping.keys())?);
    ///
    /// let spent = Encoding::at(parameters.input_level()).within(1.0);
    /// let values = [0.5, -1.0, 0.25, 0.0];
    /// let spent = secret.encrypt(&parameters.parameters().encode_real(&values, spent)?)?;
    /// let fresh = evaluator.bootstrap(&spent, &bootstrapping)?;
    /// assert_eq!(fresh.level(), parameters.output_level());
    /// let decrypted = secret.decrypt(&fresh, fresh.estimate())?.decode_real()?;
    /// assert!((decrypted[1] + 1.0).abs() < 1e-5);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn new(
        parameters: &BootstrappingParameters,
        slots: usize,
        packing: Packing,
    ) -> Result<Self> {
        Self::with(parameters, slots, packing, LinearTransform::new)
    }

    /// [`Self::new`] with diagonals encoded whenever they are used: 16 bytes for each entry instead
    /// of 4 for each prime, and slower. Enough to ask for keys and to estimate.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn streamed(
        parameters: &BootstrappingParameters,
        slots: usize,
        packing: Packing,
    ) -> Result<Self> {
        Self::with(parameters, slots, packing, LinearTransform::streamed)
    }

    fn with(
        parameters: &BootstrappingParameters,
        slots: usize,
        packing: Packing,
        constructor: Constructor,
    ) -> Result<Self> {
        let ckks = parameters.parameters();
        ckks.check_slots(slots, "make a bootstrapping")?;
        let literal = parameters.literal();

        let factors = match packing {
            Packing::Coefficients => Vec::new(),
            Packing::Complex | Packing::Real => {
                slots_to_coefficients(slots, literal.slots_to_coefficients)
            }
        };
        let down_level = factors.len();
        let gain = parameters.base_scale() / ckks.scale(down_level)?;
        let down = transforms(ckks, slots, &factors, down_level, gain, constructor)?;

        let factors_up = coefficients_to_slots(slots, literal.coefficients_to_slots);
        let up_level = parameters.reduction_level() + factors_up.len();
        // Part of t = m / q0 + I over the range, at the scale of EvalMod; half of it, as it is
        // added to its conjugate, and the trace has multiplied it.
        let repeated = (ckks.slots() / slots) as f64;
        let gain = parameters.reduction_scale()?
            / (2.0 * repeated * parameters.base() * parameters.range());
        let up = transforms(ckks, slots, &factors_up, up_level, gain, constructor)?;

        let causes = Causes::new(parameters, slots, (&factors, &down), (&factors_up, &up))?;
        Ok(Self {
            parameters: parameters.clone(),
            slots,
            packing,
            slots_to_coefficients: down,
            coefficients_to_slots: up,
            noise: causes.of(packing),
            pair_noise: causes.of_pair(),
        })
    }

    /// The parameters.
    pub fn parameters(&self) -> &BootstrappingParameters {
        &self.parameters
    }

    /// The number of slots of the ciphertexts that are refreshed.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// What is in the slots.
    pub fn packing(&self) -> Packing {
        self.packing
    }

    /// The least level of a ciphertext that is to be refreshed: fewer slots than
    /// [`BootstrappingParameters::input_level`] has factors for may take fewer.
    pub fn input_level(&self) -> usize {
        self.slots_to_coefficients.len()
    }

    /// Bytes in memory.
    pub fn nbytes(&self) -> usize {
        self.transforms().map(LinearTransform::nbytes).sum()
    }

    /// The keys that an evaluator needs, each for the level at which it is used.
    pub fn keys(&self) -> EvaluationKeysRequest {
        let of = |transform: &LinearTransform| {
            let level = transform.level();
            transform.rotations().into_iter().map(move |rotation| (rotation, level))
        };
        let trace = self.trace_rotations().map(|rotation| (rotation, self.raised_level()));
        let level = self.parameters.reduction_level();
        EvaluationKeysRequest {
            relinearisation_level: Some(level),
            rotations: self.transforms().flat_map(of).chain(trace).collect(),
            conjugation_level: Some(level),
            encapsulation_weight: Some(self.parameters.literal().sparse_weight),
            ..EvaluationKeysRequest::default()
        }
    }

    /// The transforms, in the order in which they are applied: SlotsToCoeffs, then CoeffsToSlots.
    pub fn transforms(&self) -> impl Iterator<Item = &LinearTransform> {
        self.slots_to_coefficients.iter().chain(&self.coefficients_to_slots)
    }

    /// One of [`Self::transforms`].
    pub(super) fn transform(&self, index: usize) -> &LinearTransform {
        let down = self.slots_to_coefficients.len();
        match index.checked_sub(down) {
            None => &self.slots_to_coefficients[index],
            Some(index) => &self.coefficients_to_slots[index],
        }
    }

    /// The level that the modulus is raised to.
    pub fn raised_level(&self) -> usize {
        self.parameters.reduction_level() + self.coefficients_to_slots.len()
    }

    /// The rotations that add up the repetitions of a sparse packing.
    pub(super) fn trace_rotations(&self) -> impl Iterator<Item = i64> {
        let (slots, all) = (self.slots, self.parameters.parameters().slots());
        (slots.ilog2()..all.ilog2()).map(|bit| 1i64 << bit)
    }

    /// The scale of a message in coefficients, of a ciphertext of canonical scale.
    pub(super) fn message_scale(&self) -> Result<f64> {
        match self.packing {
            Packing::Coefficients => self.parameters.parameters().scale(0),
            Packing::Complex | Packing::Real => Ok(self.parameters.base_scale()),
        }
    }

    /// What SlotsToCoeffs multiplies the scale by.
    pub(super) fn down_gain(&self) -> Result<f64> {
        let parameters = self.parameters.parameters();
        self.slots_to_coefficients.iter().try_fold(1.0, |gain, transform| {
            Ok(gain * transform.scale() / parameters.rescale_factor(transform.level())?)
        })
    }
}

/// One transform a level from `level` down, which together multiply the scale by `gain`.
fn transforms(
    parameters: &Parameters,
    slots: usize,
    factors: &[Factor],
    level: usize,
    gain: f64,
    constructor: Constructor,
) -> Result<Vec<LinearTransform>> {
    let share = gain.powf(1.0 / factors.len() as f64);
    let levels = (0..=level).rev();
    factors
        .iter()
        .zip(levels)
        .map(|(factor, level)| {
            let scale = parameters.rescale_factor(level)? * share;
            let encoding = Encoding { level, scale: Some(scale), bound: None };
            constructor(parameters, &factor.diagonals, slots, encoding, BabySteps::default())
        })
        .collect()
}

impl fmt::Display for Bootstrapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |transforms: &[LinearTransform]| {
            let counts = transforms.iter().map(|transform| transform.diagonals().to_string());
            counts.collect::<Vec<_>>().join(" + ")
        };
        write!(
            f,
            "{} slots, {} and {} diagonals, {}",
            self.slots,
            count(&self.slots_to_coefficients),
            count(&self.coefficients_to_slots),
            self.parameters,
        )
    }
}

impl fmt::Debug for Bootstrapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bootstrapping({self})")
    }
}
