//! Many sums of multiples of the same polynomials: modulo each prime one product of matrices, the
//! multiples by the words of all polynomials.

use rayon::prelude::*;

use super::matrix_product::{Instructions, MatrixProduct};
use super::modulus::Modulus;
use super::poly::{Basis, Poly, Ring};
use super::tiles::{DEPTH, Operand, Panel, Total};
use crate::parallel;

/// Sums that a thread holds while it works: they and a panel stay in the second-level cache.
const SUMS_AT_ONCE: usize = 1 << 16;
/// Words of a limb that are worked on together, at most.
const MOST_WORDS: usize = 1 << 11;

/// What polynomials are multiplied by, as many for each sum as there are polynomials.
pub(crate) struct Weights<'a, F> {
    pub(crate) sums: usize,
    pub(crate) terms: usize,
    /// The residue of one, by modulus, sum and term.
    pub(crate) residue: &'a F,
}

impl<F: Fn(Modulus, usize, usize) -> u32 + Sync> Weights<'_, F> {
    /// Packed for products modulo one prime, [`DEPTH`] terms in each.
    fn packed(&self, product: MatrixProduct, modulus: Modulus) -> Vec<Panel> {
        let starts: Vec<usize> = (0..self.terms).step_by(DEPTH).collect();
        let panels = parallel::over(starts).shared().map(|start| {
            let terms = start..self.terms.min(start + DEPTH);
            let residues: Vec<Vec<u32>> = terms
                .map(|term| (0..self.sums).map(|sum| (self.residue)(modulus, sum, term)).collect())
                .collect();
            let mut panel = product.left_panel(1, self.sums);
            let residues: Vec<_> =
                residues.iter().map(|residues| Operand::Plain(residues)).collect();
            product.pack(&mut panel, 0, &residues);
            panel
        });
        panels.collect()
    }
}

/// The sums over `basis`, each of as many polynomials as a term has.
///
/// Terms have as many polynomials each, one or more, over bases that include this one.
pub(crate) fn weighted_sums<F: Fn(Modulus, usize, usize) -> u32 + Sync>(
    ring: &Ring,
    basis: &Basis,
    weights: &Weights<'_, F>,
    terms: &[&[Poly]],
) -> Vec<Vec<Poly>> {
    weighted_sums_with(Instructions::widest(), ring, basis, weights, terms)
}

fn weighted_sums_with<'a, F: Fn(Modulus, usize, usize) -> u32 + Sync>(
    instructions: Instructions,
    ring: &Ring,
    basis: &Basis,
    weights: &Weights<'_, F>,
    terms: &[&'a [Poly]],
) -> Vec<Vec<Poly>> {
    let polys = terms[0].len();
    let unwritten = || (0..polys).map(|_| ring.unwritten(basis)).collect();
    let mut sums: Vec<Vec<Poly>> = (0..weights.sums).map(|_| unwritten()).collect();
    let tile = instructions.tile().1;
    let width = (SUMS_AT_ONCE / weights.sums).next_multiple_of(tile).clamp(tile, MOST_WORDS);
    // By position, then by polynomial, the limbs of all sums.
    let mut limbs: Vec<Vec<Vec<&mut [u32]>>> =
        basis.iter().map(|_| (0..polys).map(|_| Vec::new()).collect()).collect();
    for sum in &mut sums {
        for (poly, written) in sum.iter_mut().enumerate() {
            for (place, (_, limb)) in written.limbs_mut().enumerate() {
                limbs[place][poly].push(limb);
            }
        }
    }
    for (position, limbs) in basis.iter().zip(limbs) {
        let modulus = ring.modulus(position);
        let product = MatrixProduct::new(instructions, modulus);
        let panels = weights.packed(product, modulus);
        let tasks: Vec<(usize, usize, Vec<&mut [u32]>)> = limbs
            .into_iter()
            .enumerate()
            .flat_map(|(poly, limbs)| {
                pieces(limbs, width).enumerate().map(move |(piece, to)| (poly, piece * width, to))
            })
            .collect();
        parallel::over(tasks).shared().for_each(|(poly, start, to)| {
            let length = to[0].len();
            let piece = |polys: &&'a [Poly]| {
                Operand::Plain(&polys[poly].limb(position)[start..start + length])
            };
            let words: Vec<Operand<'a>> = terms.iter().map(piece).collect();
            write_sums(product, &panels, &words, to);
        });
    }
    sums
}

/// The limbs of all sums, cut at the same words.
fn pieces(limbs: Vec<&mut [u32]>, width: usize) -> impl Iterator<Item = Vec<&mut [u32]>> {
    let mut cut: Vec<_> = limbs.into_iter().map(|limb| limb.chunks_mut(width)).collect();
    std::iter::from_fn(move || cut.iter_mut().map(Iterator::next).collect())
}

/// Writes one piece of all sums, given the same piece of all terms.
fn write_sums(
    product: MatrixProduct,
    weights: &[Panel],
    terms: &[Operand<'_>],
    to: Vec<&mut [u32]>,
) {
    let (rows, width) = (to.len(), to[0].len());
    let mut sums = product.sums(1, rows, width);
    let mut panel = product.right_panel(1, width);
    let mut done = 0;
    for (weights, terms) in weights.iter().zip(terms.chunks(DEPTH)) {
        product.pack(&mut panel, 0, terms);
        product.add_products(weights, &panel, terms.len(), &mut sums);
        done += terms.len();
        if done.is_multiple_of(product.most_terms()) {
            product.reduce(&mut sums);
        }
    }
    let total = Total::of(&sums);
    let tile = product.tile_columns();
    let places: Vec<u32> = (0..rows as u32).collect();
    let mut column = system_memory::filled(0, rows * tile);
    let mut left: Vec<_> = to.into_iter().map(|piece| piece.chunks_mut(tile)).collect();
    for index in 0..width.div_ceil(tile) {
        product.residues(&total, (0, index), &places, &mut column);
        for (row, left) in column.chunks_exact(tile).zip(&mut left) {
            let to = left.next().expect("as many tiles as a piece has");
            to.copy_from_slice(&row[..to.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::primes::ntt_primes;

    fn check(log_n: u32, sums: usize, terms: usize, residue: fn(Modulus, usize, usize) -> u32) {
        let short = ntt_primes(log_n, 1 << 23..1 << 24).rev().take(2);
        let long = ntt_primes(log_n, 1 << 29..1 << 30).rev().take(1);
        let primes: Vec<u32> = short.chain(long).map(|q| q as u32).collect();
        let ring = Ring::new(log_n, &primes).unwrap();
        let whole = Basis::new(0..3);
        let lists: Vec<[Poly; 2]> = (0..terms)
            .map(|term| {
                [0, 1].map(|poly| {
                    let mut made = ring.unwritten(&whole);
                    for (position, limb) in made.limbs_mut() {
                        let q = ring.modulus(position);
                        for (place, word) in limb.iter_mut().enumerate() {
                            *word = residue(q, place + poly, term);
                        }
                    }
                    made
                })
            })
            .collect();
        let lists: Vec<&[Poly]> = lists.iter().map(|polys| &polys[..]).collect();
        let weight = |q: Modulus, sum: usize, term: usize| residue(q, 7 * sum, term);
        let weights = Weights { sums, terms, residue: &weight };
        for basis in [Basis::new([0, 2]), whole] {
            let by_definition = |sum: usize, poly: usize| {
                let mut expected = ring.zero(&basis);
                for (term, list) in lists.iter().enumerate() {
                    ring.add_scaled(&mut expected, &list[poly], |q| weight(q, sum, term));
                }
                expected
            };
            let expected: Vec<Vec<Poly>> =
                (0..sums).map(|sum| vec![by_definition(sum, 0), by_definition(sum, 1)]).collect();
            for instructions in Instructions::all() {
                let found = weighted_sums_with(instructions, &ring, &basis, &weights, &lists);
                assert!(found == expected, "{log_n} {sums} {terms} {instructions:?}");
            }
        }
    }

    fn mixed(q: Modulus, place: usize, term: usize) -> u32 {
        q.reduce((place as u64 + 3).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(term as u32))
    }

    #[test]
    fn sums_are_those_of_the_definition() {
        for (log_n, sums, terms) in
            [(5, 1, 1), (6, 3, 2), (6, 9, DEPTH), (7, 33, DEPTH + 1), (12, 40, 5)]
        {
            check(log_n, sums, terms, mixed);
        }
    }

    #[test]
    fn extreme_residues_are_exact() {
        for terms in [DEPTH, 2 * DEPTH + 1] {
            check(5, 9, terms, |q, _, _| q.q - 1);
            check(5, 9, terms, |q, _, _| q.q / 2);
            check(5, 9, terms, |q, place, term| q.q / 2 + ((place + term) % 2) as u32);
        }
    }
}
