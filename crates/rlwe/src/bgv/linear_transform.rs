//! Linear transforms of rows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rayon::prelude::*;

use super::ciphertext::Ciphertext;
use super::estimate::Estimate;
use super::evaluator::Evaluator;
use super::noise::Noise;
use super::parameters::Parameters;
use crate::core::Split;
use crate::core::bsgs::{Giant, Hoisting};
use crate::parallel;
use crate::ring::bundle::Bundle;
use crate::{Error, Result};

/// Diagonals by their index: each the first row of N / 2 entries and then the second, or one row
/// that stands for both.
pub type Diagonals = BTreeMap<i64, Vec<i64>>;

/// y = sum over diagonals d of `diag_d * rotate(x, d)` within each row, ready to be applied.
///
/// As the linear transform of [`crate::ckks`], by the same code, and at its cost.
#[derive(Clone)]
pub struct LinearTransform {
    pub(crate) parameters: Parameters,
    pub(crate) level: usize,
    pub(crate) split: Split,
    giants: Vec<Giant>,
    /// The sum of the bounds of all diagonals.
    pub(crate) bounds: Noise,
}

impl LinearTransform {
    /// Encodes the diagonals of a transform for ciphertexts at `level`.
    ///
    /// `baby_steps` fixes the number of baby steps; `None` chooses it. Memory: N words of 4
    /// bytes for each diagonal and each prime of the level and of key switching.
    ///
    /// # Errors
    /// [`Error::SlotMismatch`] for a diagonal of another length, [`Error::InvalidArgument`]
    /// without diagonals or for one given twice, [`Error::IntegerOutOfRange`],
    /// [`Error::LevelMismatch`].
    pub fn new(
        parameters: &Parameters,
        diagonals: &Diagonals,
        level: usize,
        baby_steps: Option<usize>,
    ) -> Result<Self> {
        let operation = "make a linear transform";
        parameters.check_level(level, operation)?;
        let slots = parameters.slots();
        let indices = distinct_indices(diagonals, slots as i64)?;
        let split = Split::choose(&indices, slots, baby_steps);
        let encoded: Vec<_> = parallel::over(Vec::from_iter(diagonals))
            .shared()
            .map(|(index, values)| {
                let (giant, baby) = split.steps(index % slots as i64);
                // Refuses lengths that are of no row before they are cut into rows.
                parameters.embed(values, operation)?;
                let rotated: Vec<i64> = values
                    .chunks_exact(slots)
                    .flat_map(|row| {
                        let (left, right) = row.split_at(slots - giant as usize);
                        right.iter().chain(left).copied()
                    })
                    .collect();
                let coefficients = parameters.embed(&rotated, operation)?;
                let bounds =
                    parameters.noise_model().message_within(parameters.norm_bits(&coefficients));
                let basis = parameters.extended_basis(level);
                let mut poly = parameters.lifted(&coefficients, 1, basis);
                parameters.ring().to_montgomery(&mut poly);
                Ok((giant, baby, bounds, poly))
            })
            .collect::<Result<_>>()?;
        let bounds = encoded.iter().map(|&(_, _, bounds, _)| bounds).reduce(Noise::plus);
        let bounds = bounds.expect("a transform has diagonals");
        let mut giants: BTreeMap<i64, (Vec<usize>, Vec<_>)> = BTreeMap::new();
        for (giant, baby, _, poly) in encoded {
            let (babies, polys) = giants.entry(giant).or_default();
            babies.extend(split.baby_steps.binary_search(&baby));
            polys.push(poly);
        }
        let basis = parameters.extended_basis(level);
        let bundle = |(babies, polys): (Vec<usize>, Vec<_>)| {
            Giant::of_different(babies, Bundle::new(parameters.n(), basis, &polys))
        };
        let giants = giants.into_values().map(bundle).collect();
        Ok(Self { parameters: parameters.clone(), level, split, giants, bounds })
    }

    /// The rotations that need a Galois key at [`Self::level`], in `0..slots`.
    pub fn rotations(&self) -> Vec<i64> {
        self.split.rotations()
    }

    /// The level of the ciphertexts that it transforms.
    pub fn level(&self) -> usize {
        self.level
    }

    /// The number of diagonals.
    pub fn diagonals(&self) -> usize {
        self.giants.iter().map(|giant| giant.babies.len()).sum()
    }

    /// Bytes in memory.
    pub fn nbytes(&self) -> usize {
        self.giants.iter().map(|giant| giant.diagonals.nbytes()).sum()
    }
}

/// Indices between minus and plus `slots`, no two the same rotation.
fn distinct_indices(diagonals: &Diagonals, slots: i64) -> Result<Vec<i64>> {
    let operation = "make a linear transform";
    if diagonals.is_empty() {
        let reason = "there are no diagonals".to_string();
        return Err(Error::InvalidArgument { operation, reason });
    }
    let mut seen = BTreeSet::new();
    for index in diagonals.keys() {
        if !seen.insert(index.rem_euclid(slots)) {
            let reason = format!("diagonal {index} is given twice, modulo {slots} slots");
            return Err(Error::InvalidArgument { operation, reason });
        }
    }
    Ok(diagonals.keys().map(|index| index % slots).collect())
}

impl fmt::Debug for LinearTransform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LinearTransform({self})")
    }
}

impl fmt::Display for LinearTransform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (diagonals, rotations) = (self.diagonals(), self.rotations().len());
        let (level, highest) = (self.level, self.parameters.max_level());
        write!(f, "{diagonals} diagonals, {rotations} rotations, level {level} of {highest}, ")?;
        self.parameters.fmt(f)
    }
}

impl Evaluator {
    /// Applies a linear transform.
    ///
    /// # Errors
    /// [`Error::LevelMismatch`], [`Error::MissingKey`], [`Error::DegreeMismatch`],
    /// [`Error::NoiseExhausted`], [`Error::KeyMismatch`], [`Error::ParametersMismatch`].
    pub fn linear_transform(
        &self,
        a: &Ciphertext,
        transform: &LinearTransform,
    ) -> Result<Ciphertext> {
        let operation = "apply a linear transform";
        self.check(a, operation)?;
        let estimate = a.estimate.linear_transform(transform)?;
        let (keys, split) = (&self.keys, &transform.split);
        let baby_keys = keys.steps(&split.baby_steps, a.level(), operation)?;
        let giant_keys = keys.steps(&split.giant_steps, a.level(), operation)?;
        let sums = keys.sums_of_diagonals(
            a.level(),
            &a.polys,
            &baby_keys,
            &transform.giants,
            Hoisting::Double,
        );
        let total = keys.giant_steps(a.level(), sums, &giant_keys, Hoisting::Double);
        let lattice = self.parameters();
        let division = lattice.division_by_special(a.level());
        Ok(a.with(estimate, division.apply_to_all(lattice.ring(), total.each_ref())))
    }
}

impl Estimate {
    /// What [`Evaluator::linear_transform`] gives.
    ///
    /// # Errors
    /// [`Error::DegreeMismatch`], [`Error::LevelMismatch`], [`Error::NoiseExhausted`],
    /// [`Error::ParametersMismatch`].
    pub fn linear_transform(&self, transform: &LinearTransform) -> Result<Self> {
        let operation = "apply a linear transform";
        self.parameters.check_same(&transform.parameters, operation)?;
        self.check_degree_1(operation)?;
        self.check_level(transform.level, operation)?;
        let switching = self.key_switching_noise();
        let rotated = self.noise.plus(switching).times(transform.bounds);
        let moving = transform.split.giant_steps.iter().filter(|&&step| step != 0).count();
        let moved = self.rotation_noise().scaled((moving as f64).log2());
        let noise = rotated.plus(moved).plus(self.model().rounding(1));
        self.with_noise(noise).checked(operation)
    }
}
