//! Baby-step giant-step: how the diagonals of a linear transform are split into rotations, and
//! the sums of diagonals times rotations. The hot path of linear transforms in every scheme.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::automorphism::Step;
use super::key_switching::mod_up;
use super::keys::EvaluationKeys;
use crate::parallel;
use crate::ring::automorphism::Automorphism;
use crate::ring::buffers;
use crate::ring::bundle::{Bundle, TILE};
use crate::ring::inner_products::{self, DiagonalTerms};
use crate::ring::poly::Poly;

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

    /// The rotations that need a Galois key.
    pub fn rotations(&self) -> Vec<i64> {
        let steps: BTreeSet<i64> =
            self.baby_steps.iter().chain(&self.giant_steps).copied().filter(|&k| k != 0).collect();
        steps.into_iter().collect()
    }
}

/// What a giant step costs, in baby steps.
const GIANT_COST: usize = 3;

/// Coefficients worked on together: a block of every baby step fits the second-level cache.
const BLOCK: usize = 1024;

/// The diagonals of one giant step, rotated back by it.
#[derive(Clone)]
pub(crate) struct Giant {
    /// For each diagonal, the position of its baby step.
    pub(crate) babies: Vec<usize>,
    /// Over Q P, in Montgomery form.
    pub(crate) diagonals: Bundle,
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

impl EvaluationKeys {
    /// P times every baby rotation of a ciphertext, modulo Q P.
    pub(crate) fn baby_steps(
        &self,
        level: usize,
        polys: &[Poly],
        keys: &[Step<'_>],
    ) -> Vec<[Poly; 2]> {
        let parameters = &self.parameters;
        let decomposition = mod_up(parameters, level, &polys[1]);
        parallel::over(keys)
            .shared()
            .map(|key| match key {
                Some((element, key)) => {
                    let automorphism = Automorphism::new(parameters.log_n(), *element);
                    decomposition.switch_then_permute(parameters, key, &polys[0], &automorphism)
                }
                None => [0, 1].map(|i| parameters.multiply_by_special(level, &polys[i])),
            })
            .collect()
    }

    /// For every giant step the sum of its diagonals times the baby rotations.
    pub(crate) fn inner_sums(
        &self,
        level: usize,
        giants: &[Giant],
        babies: &[[Poly; 2]],
    ) -> Vec<[Poly; 2]> {
        let ring = self.parameters.ring();
        let basis = self.parameters.extended_basis(level);
        let mut sums: Vec<[Poly; 2]> =
            giants.iter().map(|_| [ring.unwritten(basis), ring.unwritten(basis)]).collect();
        // One row a prime: the limbs of all giant steps, filled block by block so that the
        // baby rotations are read from memory once.
        let mut rows: Vec<Vec<[&mut [u32]; 2]>> = basis.iter().map(|_| Vec::new()).collect();
        for [first, second] in &mut sums {
            let limbs = first.limbs_mut().zip(second.limbs_mut());
            for (row, ((_, first), (_, second))) in rows.iter_mut().zip(limbs) {
                row.push([first, second]);
            }
        }
        parallel::over(rows).zip(parallel::over(basis.positions())).shared().for_each(
            |(mut row, &position)| {
                let position = usize::from(position);
                let modulus = ring.modulus(position);
                let limbs: Vec<&[u32]> =
                    babies.iter().flatten().map(|half| half.limb(position)).collect();
                let (block, tile) = (BLOCK.min(ring.n()), TILE.min(ring.n()));
                let mut rotations = buffers::take(limbs.len() * block);
                for start in (0..ring.n()).step_by(block) {
                    interleave(&limbs, start, tile, &mut rotations);
                    for (giant, [first, second]) in giants.iter().zip(&mut row) {
                        let count = giant.babies.len();
                        let terms = DiagonalTerms {
                            diagonals: &giant.diagonals.limb(position)[start * count..]
                                [..block * count],
                            babies: &giant.babies,
                            rotations: &rotations,
                            baby_count: babies.len(),
                            tile,
                        };
                        let span = start..start + block;
                        let sums = [&mut first[span.clone()], &mut second[span]];
                        inner_products::inner_product(modulus, terms, tile, sums);
                    }
                }
                buffers::give(rotations);
            },
        );
        sums
    }

    /// The sum of the giant rotations of `sums`, modulo Q P.
    pub(crate) fn giant_steps(
        &self,
        level: usize,
        sums: Vec<[Poly; 2]>,
        keys: &[Step<'_>],
    ) -> [Poly; 2] {
        let parameters = &self.parameters;
        let ring = parameters.ring();
        let basis = parameters.extended_basis(level);
        let rotated =
            parallel::over(sums).zip(parallel::over(keys)).shared().map(|(sum, key)| match key {
                Some((element, key)) => {
                    let automorphism = Automorphism::new(parameters.log_n(), *element);
                    let [first, second] = sum;
                    let second = parameters.division_by_special(level).apply(ring, &second);
                    let decomposition = mod_up(parameters, level, &second);
                    decomposition.switch_sum_then_permute(parameters, key, &first, &automorphism)
                }
                None => sum,
            });
        let add = |mut a: [Poly; 2], b: [Poly; 2]| {
            a.iter_mut().zip(&b).for_each(|(a, b)| ring.add(a, b));
            a
        };
        rotated.reduce_with(add).unwrap_or_else(|| [ring.zero(basis), ring.zero(basis)])
    }
}
