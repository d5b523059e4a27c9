//! Linear transforms of slots.

use std::borrow::Cow;
use std::fmt;

use rayon::prelude::*;

use super::ciphertext::Ciphertext;
pub use super::diagonals::Diagonals;
use super::diagonals::{Numbers, SparseDiagonals};
use super::encoding::Encoding;
use super::estimate::{Estimate, encoding_deviation};
use super::evaluator::Evaluator;
use super::parameters::Parameters;
use super::rounding::RoundedCoefficients;
use crate::Result;
use crate::core::bsgs::{AT_ONCE, BabySteps, Giant, Hoisting, Split};
use crate::parallel;
use crate::ring::bundle::Bundle;
use crate::ring::poly::{Basis, Poly};

/// y = sum over diagonals d of `diag_d * rotate(x, d)`, ready to be applied.
///
/// With n slots and the matrix M of the transform,
///
/// ```text
///         d=0  d=1  d=2                 y[i] = sum_d diag_d[i] x[i + d]
///       [ a0   b0   c0    . ]           diag_d[i] = M[i][(i + d) mod n]
///   M = [  .   a1   b1   c1 ]           d = 0: a,  d = 1: b,  d = 2: c
///       [ c2    .   a2   b2 ]
///       [ b3   c3    .   a3 ]
/// ```
///
/// Baby-step giant-step, double-hoisted (Bossuat, Mouchet, Troncoso-Pastoriza, Hubaux
/// 2021, section 4): with d = g + b, baby rotations by b share one decomposition of x and
/// stay modulo Q P, where the products with diagonals add up; each giant rotation by g is
/// one more key switch without a division of its own, and one division ends it.
///
/// Of many diagonals the products cost more than that division saves: then the baby rotations are
/// divided by P, and diagonals and products have the primes of Q alone.
///
/// Cost, with B baby and G giant steps other than zero and D diagonals: one
/// decomposition, B + G inner products with keys, G decompositions and divisions of one
/// polynomial, D products of a diagonal with two polynomials, one division of two. Keys:
/// [`LinearTransform::rotations`].
#[derive(Clone)]
pub struct LinearTransform {
    /// A plaintext of its level, scale and slots.
    encoding: Estimate,
    split: Split,
    hoisting: Hoisting,
    diagonals: Storage,
    /// Largest sum of absolute values of a row, and of squares.
    row_sum: f64,
    row_squares: f64,
}

#[derive(Clone)]
enum Storage {
    /// Encoded ahead, one entry for each giant step.
    Encoded(Vec<Giant>),
    /// As numbers, encoded giant step by giant step whenever the transform is applied.
    Streamed(Numbers),
}

const APPLY: &str = "apply a linear transform";

impl LinearTransform {
    /// Encodes the diagonals of a transform of vectors of `slots` slots, for ciphertexts at
    /// `level`.
    ///
    /// Diagonals are encoded at `scale`; where that is `None`, at the scale that takes a
    /// ciphertext of canonical scale, transformed and rescaled, to the canonical scale of the
    /// level below. Memory: N words of 4 bytes for each diagonal and each prime of the level, and
    /// of few diagonals of key switching, too.
    ///
    /// # Errors
    /// [`Error::SlotMismatch`] for a diagonal of another length or slots that are no power
    /// of two up to N / 2, [`Error::InvalidArgument`] without diagonals,
    /// [`Error::NotFinite`], [`Error::ScaleOutOfRange`], [`Error::LevelMismatch`],
    /// [`Error::LevelExhausted`] at level 0 without a scale.
    pub fn new(
        parameters: &Parameters,
        diagonals: &Diagonals,
        slots: usize,
        encoding: Encoding,
        baby_steps: BabySteps,
    ) -> Result<Self> {
        Self::encoded(parameters, Numbers::copied(diagonals), slots, encoding, baby_steps)
    }

    /// [`Self::new`] of sparse diagonals, which are of the slots of the transform.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn of_sparse(
        parameters: &Parameters,
        diagonals: SparseDiagonals,
        slots: usize,
        encoding: Encoding,
        baby_steps: BabySteps,
    ) -> Result<Self> {
        Self::encoded(parameters, Numbers::Sparse(diagonals), slots, encoding, baby_steps)
    }

    /// [`Self::new`] without encoding ahead: the diagonals are stored as numbers, and
    /// encoded whenever the transform is applied, those of one giant step at a time.
    /// Slower each time, and for transforms too large to be cached encoded.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn streamed(
        parameters: &Parameters,
        diagonals: &Diagonals,
        slots: usize,
        encoding: Encoding,
        baby_steps: BabySteps,
    ) -> Result<Self> {
        Self::unencoded(parameters, Numbers::copied(diagonals), slots, encoding, baby_steps)
    }

    /// [`Self::streamed`] of sparse diagonals.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn streamed_sparse(
        parameters: &Parameters,
        diagonals: SparseDiagonals,
        slots: usize,
        encoding: Encoding,
        baby_steps: BabySteps,
    ) -> Result<Self> {
        Self::unencoded(parameters, Numbers::Sparse(diagonals), slots, encoding, baby_steps)
    }

    fn encoded(
        parameters: &Parameters,
        numbers: Numbers,
        slots: usize,
        encoding: Encoding,
        baby_steps: BabySteps,
    ) -> Result<Self> {
        let made = Self::unencoded(parameters, numbers, slots, encoding, baby_steps)?;
        let Storage::Streamed(numbers) = &made.diagonals else { return Ok(made) };
        let steps = made.split.giant_steps.iter();
        let giants = steps.map(|&step| made.encode(numbers, step)).collect::<Result<_>>()?;
        Ok(Self { diagonals: Storage::Encoded(giants), ..made })
    }

    fn unencoded(
        parameters: &Parameters,
        numbers: Numbers,
        slots: usize,
        encoding: Encoding,
        baby_steps: BabySteps,
    ) -> Result<Self> {
        let operation = "make a linear transform";
        let level = encoding.level;
        let scale = match encoding.scale {
            Some(scale) => scale,
            None => parameters.matching_scale(level, parameters.scale(level)?)?,
        };
        let encoding = Encoding { scale: Some(scale), ..encoding };
        let numbers = numbers.reduced(slots)?;
        let largest = numbers.largest(encoding)?;
        let encoding = parameters.plaintext_estimate(slots, encoding, largest, operation)?;
        let (row_sum, row_squares) = numbers.row_sums(slots);
        let indices = numbers.indices();
        let split = Split::choose(&indices, slots, baby_steps.width);
        let (count, shared_by) = (indices.len(), baby_steps.shared_by);
        Ok(Self {
            encoding,
            hoisting: parameters.hoisting(level, count, split.moving(), shared_by),
            split,
            diagonals: Storage::Streamed(numbers),
            row_sum,
            row_squares,
        })
    }

    /// The primes that diagonals are encoded over.
    fn basis(&self) -> &Basis {
        self.encoding.parameters.basis_of_products(self.encoding.level, self.hoisting)
    }

    /// The diagonals of one giant step, encoded.
    fn encode(&self, numbers: &Numbers, step: i64) -> Result<Giant> {
        let (parameters, basis) = (&self.encoding.parameters, self.basis());
        let members: Vec<_> = (numbers.indices().into_iter())
            .filter_map(|index| {
                let (giant, baby) = self.split.steps(index);
                let position = self.split.baby_steps.binary_search(&baby).ok()?;
                (giant == step).then_some((position, index))
            })
            .collect();
        let ring = parameters.ring();
        let mut encoded = Bundle::unwritten(parameters.n(), basis, members.len());
        for (number, members) in members.chunks(AT_ONCE).enumerate() {
            let rounded: Vec<RoundedCoefficients> = parallel::over(members)
                .shared()
                .map(|&(_, index)| {
                    numbers.rounded(parameters, (index, step as usize), &self.encoding)
                })
                .collect::<Result<_>>()?;
            encoded.write(AT_ONCE * number, rounded.len(), |position, member, limb| {
                let (prime, rounded) = (&ring.primes[position], &rounded[member]);
                let limb = &mut limb[..rounded.len().max(Bundle::least_words(parameters.n()))];
                rounded.montgomery_residues(prime.modulus.q, &mut limb[..rounded.len()])?;
                prime.forward_sparse(limb, rounded.len());
                Ok(limb.len())
            })?;
        }
        let babies = members.into_iter().map(|(position, _)| position).collect();
        Ok(Giant { babies, diagonals: encoded })
    }

    /// Whether both are sums of the same rotations of a ciphertext.
    fn shares_babies_with(&self, other: &Self) -> bool {
        self.hoisting == other.hoisting && self.split.baby_steps == other.split.baby_steps
    }

    /// Modulo what its products are added up.
    pub(super) fn hoisting(&self) -> Hoisting {
        self.hoisting
    }

    /// Its baby and giant steps.
    pub fn split(&self) -> &Split {
        &self.split
    }

    /// The diagonals of giant step number `index`, which are encoded now where the transform is
    /// streamed.
    pub(super) fn giant(&self, index: usize) -> Result<Cow<'_, Giant>> {
        match &self.diagonals {
            Storage::Encoded(giants) => Ok(Cow::Borrowed(&giants[index])),
            Storage::Streamed(diagonals) => {
                Ok(Cow::Owned(self.encode(diagonals, self.split.giant_steps[index])?))
            }
        }
    }

    /// The rotations that need a Galois key at [`Self::level`], in `0..slots`.
    pub fn rotations(&self) -> Vec<i64> {
        self.split.rotations()
    }

    /// The parameters of the ciphertexts that it transforms.
    pub fn parameters(&self) -> &Parameters {
        &self.encoding.parameters
    }

    /// The level of the ciphertexts that it transforms.
    pub fn level(&self) -> usize {
        self.encoding.level
    }

    /// The number of slots of the ciphertexts that it transforms.
    pub fn slots(&self) -> usize {
        self.encoding.slots
    }

    /// The scale that a ciphertext's is multiplied by.
    pub fn scale(&self) -> f64 {
        self.encoding.scale
    }

    /// The number of diagonals.
    pub fn diagonals(&self) -> usize {
        match &self.diagonals {
            Storage::Encoded(giants) => giants.iter().map(|giant| giant.babies.len()).sum(),
            Storage::Streamed(numbers) => numbers.indices().len(),
        }
    }

    /// Bytes in memory.
    pub fn nbytes(&self) -> usize {
        match &self.diagonals {
            Storage::Encoded(giants) => giants.iter().map(|giant| giant.diagonals.nbytes()).sum(),
            Storage::Streamed(numbers) => numbers.nbytes(),
        }
    }

    /// Bytes of the diagonals where they are encoded ahead.
    pub fn encoded_nbytes(&self) -> usize {
        self.diagonals() * self.basis().len() * self.parameters().n() * size_of::<u32>()
    }

    /// The coefficient deviation of what rotating by a baby step adds.
    pub(crate) fn baby_deviation(&self) -> f64 {
        let parameters = &self.encoding.parameters;
        let switching = parameters.key_switching_deviation(self.level());
        match self.hoisting {
            Hoisting::Double => switching,
            Hoisting::Single => switching.hypot(parameters.rounding_deviation(1)),
        }
    }
}

impl fmt::Debug for LinearTransform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LinearTransform({self})")
    }
}

impl fmt::Display for LinearTransform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} diagonals of {} slots, {} rotations, level {} of {}, scale 2^{:.3}, N = 2^{}, {}",
            self.diagonals(),
            self.slots(),
            self.rotations().len(),
            self.level(),
            self.encoding.parameters.max_level(),
            self.encoding.scale.log2(),
            self.encoding.parameters.log_n(),
            self.encoding.parameters.security(),
        )
    }
}

impl Evaluator {
    /// Applies a linear transform; not rescaled: the scale is multiplied by that of the
    /// transform.
    ///
    /// # Errors
    /// [`Error::LevelMismatch`], [`Error::SlotMismatch`], [`Error::MissingKey`],
    /// [`Error::ScaleOutOfRange`], [`Error::DegreeMismatch`], [`Error::KeyMismatch`],
    /// [`Error::ParametersMismatch`]; [`Error::ValueOutOfRange`] when a streamed diagonal does
    /// not fit the modulus.
    pub fn linear_transform(
        &self,
        a: &Ciphertext,
        transform: &LinearTransform,
    ) -> Result<Ciphertext> {
        self.check(a, APPLY)?;
        let estimate = a.estimate.linear_transform(transform)?;
        let total = self.transformed(a, transform)?;
        Ok(self.divided_by_special(a, estimate, &total))
    }

    /// Several [linear transforms](Self::linear_transform) of one ciphertext, the same by less work:
    /// those that have the same baby steps share the rotations by them.
    ///
    /// # Errors
    /// As [`Self::linear_transform`].
    pub fn linear_transforms(
        &self,
        a: &Ciphertext,
        transforms: &[&LinearTransform],
    ) -> Result<Vec<Ciphertext>> {
        self.check(a, APPLY)?;
        let estimates: Vec<Estimate> = (transforms.iter())
            .map(|transform| a.estimate.linear_transform(transform))
            .collect::<Result<_>>()?;
        let mut made: Vec<Option<Ciphertext>> = transforms.iter().map(|_| None).collect();
        for (first, &transform) in transforms.iter().enumerate() {
            if made[first].is_some() {
                continue;
            }
            let alike: Vec<usize> = (first..transforms.len())
                .filter(|&index| transforms[index].shares_babies_with(transform))
                .collect();
            let babies = match &alike[..] {
                [_] => None,
                _ => Some(self.rotated_by_babies(a, transform)?),
            };
            for index in alike {
                let total = match &babies {
                    None => self.transformed(a, transforms[index])?,
                    Some(babies) => self.transformed_by(a, transforms[index], babies)?,
                };
                made[index] = Some(self.divided_by_special(a, estimates[index].clone(), &total));
            }
        }
        Ok(made.into_iter().flatten().collect())
    }

    /// P times the transform of a ciphertext, divided by P.
    fn divided_by_special(
        &self,
        a: &Ciphertext,
        estimate: Estimate,
        total: &[Poly; 2],
    ) -> Ciphertext {
        let division = self.parameters().division_by_special(a.level());
        a.with(estimate, division.apply_to_all(self.parameters().ring(), total.each_ref()))
    }

    /// P times the transform of a ciphertext at the transform's level, modulo Q P, held divided.
    pub(super) fn transformed(
        &self,
        a: &Ciphertext,
        transform: &LinearTransform,
    ) -> Result<[Poly; 2]> {
        let Storage::Encoded(giants) = &transform.diagonals else {
            return self.transformed_by(a, transform, &self.rotated_by_babies(a, transform)?);
        };
        let (keys, split, hoisting) = (&self.keys, &transform.split, transform.hoisting);
        let babies = keys.steps(&split.baby_steps, a.level(), APPLY)?;
        let giant_keys = keys.steps(&split.giant_steps, a.level(), APPLY)?;
        let sums = keys.sums_of_diagonals(a.level(), &a.polys, &babies, giants, hoisting);
        Ok(keys.giant_steps(a.level(), sums, &giant_keys, hoisting))
    }

    /// The rotations of a ciphertext by the baby steps of a transform.
    fn rotated_by_babies(&self, a: &Ciphertext, transform: &LinearTransform) -> Result<Bundle> {
        let (keys, hoisting) = (&self.keys, transform.hoisting);
        let steps = keys.steps(&transform.split.baby_steps, a.level(), APPLY)?;
        Ok(keys.bundled_baby_steps(a.level(), &a.polys, &steps, hoisting))
    }

    /// [`Self::transformed`], given the rotations by its baby steps.
    fn transformed_by(
        &self,
        a: &Ciphertext,
        transform: &LinearTransform,
        babies: &Bundle,
    ) -> Result<[Poly; 2]> {
        let (keys, split) = (&self.keys, &transform.split);
        let giant_keys = keys.steps(&split.giant_steps, a.level(), APPLY)?;
        let mut sums = Vec::with_capacity(split.giant_steps.len());
        for index in 0..split.giant_steps.len() {
            let giant = transform.giant(index)?;
            sums.extend(keys.inner_sums(std::slice::from_ref(&*giant), babies));
        }
        Ok(keys.giant_steps(a.level(), sums, &giant_keys, transform.hoisting))
    }
}

impl Estimate {
    /// What [`Evaluator::linear_transform`] gives: row sums bound values and errors; each key
    /// switch and division adds its own.
    ///
    /// A transform that is [streamed](LinearTransform::streamed) is enough: nothing is encoded.
    ///
    /// # Errors
    /// [`Error::LevelMismatch`], [`Error::SlotMismatch`], [`Error::ScaleOutOfRange`],
    /// [`Error::DegreeMismatch`], [`Error::ParametersMismatch`].
    pub fn linear_transform(&self, transform: &LinearTransform) -> Result<Self> {
        self.check_degree(1, APPLY)?;
        let encoding = &transform.encoding;
        let transformed = self.times(encoding, transform.row_sum, APPLY)?;
        let parameters = &self.parameters;
        let spread = transform.row_squares.sqrt();
        let switching = parameters.key_switching_deviation(self.level);
        let moving = transform.split.giant_steps.iter().filter(|&&step| step != 0).count() as f64;
        let rounding = parameters.rounding_deviation(1);
        let encoded = encoding.in_slots(encoding_deviation());
        let errors = [
            spread * self.in_slots(transform.baby_deviation()),
            encoded * (transform.diagonals() as f64).sqrt() * self.bound,
            transformed.in_slots(moving.sqrt() * switching.hypot(rounding)),
            transformed.in_slots(rounding),
        ];
        Ok(errors.into_iter().fold(transformed, |estimate, error| estimate.with_error(error)))
    }
}
