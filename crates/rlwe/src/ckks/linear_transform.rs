//! Linear transforms of slots.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rayon::prelude::*;
use rustfft::num_complex::Complex64;

use super::ciphertext::Ciphertext;
use super::estimate::{self, Estimate};
use super::evaluator::Evaluator;
use super::plaintext::{Encoding, check_values, magnitude};
use crate::deviation;
use crate::diagonal_sums::Giant;
use crate::parallel::Shared;
use crate::parameters::Parameters;
use crate::ring::bundle::Bundle;
use crate::ring::poly::Poly;
use crate::split::Split;
use crate::{Error, Result};

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
/// Cost, with B baby and G giant steps other than zero and D diagonals: one
/// decomposition, B + G inner products with keys, G decompositions and divisions of one
/// polynomial, D products of a diagonal with two polynomials, one division of two. Keys:
/// [`LinearTransform::rotations`].
#[derive(Clone)]
pub struct LinearTransform {
    parameters: Parameters,
    level: usize,
    slots: usize,
    scale: f64,
    split: Split,
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
    Streamed(Diagonals),
}

/// Diagonals by their index; each of as many entries as there are slots.
pub type Diagonals = BTreeMap<i64, Vec<Complex64>>;

impl LinearTransform {
    /// Encodes the diagonals of a transform of vectors of `slots` slots, for ciphertexts at
    /// `level`.
    ///
    /// Diagonals are encoded at `scale`; where that is `None`, at the scale that takes a
    /// ciphertext of canonical scale, transformed and rescaled, to the canonical scale of the
    /// level below. `baby_steps` fixes the number of baby steps; `None` chooses it. Memory: N
    /// words of 4 bytes for each diagonal and each prime of the level and of key switching.
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
        baby_steps: Option<usize>,
    ) -> Result<Self> {
        let (empty, diagonals) =
            Self::without_diagonals(parameters, diagonals, slots, encoding, baby_steps)?;
        let steps = empty.split.giant_steps.iter();
        let giants = steps.map(|&step| empty.encode(&diagonals, step)).collect::<Result<_>>()?;
        Ok(Self { diagonals: Storage::Encoded(giants), ..empty })
    }

    /// [`Self::new`] without encoding ahead: the diagonals are kept as numbers, 16 bytes an
    /// entry, and encoded whenever the transform is applied, those of one giant step at a time.
    /// Slower each time, and for transforms too large to be kept encoded.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn streamed(
        parameters: &Parameters,
        diagonals: &Diagonals,
        slots: usize,
        encoding: Encoding,
        baby_steps: Option<usize>,
    ) -> Result<Self> {
        let (empty, diagonals) =
            Self::without_diagonals(parameters, diagonals, slots, encoding, baby_steps)?;
        Ok(Self { diagonals: Storage::Streamed(diagonals), ..empty })
    }

    /// The transform but for its diagonals, and these, checked and with reduced indices.
    fn without_diagonals(
        parameters: &Parameters,
        diagonals: &Diagonals,
        slots: usize,
        encoding: Encoding,
        baby_steps: Option<usize>,
    ) -> Result<(Self, Diagonals)> {
        let operation = "make a linear transform";
        let level = encoding.level;
        parameters.check_level(level, operation)?;
        parameters.check_slots(slots, operation)?;
        let scale = match encoding.scale {
            Some(scale) => scale,
            None => parameters.matching_scale(level, parameters.scale(level)?)?,
        };
        parameters.check_scale(level, scale, operation)?;
        let diagonals = reduce_indices(diagonals, slots)?;
        for values in diagonals.values() {
            check_values(values, encoding.bound)?;
        }
        let (row_sum, row_squares) = row_sums(&diagonals, slots);
        let indices: Vec<i64> = diagonals.keys().copied().collect();
        let empty = Self {
            parameters: parameters.clone(),
            level,
            slots,
            scale,
            split: Split::choose(&indices, slots, baby_steps),
            diagonals: Storage::Encoded(Vec::new()),
            row_sum,
            row_squares,
        };
        Ok((empty, diagonals))
    }

    /// The diagonals of one giant step, encoded.
    fn encode(&self, diagonals: &Diagonals, step: i64) -> Result<Giant> {
        let parameters = &self.parameters;
        let basis = parameters.extended_basis(self.level);
        let encoding = Encoding { level: self.level, scale: Some(self.scale), bound: None };
        let members: Vec<_> = (diagonals.iter())
            .filter_map(|(index, values)| {
                let (giant, baby) = self.split.steps(*index);
                let position = self.split.baby_steps.binary_search(&baby).ok()?;
                (giant == step).then_some((position, values))
            })
            .collect();
        let babies = members.iter().map(|(position, _)| *position).collect();
        let polys: Vec<Poly> = members
            .into_par_iter()
            .shared()
            .map(|(_, values)| {
                let mut values = values.clone();
                values.rotate_right(step as usize);
                let mut poly = parameters.encode_over(&values, encoding, basis)?.poly;
                parameters.ring().to_montgomery(&mut poly);
                Ok(poly)
            })
            .collect::<Result<_>>()?;
        Ok(Giant { babies, diagonals: Bundle::new(parameters.n(), basis, &polys) })
    }

    /// The rotations that need a Galois key at [`Self::level`], in `0..slots`.
    pub fn rotations(&self) -> Vec<i64> {
        self.split.rotations()
    }

    /// The level of the ciphertexts that it transforms.
    pub fn level(&self) -> usize {
        self.level
    }

    /// The number of slots of the ciphertexts that it transforms.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The number of diagonals.
    pub fn diagonals(&self) -> usize {
        match &self.diagonals {
            Storage::Encoded(giants) => giants.iter().map(|giant| giant.babies.len()).sum(),
            Storage::Streamed(diagonals) => diagonals.len(),
        }
    }

    /// Bytes in memory.
    pub fn nbytes(&self) -> usize {
        match &self.diagonals {
            Storage::Encoded(giants) => giants.iter().map(|giant| giant.diagonals.nbytes()).sum(),
            Storage::Streamed(diagonals) => diagonals.len() * self.slots * size_of::<Complex64>(),
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
            self.slots,
            self.rotations().len(),
            self.level,
            self.parameters.max_level(),
            self.scale.log2(),
            self.parameters.log_n(),
            self.parameters.security(),
        )
    }
}

/// Indices brought between minus and plus `slots`, lengths and values checked.
fn reduce_indices(diagonals: &Diagonals, slots: usize) -> Result<Diagonals> {
    let operation = "make a linear transform";
    if diagonals.is_empty() {
        let reason = "there are no diagonals".to_string();
        return Err(Error::InvalidArgument { operation, reason });
    }
    let mut reduced = Diagonals::new();
    let mut seen = BTreeSet::new();
    for (&index, values) in diagonals {
        if values.len() != slots {
            return Err(Error::SlotMismatch { operation, expected: slots, actual: values.len() });
        }
        if !seen.insert(index.rem_euclid(slots as i64)) {
            let reason = format!("diagonal {index} is given twice, modulo {slots} slots");
            return Err(Error::InvalidArgument { operation, reason });
        }
        reduced.insert(index % slots as i64, values.clone());
    }
    Ok(reduced)
}

/// The largest sums of absolute values and of their squares over a row.
fn row_sums(diagonals: &Diagonals, slots: usize) -> (f64, f64) {
    let (mut sums, mut squares) = (vec![0.0f64; slots], vec![0.0f64; slots]);
    for diagonal in diagonals.values() {
        for ((value, sum), square) in diagonal.iter().zip(&mut sums).zip(&mut squares) {
            *sum += magnitude(value);
            *square += value.norm_sqr();
        }
    }
    let largest = |rows: &[f64]| rows.iter().copied().fold(0.0, f64::max);
    (largest(&sums), largest(&squares))
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
        let operation = "apply a linear transform";
        self.check(a, operation)?;
        a.check_degree(1, operation)?;
        let parameters = self.parameters();
        parameters.check_same(&transform.parameters, operation)?;
        if a.level != transform.level {
            let (expected, actual) = (transform.level, a.level);
            return Err(Error::LevelMismatch { operation, expected, actual });
        }
        if a.slots != transform.slots {
            let (expected, actual) = (transform.slots, a.slots);
            return Err(Error::SlotMismatch { operation, expected, actual });
        }
        let scale = a.scale * transform.scale;
        parameters.check_scale(a.level, scale, operation)?;
        let (keys, split) = (&self.keys, &transform.split);
        let baby_keys = keys.steps(&split.baby_steps, a.level, operation)?;
        let giant_keys = keys.steps(&split.giant_steps, a.level, operation)?;

        let babies = keys.baby_steps(a.level, &a.polys, &baby_keys);
        let sums = match &transform.diagonals {
            Storage::Encoded(giants) => keys.inner_sums(a.level, giants, &babies),
            Storage::Streamed(diagonals) => {
                let mut sums = Vec::with_capacity(split.giant_steps.len());
                for &step in &split.giant_steps {
                    let giant = transform.encode(diagonals, step)?;
                    sums.extend(keys.inner_sums(a.level, &[giant], &babies));
                }
                sums
            }
        };
        drop(babies);
        let total = keys.giant_steps(a.level, sums, &giant_keys);
        let division = parameters.division_by_special(a.level);
        let polys = division.apply_to_all(parameters.ring(), total.each_ref()).into();
        Ok(Ciphertext {
            scale,
            estimate: self.transformed_estimate(a, transform),
            polys,
            seed: None,
            ..Self::header(a)
        })
    }

    /// Row sums bound values and errors; each key switch and division adds its own.
    fn transformed_estimate(&self, a: &Ciphertext, transform: &LinearTransform) -> Estimate {
        let parameters = self.parameters();
        let spread = transform.row_squares.sqrt();
        let in_slots = |deviation: f64, scale: f64| estimate::in_slots(deviation, a.slots, scale);
        let switching = deviation::key_switching(parameters, a.level);
        let scale = a.scale * transform.scale;
        let moving = transform.split.giant_steps.iter().filter(|&&step| step != 0).count() as f64;
        let rounding = deviation::rounding(parameters);
        let encoding = in_slots(estimate::encoding(), transform.scale);
        let errors = [
            spread * in_slots(switching, a.scale),
            encoding * (transform.diagonals() as f64).sqrt() * a.estimate.bound,
            in_slots(moving.sqrt() * switching.hypot(rounding), scale),
            in_slots(rounding, scale),
        ];
        let scaled = Estimate {
            // A sum or a transform before this one gives several slots the same errors.
            deviation: a.estimate.deviation * transform.row_sum,
            bound: a.estimate.bound * transform.row_sum,
        };
        errors.into_iter().fold(scaled, Estimate::with_error)
    }
}
