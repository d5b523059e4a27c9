//! Slots to coefficients and back, as products of sparse matrices.
//!
//! The slots of a polynomial are a Fourier transform of its coefficients, folded into n complex
//! numbers c_k + i c_(k+n) (the special transform of Cheon, Kim, Kim, Song 2017). By Cooley and Tukey
//! it is a product of log2 n butterflies, after a reversal of the bits of the positions:
//!
//! ```text
//!   slots = B_n ... B_4 B_2 R c          B_l: of each l positions the first and the second half,
//!                                        x + w y and x - w y; three diagonals, 0 and +-l/2
//! ```
//!
//! R is left out on both sides: between SlotsToCoeffs and CoeffsToSlots the coefficients are in
//! reversed order, where their order does not matter. k butterflies that follow each other make
//! one matrix of at most 2^(k+1) - 1 diagonals, all multiples of one number, of 2^k where the
//! widest is among them (Han, Hhan, Cheon 2019).

use std::ops::Range;

use rustfft::num_complex::Complex64;

use crate::ckks::linear_transform::Diagonals;

/// A matrix by its diagonals, with indices from -n/2 to n/2.
struct Matrix {
    slots: usize,
    diagonals: Diagonals,
}

impl Matrix {
    fn new(slots: usize) -> Self {
        Self { slots, diagonals: Diagonals::new() }
    }

    /// The diagonal that moves slot i + `index` to slot i.
    fn diagonal(&mut self, index: i64) -> &mut Vec<Complex64> {
        let (slots, half) = (self.slots as i64, self.slots as i64 / 2);
        let reduced = (index + half).rem_euclid(slots) - half;
        self.diagonals
            .entry(reduced)
            .or_insert_with(|| system_memory::filled(Complex64::ZERO, slots as usize))
    }

    /// `self` after `first`.
    fn after(&self, first: &Self) -> Self {
        let mut product = Self::new(self.slots);
        for (&left, outer) in &self.diagonals {
            for (&right, inner) in &first.diagonals {
                let moved = inner.iter().cycle().skip(left.rem_euclid(self.slots as i64) as usize);
                let sums = product.diagonal(left + right);
                for ((sum, x), y) in sums.iter_mut().zip(outer).zip(moved) {
                    *sum += x * y;
                }
            }
        }
        product
    }
}

/// The roots of the butterfly of `length`: exp(2 pi i 5^j / 4 length).
fn roots(length: usize) -> Vec<Complex64> {
    let order = 4 * length;
    let powers = std::iter::successors(Some(1), |power| Some(power * 5 % order));
    let angle = |power: usize| std::f64::consts::TAU * power as f64 / order as f64;
    powers.take(length / 2).map(|power| Complex64::cis(angle(power))).collect()
}

/// One butterfly of so many positions each.
fn butterfly(slots: usize, length: usize) -> Matrix {
    let half = length / 2;
    let roots = roots(length);
    let mut matrix = Matrix::new(slots);
    for position in 0..slots {
        let within = position % length;
        if within < half {
            matrix.diagonal(0)[position] += 1.0;
            matrix.diagonal(half as i64)[position] += roots[within];
        } else {
            matrix.diagonal(0)[position] -= roots[within - half];
            matrix.diagonal(-(half as i64))[position] += 1.0;
        }
    }
    matrix
}

/// Its inverse.
fn inverse_butterfly(slots: usize, length: usize) -> Matrix {
    let half = length / 2;
    let roots = roots(length);
    let mut matrix = Matrix::new(slots);
    for position in 0..slots {
        let within = position % length;
        if within < half {
            matrix.diagonal(0)[position] += 0.5;
            matrix.diagonal(half as i64)[position] += 0.5;
        } else {
            let root = roots[within - half].conj() * 0.5;
            matrix.diagonal(0)[position] -= root;
            matrix.diagonal(-(half as i64))[position] += root;
        }
    }
    matrix
}

/// A product of butterflies and how many it is of.
pub(super) struct Factor {
    pub(super) diagonals: Diagonals,
    pub(super) butterflies: usize,
}

/// The product of matrices, of which the first acts first.
fn factor(slots: usize, matrices: impl ExactSizeIterator<Item = Matrix>) -> Factor {
    let butterflies = matrices.len();
    let product = matrices.reduce(|product, next| next.after(&product));
    // One slot is its own coefficients.
    let product = product.unwrap_or_else(|| {
        let mut identity = Matrix::new(slots);
        identity.diagonal(0).fill(Complex64::ONE);
        identity
    });
    Factor { diagonals: product.diagonals, butterflies }
}

/// How the butterflies of so many slots are shared among at most so many factors: evenly, the
/// first ones taking more.
fn shares(slots: usize, factors: usize) -> impl Iterator<Item = Range<usize>> {
    let butterflies = slots.ilog2() as usize;
    let parts = factors.min(butterflies).max(1);
    let ends = move |part: usize| (butterflies * part).div_ceil(parts);
    (0..parts).map(move |part| ends(part)..ends(part + 1))
}

/// What puts values that are in slots into coefficients, in reversed order: the slots of such a
/// polynomial. At most so many factors, the first acting first.
pub(super) fn slots_to_coefficients(slots: usize, factors: usize) -> Vec<Factor> {
    let matrix = |index: usize| butterfly(slots, 2 << index);
    shares(slots, factors).map(|part| factor(slots, part.map(matrix))).collect()
}

/// The inverse of [`slots_to_coefficients`].
pub(super) fn coefficients_to_slots(slots: usize, factors: usize) -> Vec<Factor> {
    let matrix = |index: usize| inverse_butterfly(slots, slots >> index);
    shares(slots, factors).map(|part| factor(slots, part.map(matrix))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::embedding::Embedding;

    fn apply(factors: &[Factor], x: &[Complex64]) -> Vec<Complex64> {
        factors.iter().fold(x.to_vec(), |x, factor| {
            let n = x.len() as i64;
            (0..n)
                .map(|i| {
                    let terms = factor.diagonals.iter();
                    terms
                        .map(|(d, diag)| diag[i as usize] * x[(i + d).rem_euclid(n) as usize])
                        .sum()
                })
                .collect()
        })
    }

    fn reversed(x: &[Complex64]) -> Vec<Complex64> {
        let bits = x.len().ilog2();
        let reverse =
            |i: usize| if bits == 0 { 0 } else { i.reverse_bits() >> (usize::BITS - bits) };
        (0..x.len()).map(|i| x[reverse(i)]).collect()
    }

    fn folded(slots: usize) -> Vec<Complex64> {
        let part = |i: usize| ((i * i + 3 * i) % 17) as f64 / 17.0 - 0.5;
        (0..slots).map(|i| Complex64::new(part(i), part(i + slots))).collect()
    }

    fn distance(a: &[Complex64], b: &[Complex64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
    }

    #[test]
    fn the_product_of_factors_is_the_embedding() {
        for log_slots in 0..8 {
            let slots = 1 << log_slots;
            let folded = folded(slots);
            let coefficients: Vec<f64> =
                folded.iter().map(|c| c.re).chain(folded.iter().map(|c| c.im)).collect();
            let expected = Embedding::new(log_slots as u32 + 1).unwrap();
            let expected = expected.project(&coefficients, slots).unwrap();
            for factors in 1..=4 {
                let values = apply(&slots_to_coefficients(slots, factors), &reversed(&folded));
                assert!(distance(&values, &expected) < 1e-11, "{slots} {factors}");
                let back = apply(&coefficients_to_slots(slots, factors), &values);
                assert!(distance(&back, &reversed(&folded)) < 1e-12, "{slots} {factors}");
            }
        }
    }

    #[test]
    fn factors_are_sparse() {
        let counts = |factors: Vec<Factor>| -> Vec<usize> {
            factors.iter().map(|factor| factor.diagonals.len()).collect()
        };
        assert_eq!(counts(coefficients_to_slots(1 << 11, 3)), [16, 31, 15]);
        assert_eq!(counts(slots_to_coefficients(1 << 11, 3)), [31, 31, 8]);
        assert_eq!(counts(slots_to_coefficients(1 << 4, 9)), [3, 3, 3, 2]);
    }
}
