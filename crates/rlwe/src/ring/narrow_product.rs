//! Exact products of narrow matrices of residues, word by word.
//!
//! Of matrices of a few rows the tiles of `matrix_product` would be mostly empty. Here one entry of
//! many matrices lies after the other, the h-th rows of all of them together, and every row of the
//! left operand meets every row of the right one:
//!
//! ```text
//!   sums[t][x][y][h] += left[x][h + t mod d] right[y][h]
//! ```
//!
//! in 64 bits. A sum that starts at a residue and takes in `terms` products of residues up to q - 1
//! is exact as long as terms (q - 1)^2 + q < 2^64: 65536 terms at 24 bits, 16 at 30.

use super::matrix_product::{Instructions, TileKernel};
use super::modulus::Modulus;

/// Pieces of the two polynomials of a left and of a right ciphertext.
pub(crate) struct Pair<'a> {
    pub(crate) left: [&'a [u32]; 2],
    pub(crate) right: [&'a [u32]; 2],
}

/// Products modulo a prime.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NarrowProduct {
    instructions: Instructions,
    modulus: Modulus,
    terms: usize,
}

impl NarrowProduct {
    pub(crate) fn new(instructions: Instructions, modulus: Modulus) -> Self {
        let (q, largest) = (u64::from(modulus.q), u64::from(modulus.q - 1));
        Self { instructions, modulus, terms: ((u64::MAX - q) / (largest * largest)) as usize }
    }

    /// Writes the residues of the sums over all pairs, for each of `rotations` and each two
    /// polynomials as many as a piece has words.
    ///
    /// `order` says which word of a piece comes at each place: the h-th words of all matrices for
    /// h = 0, then for h = 1, and so on up to the rotations.
    pub(crate) fn sums<'a>(
        self,
        pairs: impl Iterator<Item = Pair<'a>>,
        order: &[u32],
        rotations: usize,
        to: &mut [u32],
    ) {
        let mut sums = system_memory::filled(0u64, 4 * rotations * order.len());
        self.instructions.run(AddPairs { product: self, pairs, order, rotations, sums: &mut sums });
        self.write_residues(&sums, to);
    }

    /// [`Self::sums`] of one rotation, for which all words stay in place.
    pub(crate) fn sums_in_place<'a>(
        self,
        pairs: impl Iterator<Item = Pair<'a>>,
        words: usize,
        to: &mut [u32],
    ) {
        let mut sums = system_memory::filled(0u64, 4 * words);
        self.instructions.run(AddInPlace { product: self, pairs, words, sums: &mut sums });
        self.write_residues(&sums, to);
    }

    fn write_residues(self, sums: &[u64], to: &mut [u32]) {
        assert_eq!(to.len(), sums.len(), "a residue for each sum");
        self.instructions.run(Residues { modulus: self.modulus, sums, to });
    }
}

/// Residues of 64-bit numbers, without a division.
struct Residues<'a> {
    modulus: Modulus,
    sums: &'a [u64],
    to: &'a mut [u32],
}

impl TileKernel for Residues<'_> {
    #[inline(always)]
    fn run<S: pulp::Simd, const R: usize, const V: usize>(self, _: S) {
        let Self { modulus, sums, to } = self;
        // A number is h 2^32 + l; Montgomery's products divide by 2^32.
        let (r, r_squared) = (modulus.r, modulus.to_montgomery(modulus.r));
        for (to, &sum) in to.iter_mut().zip(sums) {
            let upper = modulus.mul_montgomery((sum >> 32) as u32, r_squared);
            *to = modulus.add(upper, modulus.mul_montgomery(sum as u32, r));
        }
    }
}

struct AddPairs<'s, I> {
    product: NarrowProduct,
    pairs: I,
    order: &'s [u32],
    rotations: usize,
    sums: &'s mut [u64],
}

impl<'a, I: Iterator<Item = Pair<'a>>> TileKernel for AddPairs<'_, I> {
    #[inline(always)]
    fn run<S: pulp::Simd, const R: usize, const V: usize>(self, _: S) {
        let Self { product, pairs, order, rotations, sums } = self;
        let words = order.len();
        let row = words / rotations;
        let mut ordered = system_memory::filled(0, 4 * words);
        for (index, pair) in pairs.enumerate() {
            if index > 0 && index.is_multiple_of(product.terms) {
                sums.iter_mut().for_each(|sum| *sum = u64::from(product.modulus.reduce(*sum)));
            }
            let polys = pair.left.into_iter().chain(pair.right);
            for (to, from) in ordered.chunks_exact_mut(words).zip(polys) {
                for (to, &place) in to.iter_mut().zip(order) {
                    *to = from[place as usize];
                }
            }
            let (lefts, rights) = ordered.split_at(2 * words);
            let mut rows = sums.chunks_exact_mut(words);
            for turned in (0..words).step_by(row) {
                for left in lefts.chunks_exact(words) {
                    let (before, after) = left.split_at(turned);
                    for right in rights.chunks_exact(words) {
                        let sums = rows.next().expect("four pieces for each rotation");
                        let (sums_after, sums_before) = sums.split_at_mut(words - turned);
                        let (right_after, right_before) = right.split_at(words - turned);
                        add_products(after, right_after, sums_after);
                        add_products(before, right_before, sums_before);
                    }
                }
            }
        }
    }
}

/// Adds the products of pairs word for word, of two pairs at once: sums are read half as often.
struct AddInPlace<'s, I> {
    product: NarrowProduct,
    pairs: I,
    words: usize,
    sums: &'s mut [u64],
}

impl<'a, I: Iterator<Item = Pair<'a>>> TileKernel for AddInPlace<'_, I> {
    #[inline(always)]
    fn run<S: pulp::Simd, const R: usize, const V: usize>(self, _: S) {
        let Self { product, mut pairs, words, sums } = self;
        let mut terms = 0;
        while let Some(first) = pairs.next() {
            let second = pairs.next();
            let more = 1 + usize::from(second.is_some());
            if terms + more > product.terms {
                sums.iter_mut().for_each(|sum| *sum = u64::from(product.modulus.reduce(*sum)));
                terms = 0;
            }
            terms += more;
            for (index, sums) in sums.chunks_exact_mut(words).enumerate() {
                let (left, right) = (index / 2, index % 2);
                match &second {
                    Some(second) => add_two_products(
                        [first.left[left], second.left[left]],
                        [first.right[right], second.right[right]],
                        sums,
                    ),
                    None => add_products(first.left[left], first.right[right], sums),
                }
            }
        }
    }
}

#[inline(always)]
fn add_two_products(left: [&[u32]; 2], right: [&[u32]; 2], sums: &mut [u64]) {
    let ([a, b], [x, y]) = (left, right);
    for ((((sum, &a), &b), &x), &y) in sums.iter_mut().zip(a).zip(b).zip(x).zip(y) {
        *sum += u64::from(a) * u64::from(x) + u64::from(b) * u64::from(y);
    }
}

#[inline(always)]
fn add_products(left: &[u32], right: &[u32], sums: &mut [u64]) {
    for ((sum, &x), &y) in sums.iter_mut().zip(left).zip(right) {
        *sum += u64::from(x) * u64::from(y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four matrices of two rows, all words of a side alike but the first.
    fn check(q: u32, terms: usize, x: u32, y: u32) {
        let left: Vec<u32> = (0..8).map(|place| if place == 0 { x } else { q - 1 - x }).collect();
        let right = vec![y; 8];
        // One matrix after the other.
        let order = [0, 2, 4, 6, 1, 3, 5, 7];
        for instructions in Instructions::all() {
            let product = NarrowProduct::new(instructions, Modulus::new(q));
            let pairs = (0..terms).map(|_| Pair { left: [&left; 2], right: [&right; 2] });
            let mut found = vec![u32::MAX; 64];
            product.sums(pairs, &order, 2, &mut found);
            for (place, &sum) in found.iter().enumerate() {
                let (rotation, word) = (place / 32, place % 8);
                let met = order[(word + 4 * rotation) % 8] as usize;
                let factor = u128::from(left[met]) * u128::from(y);
                let expected = factor * terms as u128 % u128::from(q);
                assert_eq!(u128::from(sum), expected, "{q} {terms} {x} {y} {place}");
            }
        }
    }

    /// The same of matrices of one row.
    fn check_single(q: u32, terms: usize, x: u32, y: u32) {
        let left: Vec<u32> = (0..8).map(|place| if place == 0 { x } else { q - 1 - x }).collect();
        let right = vec![y; 8];
        for instructions in Instructions::all() {
            let product = NarrowProduct::new(instructions, Modulus::new(q));
            let pairs = (0..terms).map(|_| Pair { left: [&left; 2], right: [&right; 2] });
            let mut found = vec![u32::MAX; 32];
            product.sums_in_place(pairs, 8, &mut found);
            for (place, &sum) in found.iter().enumerate() {
                let factor = u128::from(left[place % 8]) * u128::from(y);
                let expected = factor * terms as u128 % u128::from(q);
                assert_eq!(u128::from(sum), expected, "{q} {terms} {x} {y} {place}");
            }
        }
    }

    #[test]
    fn extreme_residues_are_exact_at_the_bound_and_above() {
        for bits in [14, 20, 24, 26, 30] {
            // Odd; nothing here takes a prime.
            let q: u32 = (1 << bits) - 1;
            let bound = NarrowProduct::new(Instructions::Plain, Modulus::new(q)).terms;
            for terms in [1, 2, bound.min(70_000), bound.min(70_000) + 1, 33] {
                for [x, y] in [[q - 1, q - 1], [q - 1, 1], [0, q - 1], [q / 2, q / 2 + 1]] {
                    check(q, terms, x, y);
                    check_single(q, terms, x, y);
                }
            }
        }
    }

    #[test]
    fn no_more_terms_would_be_exact() {
        for q in [(1u32 << 24) - 3, (1 << 30) - 35] {
            let terms = NarrowProduct::new(Instructions::Plain, Modulus::new(q)).terms as u128;
            let reached = |terms: u128| terms * u128::from(q - 1).pow(2) + u128::from(q);
            assert!(reached(terms) < 1 << 64 && reached(terms + 1) >= 1 << 64);
        }
    }
}
