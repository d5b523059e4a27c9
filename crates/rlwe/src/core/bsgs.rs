//! Baby-step giant-step: how the diagonals of a linear transform are split into rotations, and
//! the sums of diagonals times rotations. The hot path of linear transforms in every scheme.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::key_switching::{Decomposition, KeyedRotations, Step, mod_up};
use super::keys::{EvaluationKeys, SwitchingKey};
use super::parameters::Parameters;
use crate::Result;
use crate::parallel;
use crate::ring::automorphism::Automorphism;
use crate::ring::buffers;
use crate::ring::bundle::{Bundle, TILE};
use crate::ring::inner_products::{self, DiagonalTerms};
use crate::ring::poly::{Basis, Poly, Ring, SHORTEST};

/// Modulo what the products of diagonals and baby rotations add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hoisting {
    /// Modulo Q P: one division by P ends the transform (Bossuat, Mouchet, Troncoso-Pastoriza,
    /// Hubaux 2021, section 4).
    Double,
    /// Modulo Q, every baby rotation being divided by P: for many diagonals, which then need no
    /// limbs of P.
    Single,
}

/// The baby steps that a transform is to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BabySteps {
    /// Baby steps are those below it, giant steps its multiples; `None` chooses it.
    pub width: Option<usize>,
    /// Transforms of one ciphertext, this one among them, that are applied together and have the
    /// same baby steps: they share the rotations by them.
    pub shared_by: usize,
}

impl BabySteps {
    /// Those below `width`, of a transform by itself.
    ///
    /// ```
    /// use rlwe::ckks::BabySteps;
    /// assert_eq!(BabySteps::below(8), BabySteps { width: Some(8), shared_by: 1 });
    /// ```
    pub fn below(width: usize) -> Self {
        Self { width: Some(width), ..Self::default() }
    }
}

impl Default for BabySteps {
    fn default() -> Self {
        Self { width: None, shared_by: 1 }
    }
}

/// How diagonals are split into baby and giant steps.
///
/// A diagonal may be counted from 0 up or from minus the slots up, as its index says: those of a
/// transpose are multiples of one number to both sides of 0, and modulo the slots are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Baby rotations, zero among them if used.
    pub baby_steps: Vec<i64>,
    /// Giant rotations in `0..slots`, zero among them if used.
    pub giant_steps: Vec<i64>,
    slots: i64,
    width: i64,
}

impl Split {
    /// Diagonals `d = g + b` with `b` in `0..width`, g a multiple of `width`.
    fn of_width(indices: &[i64], slots: i64, width: i64) -> Self {
        let empty = Self { baby_steps: Vec::new(), giant_steps: Vec::new(), slots, width };
        let (giants, babies): (BTreeSet<i64>, BTreeSet<i64>) =
            indices.iter().map(|&index| empty.steps(index)).unzip();
        Self {
            baby_steps: babies.into_iter().collect(),
            giant_steps: giants.into_iter().collect(),
            ..empty
        }
    }

    /// The giant and the baby step of a diagonal.
    pub(crate) fn steps(&self, index: i64) -> (i64, i64) {
        // In 128 bits, as slots may be as many as an i64 counts.
        let (slots, index) = (i128::from(self.slots), i128::from(index % self.slots));
        let baby = index.rem_euclid(i128::from(self.width));
        ((index - baby).rem_euclid(slots) as i64, baby as i64)
    }

    /// The cheapest split of `indices`, which count modulo `slots`, or that of a given width.
    ///
    /// A giant step costs about three baby steps: it has a decomposition and a division.
    pub fn choose(indices: &[i64], slots: usize, width: Option<usize>) -> Self {
        let slots = i64::try_from(slots).unwrap_or(i64::MAX).max(1);
        if let Some(width) = width {
            let width = i64::try_from(width).unwrap_or(i64::MAX);
            return Self::of_width(indices, slots, width.clamp(1, slots));
        }
        let widths = (0..=slots.ilog2()).map(|bits| 1i64 << bits);
        let splits = widths.map(|width| Self::of_width(indices, slots, width));
        let cost = |split: &Self| {
            let moving = |steps: &[i64]| steps.iter().filter(|&&step| step != 0).count();
            moving(&split.baby_steps) + GIANT_COST * moving(&split.giant_steps)
        };
        splits.min_by_key(cost).unwrap_or_else(|| Self::of_width(indices, slots, 1))
    }

    /// Baby and giant steps that rotate.
    pub(crate) fn moving(&self) -> (usize, usize) {
        let moving = |steps: &[i64]| steps.iter().filter(|&&step| step != 0).count();
        (moving(&self.baby_steps), moving(&self.giant_steps))
    }

    /// The rotations that need a Galois key.
    pub fn rotations(&self) -> Vec<i64> {
        let steps: BTreeSet<i64> =
            self.baby_steps.iter().chain(&self.giant_steps).copied().filter(|&k| k != 0).collect();
        steps.into_iter().collect()
    }
}

/// What a giant step costs, in baby steps.
const GIANT_COST: usize = 3;

/// What a limb takes while a polynomial is divided by P, in products of a diagonal's limb with both
/// limbs of a rotation.
const DIVISION_COST: usize = 3;

/// Polynomials that are made before they are put into their bundle.
pub(crate) const AT_ONCE: usize = 16;

/// From this ring on transforms go prime by prime: 10 percent faster at 2^16, slower at 2^14.
const LEAST_LOG_N_BY_PRIME: u32 = 15;

/// Coefficients worked on together: a block of every baby step fits the second-level cache.
const BLOCK: usize = 1024;

/// The diagonals of one giant step, rotated back by it.
#[derive(Clone)]
pub(crate) struct Giant {
    /// For each diagonal, the position of its baby step.
    pub(crate) babies: Vec<usize>,
    /// For each diagonal, its place among the different ones.
    pub(crate) places: Vec<usize>,
    /// The different ones over Q P, or Q where baby rotations are divided, in Montgomery form.
    pub(crate) diagonals: Bundle,
}

impl Giant {
    /// Of diagonals that are all different.
    pub(crate) fn of_different(babies: Vec<usize>, diagonals: Bundle) -> Self {
        Self { places: (0..babies.len()).collect(), babies, diagonals }
    }
}

/// Writes tiles of every limb side by side, from `start` on until `to` is full.
fn interleave(limbs: &[&[u32]], start: usize, tile: usize, to: &mut [u32]) {
    for (index, tiles) in to.chunks_exact_mut(tile * limbs.len()).enumerate() {
        let from = start + index * tile;
        for (tile_of, limb) in tiles.chunks_exact_mut(tile).zip(limbs) {
            tile_of.copy_from_slice(&limb[from..from + tile]);
        }
    }
}

/// The sums of all giant steps modulo one prime, for a block of coefficients from `start` on, by
/// both limbs of each baby rotation side by side.
fn sum_block(
    ring: &Ring,
    position: usize,
    giants: &[Giant],
    start: usize,
    rotations: &[u32],
    row: &mut [[&mut [u32]; 2]],
) {
    let (modulus, tile) = (ring.modulus(position), TILE.min(ring.n()));
    let span = start..start + BLOCK.min(ring.n());
    let most = giants.iter().map(|giant| giant.diagonals.count()).max().unwrap_or(0);
    let mut residues = buffers::take(most * span.len());
    for (giant, [first, second]) in giants.iter().zip(row) {
        let terms = DiagonalTerms {
            diagonals: giant.diagonals.residues(position, span.clone(), &mut residues),
            diagonal_count: giant.diagonals.count(),
            places: &giant.places,
            babies: &giant.babies,
            rotations,
            baby_count: rotations.len() / (2 * span.len()),
            tile,
        };
        let sums = [&mut first[span.clone()], &mut second[span.clone()]];
        inner_products::inner_product(modulus, terms, tile, sums);
    }
    buffers::give(residues);
}

/// The sums of all giant steps modulo one prime, from both limbs of each baby rotation: block by
/// block, so that the rotations are read from memory once.
fn sum_row(
    ring: &Ring,
    position: usize,
    giants: &[Giant],
    babies: &[&[u32]],
    mut row: Vec<[&mut [u32]; 2]>,
) {
    let (block, tile) = (BLOCK.min(ring.n()), TILE.min(ring.n()));
    let mut rotations = buffers::take(babies.len() * block);
    for start in (0..ring.n()).step_by(block) {
        interleave(babies, start, tile, &mut rotations);
        sum_block(ring, position, giants, start, &rotations, &mut row);
    }
    buffers::give(rotations);
}

impl Parameters {
    /// The cheaper way to add up the products of so many diagonals, by so many baby and giant steps
    /// that rotate, the former shared by some transforms.
    ///
    /// Dividing first takes two divisions for each baby step, and none for giant steps; not
    /// dividing takes the limbs of P of each diagonal.
    pub(crate) fn hoisting(
        &self,
        level: usize,
        diagonals: usize,
        (babies, giants): (usize, usize),
        shared_by: usize,
    ) -> Hoisting {
        let extended = self.extended_basis(level).len();
        let divisions = (2 * babies).div_ceil(shared_by.max(1)).saturating_sub(giants);
        if diagonals * self.special().len() > DIVISION_COST * divisions * extended {
            return Hoisting::Single;
        }
        Hoisting::Double
    }

    /// Limbs of an encoded diagonal of a transform: of so many at a level, by so many baby and giant
    /// steps that rotate, the former [shared](BabySteps::shared_by) by some transforms.
    ///
    /// # Errors
    /// [`Error::LevelMismatch`](crate::Error::LevelMismatch) for a level that the chain does not
    /// have.
    pub fn limbs_of_diagonals(
        &self,
        level: usize,
        diagonals: usize,
        steps: (usize, usize),
        shared_by: usize,
    ) -> Result<usize> {
        self.check_level(level, "size a linear transform")?;
        let hoisting = self.hoisting(level, diagonals, steps, shared_by);
        Ok(self.basis_of_products(level, hoisting).len())
    }

    /// Words of a limb of an encoded diagonal that repeats itself after so many slots.
    ///
    /// ```
    /// use rlwe::ckks::{Parameters, ParametersLiteral};
    /// let parameters = Parameters::new(ParametersLiteral::default())?;
    /// assert_eq!(parameters.diagonal_words(512), 1024);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn diagonal_words(&self, period: usize) -> usize {
        period.saturating_mul(2).max(SHORTEST).min(self.n())
    }

    /// The primes that diagonals and baby rotations have.
    pub(crate) fn basis_of_products(&self, level: usize, hoisting: Hoisting) -> &Basis {
        match hoisting {
            Hoisting::Double => self.extended_basis(level),
            Hoisting::Single => self.level_basis(level),
        }
    }
}

impl EvaluationKeys {
    /// What baby rotations by `keys` share, where any rotates.
    fn decomposed<'a>(
        &self,
        level: usize,
        polys: &'a [Poly],
        keys: &[Step<'_>],
    ) -> Option<Decomposition<'a>> {
        let moves = keys.iter().any(Option::is_some);
        moves.then(|| mod_up(&self.parameters, level, &polys[1]))
    }

    /// Every baby rotation of a ciphertext, two polynomials each: times P and modulo Q P, or
    /// modulo Q.
    fn baby_steps(
        &self,
        level: usize,
        polys: &[Poly],
        decomposition: Option<&Decomposition<'_>>,
        keys: &[Step<'_>],
        hoisting: Hoisting,
    ) -> Vec<[Poly; 2]> {
        let parameters = &self.parameters;
        parallel::over(keys)
            .shared()
            .map(|step| match (step, decomposition) {
                (Some(step), Some(decomposition)) => {
                    self.baby_step(polys, decomposition, *step, hoisting)
                }
                _ if hoisting == Hoisting::Single => [0, 1].map(|half| polys[half].clone()),
                _ => [0, 1].map(|half| parameters.multiply_by_special(level, &polys[half])),
            })
            .collect()
    }

    /// [`Self::baby_steps`] side by side, for sums of one giant step after the other.
    pub(crate) fn bundled_baby_steps(
        &self,
        level: usize,
        polys: &[Poly],
        keys: &[Step<'_>],
        hoisting: Hoisting,
    ) -> Bundle {
        let parameters = &self.parameters;
        let basis = parameters.basis_of_products(level, hoisting);
        let mut rotations = Bundle::unwritten(parameters.n(), basis, 2 * keys.len());
        let decomposition = self.decomposed(level, polys, keys);
        for (index, keys) in keys.chunks(AT_ONCE).enumerate() {
            let made = self.baby_steps(level, polys, decomposition.as_ref(), keys, hoisting);
            rotations.set(2 * AT_ONCE * index, &made.into_iter().flatten().collect::<Vec<_>>());
        }
        rotations
    }

    fn baby_step(
        &self,
        polys: &[Poly],
        decomposition: &Decomposition<'_>,
        (element, key): (usize, &SwitchingKey),
        hoisting: Hoisting,
    ) -> [Poly; 2] {
        let parameters = &self.parameters;
        match hoisting {
            Hoisting::Double => {
                let automorphism = Automorphism::new(parameters.log_n(), element);
                decomposition.switch_then_permute(parameters, key, &polys[0], &automorphism)
            }
            Hoisting::Single => self.applied(polys, decomposition, (element, key)),
        }
    }

    /// For every giant step the sum of its diagonals times the baby rotations.
    pub(crate) fn inner_sums(&self, giants: &[Giant], babies: &Bundle) -> Vec<[Poly; 2]> {
        let ring = self.parameters.ring();
        let block = BLOCK.min(ring.n());
        self.sums_by_prime(babies.basis(), giants, |position, mut row| {
            let rotations = babies.limb(position).chunks_exact(block * babies.count());
            for (index, rotations) in rotations.enumerate() {
                sum_block(ring, position, giants, index * block, rotations, &mut row);
            }
        })
    }

    /// [`Self::inner_sums`] of [`Self::bundled_baby_steps`], in the fastest order for all giant
    /// steps together.
    pub(crate) fn sums_of_diagonals(
        &self,
        level: usize,
        polys: &[Poly],
        keys: &[Step<'_>],
        giants: &[Giant],
        hoisting: Hoisting,
    ) -> Vec<[Poly; 2]> {
        if hoisting == Hoisting::Double && self.parameters.log_n() >= LEAST_LOG_N_BY_PRIME {
            return self.inner_sums_by_prime(level, polys, keys, giants);
        }
        let ring = self.parameters.ring();
        let decomposition = self.decomposed(level, polys, keys);
        let babies = self.baby_steps(level, polys, decomposition.as_ref(), keys, hoisting);
        let basis = self.parameters.basis_of_products(level, hoisting);
        self.sums_by_prime(basis, giants, |position, row| {
            let limbs: Vec<&[u32]> =
                babies.iter().flatten().map(|half| half.limb(position)).collect();
            sum_row(ring, position, giants, &limbs, row);
        })
    }

    /// [`Self::inner_sums`] of [`Self::bundled_baby_steps`], one prime after the other.
    ///
    /// All baby rotations modulo one prime fit a cache; over all primes, in a large ring, they
    /// are some hundred megabytes that would be written and read once more.
    fn inner_sums_by_prime(
        &self,
        level: usize,
        polys: &[Poly],
        keys: &[Step<'_>],
        giants: &[Giant],
    ) -> Vec<[Poly; 2]> {
        let parameters = &self.parameters;
        let ring = parameters.ring();
        let decomposition = mod_up(parameters, level, &polys[1]);
        let rotations = KeyedRotations::new(parameters, level, keys);
        let basis = parameters.extended_basis(level);
        self.sums_by_prime(basis, giants, |position, row| {
            let mut babies = buffers::take(2 * keys.len() * ring.n());
            rotations.write(parameters, &decomposition, polys, position, &mut babies);
            let limbs: Vec<&[u32]> = babies.chunks_exact(ring.n()).collect();
            sum_row(ring, position, giants, &limbs, row);
            buffers::give(babies);
        })
    }

    /// Two polynomials for each giant step, of which `fill` overwrites the limbs of one prime.
    fn sums_by_prime(
        &self,
        basis: &Basis,
        giants: &[Giant],
        fill: impl Fn(usize, Vec<[&mut [u32]; 2]>) + Sync,
    ) -> Vec<[Poly; 2]> {
        let ring = self.parameters.ring();
        let mut sums: Vec<[Poly; 2]> =
            giants.iter().map(|_| [ring.unwritten(basis), ring.unwritten(basis)]).collect();
        // One row a prime: the limbs of all giant steps.
        let mut rows: Vec<Vec<[&mut [u32]; 2]>> = basis.iter().map(|_| Vec::new()).collect();
        for [first, second] in &mut sums {
            let limbs = first.limbs_mut().zip(second.limbs_mut());
            for (row, ((_, first), (_, second))) in rows.iter_mut().zip(limbs) {
                row.push([first, second]);
            }
        }
        let each = parallel::over(rows).zip(parallel::over(basis.positions())).shared();
        each.for_each(|(row, &position)| fill(usize::from(position), row));
        sums
    }

    /// P times the sum of the giant rotations of `sums`, modulo Q P.
    pub(crate) fn giant_steps(
        &self,
        level: usize,
        sums: Vec<[Poly; 2]>,
        keys: &[Step<'_>],
        hoisting: Hoisting,
    ) -> [Poly; 2] {
        let parameters = &self.parameters;
        let ring = parameters.ring();
        let basis = parameters.extended_basis(level);
        let rotated = parallel::over(sums)
            .zip(parallel::over(keys))
            .shared()
            .map(|(sum, key)| self.giant_step(level, sum, key, hoisting));
        let add = |mut a: [Poly; 2], b: [Poly; 2]| {
            a.iter_mut().zip(&b).for_each(|(a, b)| ring.add(a, b));
            a
        };
        rotated.reduce_with(add).unwrap_or_else(|| [ring.zero(basis), ring.zero(basis)])
    }

    fn giant_step(
        &self,
        level: usize,
        sum: [Poly; 2],
        key: &Step<'_>,
        hoisting: Hoisting,
    ) -> [Poly; 2] {
        let parameters = &self.parameters;
        let Some((element, key)) = key else {
            return match hoisting {
                Hoisting::Double => sum,
                Hoisting::Single => sum.map(|half| parameters.multiply_by_special(level, &half)),
            };
        };
        let automorphism = Automorphism::new(parameters.log_n(), *element);
        let [first, second] = sum;
        match hoisting {
            Hoisting::Double => {
                let division = parameters.division_by_special(level);
                let second = division.apply(parameters.ring(), &second);
                let decomposition = mod_up(parameters, level, &second);
                decomposition.switch_sum_then_permute(parameters, key, &first, &automorphism)
            }
            Hoisting::Single => {
                let decomposition = mod_up(parameters, level, &second);
                decomposition.switch_then_permute(parameters, key, &first, &automorphism)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SecretDistribution;
    use crate::chain::{Chain, ChainRequest};
    use crate::core::keys::{EvaluationKeysRequest, SecretKey};
    use crate::ring::automorphism::rotation_element;
    use crate::ring::primes::WORD_BITS;

    #[test]
    fn all_orders_give_the_same_sums() {
        let request = ChainRequest {
            log_n: 8,
            levels: 3,
            scale_bits: 40.0,
            headroom_bits: 10.0,
            digits: Some(2),
            max_log_qp: None,
            avoided: None,
            word_bits: WORD_BITS,
        };
        let chain = Chain::new(&request).unwrap();
        let secret = SecretDistribution::Ternary;
        let parameters = Parameters::new(8, chain, secret, b"test", "test".into()).unwrap();
        let secret = SecretKey::generate(&parameters).unwrap();
        let rotations = [0, 1, 2, 5];
        let request = EvaluationKeysRequest {
            rotations: rotations.map(|rotation| (rotation, 3)).to_vec(),
            ..EvaluationKeysRequest::default()
        };
        let keys = secret.evaluation_keys(&request).unwrap();
        for level in [1, 3] {
            let (polys, _) = secret.encrypt_zero(level, "test").unwrap();
            let steps = keys.steps(&rotations, level, "test").unwrap();
            for hoisting in [Hoisting::Double, Hoisting::Single] {
                // Any polynomials do for diagonals: those of the keys.
                let basis = parameters.basis_of_products(level, hoisting);
                let (element, key) = (rotation_element(8, 1), 3);
                let diagonal = keys.galois_key(element, key, "test", String::new).unwrap();
                let diagonals: Vec<Poly> =
                    (0..2).map(|place| diagonal.first_half(place).restrict(basis)).collect();
                let diagonals = Bundle::new(parameters.n(), basis, &diagonals);
                let giant =
                    |babies: [usize; 2]| Giant::of_different(babies.to_vec(), diagonals.clone());
                let giants = [giant([0, 3]), giant([1, 2])];
                let babies = keys.bundled_baby_steps(level, &polys, &steps, hoisting);
                let expected = keys.inner_sums(&giants, &babies);
                let sums = keys.sums_of_diagonals(level, &polys, &steps, &giants, hoisting);
                assert!(sums == expected);
                if hoisting == Hoisting::Double {
                    assert!(keys.inner_sums_by_prime(level, &polys, &steps, &giants) == expected);
                }
            }
        }
    }
}
