//! Sums of diagonals times rotations, the rotations of either step sharing what they can: the
//! hot path of linear transforms in every scheme.

use rayon::prelude::*;

use crate::key_switching::decompose;
use crate::keys::EvaluationKeys;
use crate::parallel::Shared;
use crate::ring::automorphism::Automorphism;
use crate::ring::buffers;
use crate::ring::bundle::{Bundle, TILE};
use crate::ring::inner_products::{self, DiagonalTerms};
use crate::ring::poly::Poly;
use crate::rotation::Step;

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
        let decomposition = decompose(parameters, level, &polys[1]);
        keys.par_iter()
            .shared()
            .map(|key| match key {
                Some((element, key)) => {
                    let automorphism = Automorphism::new(parameters.log_n(), *element);
                    decomposition.switch_then_permute(parameters, key, &polys[0], &automorphism)
                }
                None => [0, 1].map(|i| parameters.special_multiple(level, &polys[i])),
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
        rows.into_par_iter().zip(basis.positions()).shared().for_each(|(mut row, &position)| {
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
        });
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
        let rotated = sums.into_par_iter().zip(keys).shared().map(|(sum, key)| match key {
            Some((element, key)) => {
                let automorphism = Automorphism::new(parameters.log_n(), *element);
                let [first, second] = sum;
                let second = parameters.division_by_special(level).apply(ring, &second);
                let decomposition = decompose(parameters, level, &second);
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
