//! Inner products of limbs: digits against keys, diagonals against rotations.

use super::automorphism::Automorphism;
use super::lanes::{Kernel, LaneModulus, Lanes, Sum, dispatch};
use super::modulus::{LAZY_TERMS, Modulus};

/// Terms of an inner product with two right sides: sum of x * y[0], sum of x * y[1].
///
/// Everything is read tile by tile; one side is in Montgomery form.
pub(crate) trait Terms: Copy {
    /// The number of terms.
    fn count(self) -> usize;
    /// The left factor of a term, at a tile.
    fn left(&self, term: usize, tile: usize) -> &[u32];
    /// Both right factors of a term, at a tile, one after the other.
    fn right(&self, term: usize, tile: usize) -> &[u32];
}

/// Digits of a polynomial against the halves of a key.
#[derive(Clone, Copy)]
pub(crate) struct DigitTerms<'a> {
    /// One limb for each digit.
    pub(crate) digits: &'a [&'a [u32]],
    /// A limb of the key's bundle: two halves for each of its digits.
    pub(crate) key: &'a [u32],
    /// Digits in the key's bundle.
    pub(crate) key_digits: usize,
    /// For each digit, where it stands in the key's bundle.
    pub(crate) places: &'a [usize],
    /// Residues in a tile.
    pub(crate) tile: usize,
}

impl Terms for DigitTerms<'_> {
    #[inline(always)]
    fn count(self) -> usize {
        self.digits.len()
    }

    #[inline(always)]
    fn left(&self, term: usize, tile: usize) -> &[u32] {
        &self.digits[term][tile * self.tile..][..self.tile]
    }

    #[inline(always)]
    fn right(&self, term: usize, tile: usize) -> &[u32] {
        let place = tile * self.key_digits + self.places[term];
        &self.key[2 * place * self.tile..][..2 * self.tile]
    }
}

/// Diagonals against the baby rotations of a ciphertext.
#[derive(Clone, Copy)]
pub(crate) struct DiagonalTerms<'a> {
    /// For each tile, every different diagonal.
    pub(crate) diagonals: &'a [u32],
    /// Different diagonals.
    pub(crate) diagonal_count: usize,
    /// For each diagonal, where it stands among the different ones.
    pub(crate) places: &'a [usize],
    /// For each diagonal, the baby rotation that it multiplies.
    pub(crate) babies: &'a [usize],
    /// For each tile, both halves of every baby rotation.
    pub(crate) rotations: &'a [u32],
    /// Baby rotations.
    pub(crate) baby_count: usize,
    /// Residues in a tile.
    pub(crate) tile: usize,
}

impl Terms for DiagonalTerms<'_> {
    #[inline(always)]
    fn count(self) -> usize {
        self.babies.len()
    }

    #[inline(always)]
    fn left(&self, term: usize, tile: usize) -> &[u32] {
        let place = tile * self.diagonal_count + self.places[term];
        &self.diagonals[place * self.tile..][..self.tile]
    }

    #[inline(always)]
    fn right(&self, term: usize, tile: usize) -> &[u32] {
        let place = tile * self.baby_count + self.babies[term];
        &self.rotations[2 * place * self.tile..][..2 * self.tile]
    }
}

/// The pairs of sums of U vectors of a tile, from vector `at` on.
///
/// U vectors at a time keep the sums in registers while slices are looked up once.
#[inline(always)]
fn sums_at<L: Lanes, T: Terms, const U: usize>(
    lanes: L,
    q: LaneModulus<L>,
    terms: T,
    tile: usize,
    at: usize,
) -> [[L::V; U]; 2] {
    let mut totals = [[lanes.splat(0); U]; 2];
    let mut start = 0;
    while start < terms.count() {
        let end = terms.count().min(start + LAZY_TERMS);
        let mut sums = [[Sum::zero(lanes); U]; 2];
        for term in start..end {
            let x = &lanes.vectors(terms.left(term, tile))[at..at + U];
            let y = lanes.vectors(terms.right(term, tile));
            let (y0, y1) = y.split_at(y.len() / 2);
            let (y0, y1) = (&y0[at..at + U], &y1[at..at + U]);
            for u in 0..U {
                let x_odd = lanes.odd(x[u]);
                sums[0][u] = sums[0][u].add_product(lanes, x[u], x_odd, y0[u], lanes.odd(y0[u]));
                sums[1][u] = sums[1][u].add_product(lanes, x[u], x_odd, y1[u], lanes.odd(y1[u]));
            }
        }
        for half in 0..2 {
            for u in 0..U {
                let sum = q.montgomery(lanes, sums[half][u]);
                let total = &mut totals[half][u];
                *total = if start == 0 { sum } else { q.add(lanes, *total, sum) };
            }
        }
        start = end;
    }
    totals
}

/// A kernel that works on U vectors of a tile at a time.
trait ByVectors {
    /// Residues in a tile.
    fn tile(&self) -> usize;
    fn run_by<L: Lanes, const U: usize>(self, lanes: L);
}

impl<K: ByVectors> Kernel for K {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        match (L::WIDTH, self.tile() / L::WIDTH) {
            (16, 4..) => self.run_by::<L, 4>(lanes),
            (_, 2..) => self.run_by::<L, 2>(lanes),
            _ => self.run_by::<L, 1>(lanes),
        }
    }
}

struct InnerProduct<'a, T> {
    modulus: Modulus,
    terms: T,
    tile: usize,
    sums: [&'a mut [u32]; 2],
}

impl<T: Terms> ByVectors for InnerProduct<'_, T> {
    fn tile(&self) -> usize {
        self.tile
    }

    #[inline(always)]
    fn run_by<L: Lanes, const U: usize>(self, lanes: L) {
        let q = LaneModulus::new(lanes, self.modulus);
        let vectors = self.tile / L::WIDTH;
        let [s0, s1] = self.sums.map(|s| lanes.vectors_mut(s).chunks_exact_mut(vectors));
        for (tile, (s0, s1)) in s0.zip(s1).enumerate() {
            for at in (0..vectors).step_by(U) {
                let [t0, t1] = sums_at::<L, T, U>(lanes, q, self.terms, tile, at);
                s0[at..at + U].copy_from_slice(&t0);
                s1[at..at + U].copy_from_slice(&t1);
            }
        }
    }
}

/// Both sums of `terms`, overwriting `sums`; tiles of `tile` residues.
pub(crate) fn inner_product(
    modulus: Modulus,
    terms: impl Terms,
    tile: usize,
    sums: [&mut [u32]; 2],
) {
    dispatch(InnerProduct { modulus, terms, tile, sums });
}

struct InnerProductThenPermute<'a, T> {
    modulus: Modulus,
    terms: T,
    tile: usize,
    addend: Option<&'a [u32]>,
    automorphism: &'a Automorphism,
    sums: [&'a mut [u32]; 2],
}

impl<T: Terms> ByVectors for InnerProductThenPermute<'_, T> {
    fn tile(&self) -> usize {
        self.tile
    }

    #[inline(always)]
    fn run_by<L: Lanes, const U: usize>(self, lanes: L) {
        let q = LaneModulus::new(lanes, self.modulus);
        let vectors = self.tile / L::WIDTH;
        let patterns = lanes.vectors(&self.automorphism.patterns);
        let [s0, s1] = self.sums.map(|s| lanes.vectors_mut(s));
        let addend = self.addend.map(|limb| lanes.vectors(limb));
        for (index, moves) in self.automorphism.moves.chunks_exact(U).enumerate() {
            let (tile, at) = (index * U / vectors, index * U % vectors);
            let [mut t0, t1] = sums_at::<L, T, U>(lanes, q, self.terms, tile, at);
            if let Some(limb) = addend {
                let limb = &limb[index * U..(index + 1) * U];
                for u in 0..U {
                    t0[u] = q.add(lanes, t0[u], limb[u]);
                }
            }
            for u in 0..U {
                let (target, pattern) = moves[u];
                let pattern = patterns[pattern as usize];
                s0[target as usize] = lanes.permute(t0[u], pattern);
                s1[target as usize] = lanes.permute(t1[u], pattern);
            }
        }
    }
}

/// The sums of `terms`, the first with `addend` added where there is one, moved by
/// `automorphism`.
pub(crate) fn inner_product_then_permute(
    modulus: Modulus,
    terms: impl Terms,
    tile: usize,
    addend: Option<&[u32]>,
    automorphism: &Automorphism,
    sums: [&mut [u32]; 2],
) {
    dispatch(InnerProductThenPermute { modulus, terms, tile, addend, automorphism, sums });
}

struct AddInnerProductPermuted<'a, T> {
    modulus: Modulus,
    terms: T,
    tile: usize,
    addend: Option<&'a [u32]>,
    automorphism: &'a Automorphism,
    to: [&'a mut [u32]; 2],
}

impl<T: Terms> ByVectors for AddInnerProductPermuted<'_, T> {
    fn tile(&self) -> usize {
        self.tile
    }

    #[inline(always)]
    fn run_by<L: Lanes, const U: usize>(self, lanes: L) {
        let q = LaneModulus::new(lanes, self.modulus);
        let vectors = self.tile / L::WIDTH;
        let patterns = lanes.vectors(&self.automorphism.patterns);
        let [to0, to1] = self.to.map(|to| lanes.vectors_mut(to));
        let addend = self.addend.map(|limb| lanes.vectors(limb));
        for (index, moves) in self.automorphism.moves.chunks_exact(U).enumerate() {
            let (tile, at) = (index * U / vectors, index * U % vectors);
            let [mut t0, t1] = sums_at::<L, T, U>(lanes, q, self.terms, tile, at);
            if let Some(limb) = addend {
                let limb = &limb[index * U..(index + 1) * U];
                for u in 0..U {
                    t0[u] = q.add(lanes, t0[u], limb[u]);
                }
            }
            for u in 0..U {
                let (target, pattern) = moves[u];
                let pattern = patterns[pattern as usize];
                let first = lanes.permute(t0[u], pattern);
                let second = lanes.permute(t1[u], pattern);
                let (to0, to1) = (&mut to0[target as usize], &mut to1[target as usize]);
                *to0 = q.add(lanes, *to0, first);
                *to1 = q.add(lanes, *to1, second);
            }
        }
    }
}

/// Adds to `to` the sums of `terms`, the first with `addend` added where there is one, moved by
/// `automorphism`.
pub(crate) fn add_inner_product_permuted(
    modulus: Modulus,
    terms: impl Terms,
    tile: usize,
    addend: Option<&[u32]>,
    automorphism: &Automorphism,
    to: [&mut [u32]; 2],
) {
    dispatch(AddInnerProductPermuted { modulus, terms, tile, addend, automorphism, to });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::automorphism::rotation_element;
    use crate::ring::kernels;
    use crate::ring::kernels::tests::{N, moduli, residues};

    const TILE: usize = 64;

    #[test]
    fn inner_products_sum_every_term() {
        let automorphism = Automorphism::new(7, rotation_element(7, 3));
        for q in moduli() {
            for count in [1, 3, LAZY_TERMS, LAZY_TERMS + 2, 30] {
                let digits: Vec<Vec<u32>> = (0..count).map(|i| residues(q, i as u64, N)).collect();
                let digits: Vec<&[u32]> = digits.iter().map(Vec::as_slice).collect();
                let key = residues(q, 99, 2 * count * N);
                let places: Vec<usize> = (0..count).rev().collect();
                let terms = DigitTerms {
                    digits: &digits,
                    key: &key,
                    key_digits: count,
                    places: &places,
                    tile: TILE,
                };
                let mut sums = [vec![0; N], vec![0; N]];
                let [s0, s1] = &mut sums;
                inner_product(q, terms, TILE, [s0, s1]);
                for (half, sums) in sums.iter().enumerate() {
                    for (i, &found) in sums.iter().enumerate() {
                        let at = |place: usize| {
                            (2 * (i / TILE * count + place) + half) * TILE + i % TILE
                        };
                        let term = |d: usize| q.mul(digits[d][i], key[at(places[d])]);
                        let sum = (0..count).fold(0, |sum, d| q.add(sum, term(d)));
                        assert_eq!(found, q.mul(sum, q.inv(q.r)));
                    }
                }
                let addend = residues(q, 5, N);
                let before = [residues(q, 6, N), residues(q, 7, N)];
                let mut added = before.clone();
                let [a0, a1] = &mut added;
                let one = Some(addend.as_slice());
                add_inner_product_permuted(q, terms, TILE, one, &automorphism, [a0, a1]);
                for (half, (before, added)) in before.iter().zip(&added).enumerate() {
                    let mut expected = sums[half].clone();
                    if half == 0 {
                        kernels::add(q, &mut expected, &addend);
                    }
                    let mut permuted = vec![0; N];
                    kernels::permute(&automorphism, &expected, &mut permuted);
                    kernels::add(q, &mut permuted, before);
                    assert_eq!(*added, permuted);
                }
                let mut moved = [vec![0; N], vec![0; N]];
                let [m0, m1] = &mut moved;
                inner_product_then_permute(q, terms, TILE, one, &automorphism, [m0, m1]);
                kernels::add(q, &mut sums[0], &addend);
                let mut expected = vec![0; N];
                for (sums, moved) in sums.iter().zip(&moved) {
                    kernels::permute(&automorphism, sums, &mut expected);
                    assert_eq!(*moved, expected);
                }
            }
        }
    }
}
