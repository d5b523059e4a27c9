//! Linear transforms of slots.

use std::borrow::Cow;
use std::fmt;

use rayon::prelude::*;

use super::ciphertext::Ciphertext;
pub use super::diagonals::Diagonals;
use super::diagonals::{Numbers, SparseDiagonals, Values};
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

/// The diagonals of a giant step before they are encoded.
struct Members {
    /// For each diagonal, the position of its baby step.
    babies: Vec<usize>,
    /// For each diagonal, its place among the different ones.
    places: Vec<usize>,
    /// Those that differ from one another, rotated back by the giant step.
    different: Vec<Values>,
    /// Of a limb of each, encoded.
    words: usize,
}

pub(super) const APPLY: &str = "apply a linear transform";

impl LinearTransform {
    /// Encodes the diagonals of a transform of vectors of `slots` slots, for ciphertexts at
    /// `level`.
    ///
    /// Diagonals are encoded at `scale`; where that is `None`, at the scale that takes a
    /// ciphertext of canonical scale, transformed and rescaled, to the canonical scale of the
    /// level below. Memory: N words of 4 bytes for each diagonal and each prime of the level, and
    /// of few diagonals of key switching, too; of diagonals that repeat themselves after p slots
    /// 2 p words, and of those of one giant step that are the same, those of one.
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

    /// The diagonals of one giant step.
    fn members(&self, numbers: &Numbers, step: i64) -> Members {
        let split = &self.split;
        let (babies, indices): (Vec<usize>, Vec<i64>) = (numbers.indices().into_iter())
            .filter_map(|index| {
                let (giant, baby) = split.steps(index);
                let position = split.baby_steps.binary_search(&baby).ok()?;
                (giant == step).then_some((position, index))
            })
            .unzip();
        let (different, places) = numbers.different(&indices);
        let values = parallel::over(different).shared();
        let different: Vec<Values> =
            values.map(|index| numbers.values(index, step as usize)).collect();
        let longest = different.iter().map(Values::len).max().unwrap_or(0);
        let words = self.parameters().diagonal_words(longest);
        Members { babies, places, different, words }
    }

    /// The diagonals of one giant step, encoded.
    fn encode(&self, numbers: &Numbers, step: i64) -> Result<Giant> {
        let (parameters, basis) = (&self.encoding.parameters, self.basis());
        let Members { babies, places, different, words } = self.members(numbers, step);
        let ring = parameters.ring();
        let mut diagonals = Bundle::repeating((parameters.n(), words), basis, different.len());
        for (number, different) in different.chunks(AT_ONCE).enumerate() {
            let rounded: Vec<RoundedCoefficients> = parallel::over(different)
                .shared()
                .map(|values| values.rounded(parameters, &self.encoding))
                .collect::<Result<_>>()?;
            diagonals.write(AT_ONCE * number, rounded.len(), |position, member, limb| {
                let (prime, rounded) = (&ring.primes[position], &rounded[member]);
                rounded.montgomery_residues(prime.modulus.q, &mut limb[..rounded.len()])?;
                prime.forward_sparse(limb, rounded.len());
                Ok(())
            })?;
        }
        Ok(Giant { babies, places, diagonals })
    }

    /// Whether both are sums of the same rotations of a ciphertext.
    pub(super) fn shares_babies_with(&self, other: &Self) -> bool {
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
        let Storage::Streamed(numbers) = &self.diagonals else { return self.nbytes() };
        let members = self.split.giant_steps.iter().map(|&step| self.members(numbers, step));
        let words: usize = members.map(|members| members.words * members.different.len()).sum();
        self.basis().len() * words * size_of::<u32>()
    }

    /// Bytes of the diagonals with every word of every one, as a device has them.
    pub fn whole_nbytes(&self) -> usize {
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

    /// P times the transform of a ciphertext, divided by P.
    pub(super) fn divided_by_special(
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
        let sums = self.giant_sums(a, transform, None)?;
        let keys = self.keys.steps(&transform.split.giant_steps, a.level(), APPLY)?;
        Ok(self.keys.giant_steps(a.level(), sums, &keys, transform.hoisting))
    }

    /// For each giant step of a transform the sum of its diagonals times baby rotations: those
    /// given, or where there are none those made for it alone.
    pub(super) fn giant_sums(
        &self,
        a: &Ciphertext,
        transform: &LinearTransform,
        babies: Option<&Bundle>,
    ) -> Result<Vec<[Poly; 2]>> {
        if let Some(babies) = babies {
            return self.sums_by_babies(transform, babies);
        }
        let Storage::Encoded(giants) = &transform.diagonals else {
            return self.sums_by_babies(transform, &self.rotated_by_babies(a, transform)?);
        };
        let steps = self.keys.steps(&transform.split.baby_steps, a.level(), APPLY)?;
        let hoisting = transform.hoisting;
        Ok(self.keys.sums_of_diagonals(a.level(), &a.polys, &steps, giants, hoisting))
    }

    /// The rotations of a ciphertext by the baby steps of a transform.
    pub(super) fn rotated_by_babies(
        &self,
        a: &Ciphertext,
        transform: &LinearTransform,
    ) -> Result<Bundle> {
        let (keys, hoisting) = (&self.keys, transform.hoisting);
        let steps = keys.steps(&transform.split.baby_steps, a.level(), APPLY)?;
        Ok(keys.bundled_baby_steps(a.level(), &a.polys, &steps, hoisting))
    }

    /// [`Self::giant_sums`], given the rotations by baby steps.
    fn sums_by_babies(
        &self,
        transform: &LinearTransform,
        babies: &Bundle,
    ) -> Result<Vec<[Poly; 2]>> {
        let mut sums = Vec::with_capacity(transform.split.giant_steps.len());
        for index in 0..transform.split.giant_steps.len() {
            let giant = transform.giant(index)?;
            sums.extend(self.keys.inner_sums(std::slice::from_ref(&*giant), babies));
        }
        Ok(sums)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ckks::{Complex64, ParametersLiteral};
    use crate::keys::{EvaluationKeysRequest, SecretKey};

    const SLOTS: usize = 256;
    const MANY: i64 = 24;
    const BABIES: usize = 4;

    fn parameters() -> Parameters {
        let literal = ParametersLiteral {
            log_n: Some(9),
            levels: 2,
            insecure: true,
            ..ParametersLiteral::default()
        };
        Parameters::new(literal).unwrap()
    }

    /// Diagonals of numbers that follow from their index and slot, which repeat after `period`.
    fn repeating(indices: impl Iterator<Item = i64>, period: usize) -> Diagonals {
        let number = |index: i64, slot: usize| {
            let angle = (index * 37 + 11) as f64 * ((slot % period) as f64 + 0.5);
            Complex64::new(angle.sin(), angle.cos())
        };
        let diagonal = |index| (0..SLOTS).map(|slot| number(index, slot)).collect();
        indices.map(|index| (index, diagonal(index))).collect()
    }

    fn made(parameters: &Parameters, diagonals: &Diagonals) -> LinearTransform {
        let (encoding, baby_steps) = (Encoding::at(2), BabySteps::below(BABIES));
        LinearTransform::new(parameters, diagonals, SLOTS, encoding, baby_steps).unwrap()
    }

    /// The same transform, every diagonal of which is encoded by itself and in full.
    fn in_full(transform: &LinearTransform, diagonals: &Diagonals) -> LinearTransform {
        let (parameters, split) = (transform.parameters(), &transform.split);
        let ring = parameters.ring();
        let giant = |&step: &i64| {
            let (mut babies, mut polys) = (Vec::new(), Vec::new());
            for (&index, values) in diagonals.iter().filter(|each| split.steps(*each.0).0 == step) {
                let mut values = values.clone();
                values.rotate_right(step as usize);
                let rounded = parameters.rounded(&values, &transform.encoding).unwrap();
                let mut poly = ring.zero(transform.basis());
                for (position, limb) in poly.limbs_mut() {
                    let prime = &ring.primes[position];
                    rounded.montgomery_residues(prime.modulus.q, limb).unwrap();
                    prime.forward(limb);
                }
                babies.extend(split.baby_steps.binary_search(&split.steps(index).1));
                polys.push(poly);
            }
            Giant::of_different(babies, Bundle::new(parameters.n(), transform.basis(), &polys))
        };
        let giants = split.giant_steps.iter().map(giant).collect();
        LinearTransform { diagonals: Storage::Encoded(giants), ..transform.clone() }
    }

    #[test]
    fn diagonals_that_repeat_are_stored_once_and_give_the_same_residues() {
        let parameters = parameters();
        let secret = SecretKey::generate(&parameters).unwrap();
        let rotations = made(&parameters, &repeating(0..MANY, 1)).rotations();
        let request = EvaluationKeysRequest {
            rotations: rotations.into_iter().map(|rotation| (rotation, 2)).collect(),
            ..Default::default()
        };
        let evaluator = Evaluator::new(secret.evaluation_keys(&request).unwrap());
        let clear = parameters.encode_real(&[0.5; SLOTS], Encoding::at(2).within(1.0)).unwrap();
        let a = secret.encrypt(&clear).unwrap();
        for period in (0..=SLOTS.ilog2()).map(|bits| 1 << bits) {
            for many in [false, true] {
                let indices = 0..if many { MANY } else { 6 };
                let diagonals = repeating(indices.clone(), period);
                let transform = made(&parameters, &diagonals);
                let limbs = transform.basis().len();
                assert_eq!(transform.divides_baby_rotations(), many);
                let words = (2 * period).max(32) * limbs * indices.count();
                assert_eq!(transform.nbytes(), 4 * words);
                let whole = in_full(&transform, &diagonals);
                assert!(whole.nbytes() >= transform.nbytes());
                let expected = evaluator.linear_transform(&a, &whole).unwrap();
                assert_eq!(evaluator.linear_transform(&a, &transform).unwrap(), expected);
                for index in 0..transform.split.giant_steps.len() {
                    let words = transform.giant_words(index).unwrap();
                    assert_eq!(words, whole.giant_words(index).unwrap());
                }
            }
        }
    }

    #[test]
    fn diagonals_of_a_giant_step_that_are_the_same_are_stored_once() {
        let parameters = parameters();
        let mut diagonals = repeating(0..8, 64);
        let mask: Vec<Complex64> = diagonals[&0].clone();
        diagonals.extend([1, 3, 6].map(|index| (index, mask.clone())));
        let transform = made(&parameters, &diagonals);
        // Of the first giant step those of index 0 and 2; four of the other.
        assert_eq!(transform.nbytes(), 4 * 6 * 128 * transform.basis().len());
        let full = in_full(&transform, &diagonals);
        for index in 0..2 {
            assert_eq!(transform.giant_words(index).unwrap(), full.giant_words(index).unwrap());
        }
    }

    #[test]
    fn what_is_encoded_is_counted_before() {
        let parameters = parameters();
        let mut diagonals = repeating(0..8, 16);
        diagonals.extend(repeating(5..6, SLOTS));
        let transform = made(&parameters, &diagonals);
        let (encoding, baby_steps) = (Encoding::at(2), BabySteps::below(BABIES));
        let streamed =
            LinearTransform::streamed(&parameters, &diagonals, SLOTS, encoding, baby_steps);
        assert_eq!(streamed.unwrap().encoded_nbytes(), transform.nbytes());
    }
}
