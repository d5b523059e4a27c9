//! The loops over residues of one limb. All slices of a call have the length of
//! the ring degree or of one block of it, a multiple of the lane width.

use super::automorphism::Automorphism;
use super::lanes::{Kernel, LaneModulus, Lanes, Sum, dispatch};
use super::modulus::{LAZY_TERMS, Modulus};

struct Binary<'a, F> {
    modulus: Modulus,
    a: &'a mut [u32],
    b: &'a [u32],
    operation: F,
}

/// An operation on two residues; a trait, since a closure cannot be generic over lanes.
trait BinaryOperation: Copy {
    fn apply<L: Lanes>(self, lanes: L, q: LaneModulus<L>, a: L::V, b: L::V) -> L::V;
}

impl<F: BinaryOperation> Kernel for Binary<'_, F> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let q = LaneModulus::new(lanes, self.modulus);
        for (a, b) in lanes.vectors_mut(self.a).iter_mut().zip(lanes.vectors(self.b)) {
            *a = self.operation.apply(lanes, q, *a, *b);
        }
    }
}

#[derive(Clone, Copy)]
struct Add;
impl BinaryOperation for Add {
    #[inline(always)]
    fn apply<L: Lanes>(self, lanes: L, q: LaneModulus<L>, a: L::V, b: L::V) -> L::V {
        q.add(lanes, a, b)
    }
}

#[derive(Clone, Copy)]
struct Sub;
impl BinaryOperation for Sub {
    #[inline(always)]
    fn apply<L: Lanes>(self, lanes: L, q: LaneModulus<L>, a: L::V, b: L::V) -> L::V {
        q.sub(lanes, a, b)
    }
}

#[derive(Clone, Copy)]
struct Mul;
impl BinaryOperation for Mul {
    #[inline(always)]
    fn apply<L: Lanes>(self, lanes: L, q: LaneModulus<L>, a: L::V, b: L::V) -> L::V {
        let sum = Sum::zero(lanes).add_product(lanes, a, lanes.odd(a), b, lanes.odd(b));
        q.barrett(lanes, sum)
    }
}

#[derive(Clone, Copy)]
struct MulMontgomery;
impl BinaryOperation for MulMontgomery {
    #[inline(always)]
    fn apply<L: Lanes>(self, lanes: L, q: LaneModulus<L>, a: L::V, b: L::V) -> L::V {
        q.mul_montgomery(lanes, a, b)
    }
}

/// a + b * constant, the constant in Montgomery form.
#[derive(Clone, Copy)]
struct AddScaled {
    constant: u32,
}
impl BinaryOperation for AddScaled {
    #[inline(always)]
    fn apply<L: Lanes>(self, lanes: L, q: LaneModulus<L>, a: L::V, b: L::V) -> L::V {
        q.add(lanes, a, q.mul_montgomery(lanes, b, lanes.splat(self.constant)))
    }
}

/// a += b.
pub(crate) fn add(modulus: Modulus, a: &mut [u32], b: &[u32]) {
    dispatch(Binary { modulus, a, b, operation: Add });
}

/// a -= b.
pub(crate) fn sub(modulus: Modulus, a: &mut [u32], b: &[u32]) {
    dispatch(Binary { modulus, a, b, operation: Sub });
}

/// a *= b.
pub(crate) fn mul(modulus: Modulus, a: &mut [u32], b: &[u32]) {
    dispatch(Binary { modulus, a, b, operation: Mul });
}

/// a *= b, b in Montgomery form.
pub(crate) fn mul_montgomery(modulus: Modulus, a: &mut [u32], b: &[u32]) {
    dispatch(Binary { modulus, a, b, operation: MulMontgomery });
}

/// a += b * constant, the constant in Montgomery form.
pub(crate) fn add_scaled(modulus: Modulus, a: &mut [u32], b: &[u32], constant: u32) {
    dispatch(Binary { modulus, a, b, operation: AddScaled { constant } });
}

struct Scale<'a> {
    modulus: Modulus,
    a: &'a mut [u32],
    constant: u32,
}

impl Kernel for Scale<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let q = LaneModulus::new(lanes, self.modulus);
        let constant = lanes.splat(self.constant);
        for a in lanes.vectors_mut(self.a) {
            *a = q.mul_montgomery(lanes, *a, constant);
        }
    }
}

/// a *= constant, the constant in Montgomery form.
pub(crate) fn scale(modulus: Modulus, a: &mut [u32], constant: u32) {
    dispatch(Scale { modulus, a, constant });
}

struct AddConstant<'a> {
    modulus: Modulus,
    a: &'a mut [u32],
    constant: u32,
}

impl Kernel for AddConstant<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let q = LaneModulus::new(lanes, self.modulus);
        let constant = lanes.splat(self.constant);
        for a in lanes.vectors_mut(self.a) {
            *a = q.add(lanes, *a, constant);
        }
    }
}

/// a += constant.
pub(crate) fn add_constant(modulus: Modulus, a: &mut [u32], constant: u32) {
    dispatch(AddConstant { modulus, a, constant });
}

struct Negate<'a> {
    modulus: Modulus,
    a: &'a mut [u32],
}

impl Kernel for Negate<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let q = LaneModulus::new(lanes, self.modulus);
        let zero = lanes.splat(0);
        for a in lanes.vectors_mut(self.a) {
            *a = q.sub(lanes, zero, *a);
        }
    }
}

/// a = -a.
pub(crate) fn negate(modulus: Modulus, a: &mut [u32]) {
    dispatch(Negate { modulus, a });
}

struct Tensor<'a> {
    modulus: Modulus,
    a: [&'a [u32]; 2],
    b: [&'a [u32]; 2],
    products: [&'a mut [u32]; 3],
}

impl Kernel for Tensor<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let q = LaneModulus::new(lanes, self.modulus);
        let [a0, a1] = self.a.map(|x| lanes.vectors(x));
        let [b0, b1] = self.b.map(|x| lanes.vectors(x));
        let [p0, p1, p2] = self.products.map(|x| lanes.vectors_mut(x));
        let inputs = a0.iter().zip(a1).zip(b0.iter().zip(b1));
        let outputs = p0.iter_mut().zip(p1).zip(p2);
        for (((&a0, &a1), (&b0, &b1)), ((p0, p1), p2)) in inputs.zip(outputs) {
            let [a0_odd, a1_odd, b0_odd, b1_odd] = [a0, a1, b0, b1].map(|x| lanes.odd(x));
            let zero = Sum::zero(lanes);
            *p0 = q.barrett(lanes, zero.add_product(lanes, a0, a0_odd, b0, b0_odd));
            let cross = zero
                .add_product(lanes, a0, a0_odd, b1, b1_odd)
                .add_product(lanes, a1, a1_odd, b0, b0_odd);
            *p1 = q.barrett(lanes, cross);
            *p2 = q.barrett(lanes, zero.add_product(lanes, a1, a1_odd, b1, b1_odd));
        }
    }
}

/// (a0 + a1 Y)(b0 + b1 Y) as three coefficients of Y.
pub(crate) fn tensor(modulus: Modulus, a: [&[u32]; 2], b: [&[u32]; 2], products: [&mut [u32]; 3]) {
    dispatch(Tensor { modulus, a, b, products });
}

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
    /// A limb of a bundle of diagonals.
    pub(crate) diagonals: &'a [u32],
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
        &self.diagonals[(tile * self.babies.len() + term) * self.tile..][..self.tile]
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

struct InnerProduct<'a, T> {
    modulus: Modulus,
    terms: T,
    tile: usize,
    sums: [&'a mut [u32]; 2],
}

impl<T: Terms> InnerProduct<'_, T> {
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

impl<T: Terms> Kernel for InnerProduct<'_, T> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        match (L::WIDTH, self.tile / L::WIDTH) {
            (16, 4..) => self.run_by::<L, 4>(lanes),
            (_, 2..) => self.run_by::<L, 2>(lanes),
            _ => self.run_by::<L, 1>(lanes),
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
    addend: Option<(&'a [u32], u32)>,
    automorphism: &'a Automorphism,
    sums: [&'a mut [u32]; 2],
}

impl<T: Terms> InnerProductThenPermute<'_, T> {
    #[inline(always)]
    fn run_by<L: Lanes, const U: usize>(self, lanes: L) {
        let q = LaneModulus::new(lanes, self.modulus);
        let vectors = self.tile / L::WIDTH;
        let patterns = lanes.vectors(&self.automorphism.patterns);
        let [s0, s1] = self.sums.map(|s| lanes.vectors_mut(s));
        let addend = self.addend.map(|(limb, factor)| (lanes.vectors(limb), lanes.splat(factor)));
        for (index, moves) in self.automorphism.moves.chunks_exact(U).enumerate() {
            let (tile, at) = (index * U / vectors, index * U % vectors);
            let [mut t0, t1] = sums_at::<L, T, U>(lanes, q, self.terms, tile, at);
            if let Some((limb, factor)) = addend {
                let limb = &limb[index * U..(index + 1) * U];
                for u in 0..U {
                    t0[u] = q.add(lanes, t0[u], q.mul_montgomery(lanes, limb[u], factor));
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

impl<T: Terms> Kernel for InnerProductThenPermute<'_, T> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        match (L::WIDTH, self.tile / L::WIDTH) {
            (16, 4..) => self.run_by::<L, 4>(lanes),
            (_, 2..) => self.run_by::<L, 2>(lanes),
            _ => self.run_by::<L, 1>(lanes),
        }
    }
}

/// The sums of `terms`, the first with `addend * factor` (factor in Montgomery form)
/// added where there is one, moved by `automorphism`.
pub(crate) fn inner_product_then_permute(
    modulus: Modulus,
    terms: impl Terms,
    tile: usize,
    addend: Option<(&[u32], u32)>,
    automorphism: &Automorphism,
    sums: [&mut [u32]; 2],
) {
    dispatch(InnerProductThenPermute { modulus, terms, tile, addend, automorphism, sums });
}

struct AddInnerProductPermuted<'a, T> {
    modulus: Modulus,
    terms: T,
    tile: usize,
    factor: u32,
    addend: &'a [u32],
    automorphism: &'a Automorphism,
    to: [&'a mut [u32]; 2],
}

impl<T: Terms> AddInnerProductPermuted<'_, T> {
    #[inline(always)]
    fn run_by<L: Lanes, const U: usize>(self, lanes: L) {
        let q = LaneModulus::new(lanes, self.modulus);
        let vectors = self.tile / L::WIDTH;
        let patterns = lanes.vectors(&self.automorphism.patterns);
        let [to0, to1] = self.to.map(|to| lanes.vectors_mut(to));
        let (addend, factor) = (lanes.vectors(self.addend), lanes.splat(self.factor));
        for (index, moves) in self.automorphism.moves.chunks_exact(U).enumerate() {
            let (tile, at) = (index * U / vectors, index * U % vectors);
            let [t0, t1] = sums_at::<L, T, U>(lanes, q, self.terms, tile, at);
            let addend = &addend[index * U..(index + 1) * U];
            for u in 0..U {
                let (target, pattern) = moves[u];
                let pattern = patterns[pattern as usize];
                let first = q.add(lanes, q.mul_montgomery(lanes, t0[u], factor), addend[u]);
                let second = q.mul_montgomery(lanes, t1[u], factor);
                let (to0, to1) = (&mut to0[target as usize], &mut to1[target as usize]);
                *to0 = q.add(lanes, *to0, lanes.permute(first, pattern));
                *to1 = q.add(lanes, *to1, lanes.permute(second, pattern));
            }
        }
    }
}

impl<T: Terms> Kernel for AddInnerProductPermuted<'_, T> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        match (L::WIDTH, self.tile / L::WIDTH) {
            (16, 4..) => self.run_by::<L, 4>(lanes),
            (_, 2..) => self.run_by::<L, 2>(lanes),
            _ => self.run_by::<L, 1>(lanes),
        }
    }
}

/// Adds to `to` the sums of `terms` times a factor in Montgomery form, the first with `addend`
/// added, moved by `automorphism`.
pub(crate) fn add_inner_product_permuted(
    modulus: Modulus,
    terms: impl Terms,
    tile: usize,
    factor: u32,
    addend: &[u32],
    automorphism: &Automorphism,
    to: [&mut [u32]; 2],
) {
    dispatch(AddInnerProductPermuted { modulus, terms, tile, factor, addend, automorphism, to });
}

struct Permute<'a> {
    automorphism: &'a Automorphism,
    from: &'a [u32],
    to: &'a mut [u32],
}

impl Kernel for Permute<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let patterns = lanes.vectors(&self.automorphism.patterns);
        let to = lanes.vectors_mut(self.to);
        for (&from, &(target, pattern)) in
            lanes.vectors(self.from).iter().zip(&self.automorphism.moves)
        {
            to[target as usize] = lanes.permute(from, patterns[pattern as usize]);
        }
    }
}

/// `to` becomes `from` moved by `automorphism`.
pub(crate) fn permute(automorphism: &Automorphism, from: &[u32], to: &mut [u32]) {
    dispatch(Permute { automorphism, from, to });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::automorphism::{inverse_element, rotation_element};
    use crate::ring::lanes::Words;
    use crate::ring::primes::ntt_primes;

    const N: usize = 128;
    const TILE: usize = 64;

    fn moduli() -> impl Iterator<Item = Modulus> {
        let small = ntt_primes(7, 1 << 9..1 << 20).take(3);
        small.chain(ntt_primes(7, 1 << 29..1 << 30).rev().take(3)).map(|q| Modulus::new(q as u32))
    }

    /// Residues with the extremes among them.
    fn residues(q: Modulus, seed: u64, count: usize) -> Vec<u32> {
        let random = |i: u64| ((i + 1) * (seed + 77)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let mut words: Vec<u32> = (0..count as u64).map(|i| q.reduce(random(i))).collect();
        words[..4].copy_from_slice(&[0, 1, q.q - 1, q.q / 2]);
        words
    }

    /// A kernel on the lanes of this machine, on plain words, and by definition.
    fn check_binary<F: BinaryOperation>(
        operation: F,
        definition: impl Fn(Modulus, u32, u32) -> u32,
    ) {
        for modulus in moduli() {
            let (x, mut b) = (residues(modulus, 1, N), residues(modulus, 2, N));
            b[..3].copy_from_slice(&[modulus.q - 1; 3]);
            let (mut wide, mut plain) = (x.clone(), x.clone());
            dispatch(Binary { modulus, a: &mut wide, b: &b, operation });
            Binary { modulus, a: &mut plain, b: &b, operation }.run(Words);
            let expected: Vec<u32> =
                x.iter().zip(&b).map(|(&x, &b)| definition(modulus, x, b)).collect();
            assert_eq!(wide, expected, "q = {}", modulus.q);
            assert_eq!(plain, expected, "q = {}", modulus.q);
        }
    }

    #[test]
    fn elementwise_operations_are_modular_arithmetic() {
        let descale = |q: Modulus, x: u32| q.mul(x, q.inv(q.r));
        check_binary(Add, Modulus::add);
        check_binary(Sub, Modulus::sub);
        check_binary(Mul, Modulus::mul);
        check_binary(MulMontgomery, |q, a, b| descale(q, q.mul(a, b)));
        let constant = 511;
        check_binary(AddScaled { constant }, |q, a, b| {
            q.add(a, descale(q, q.mul(b, constant % q.q)))
        });
    }

    #[test]
    fn tensors_are_products_of_linear_polynomials() {
        for q in moduli() {
            let [a0, a1, b0, b1] = [3, 4, 5, 6].map(|seed| residues(q, seed, N));
            let mut products = [(); 3].map(|()| vec![0; N]);
            let [p0, p1, p2] = &mut products;
            tensor(q, [&a0, &a1], [&b0, &b1], [p0, p1, p2]);
            for i in 0..N {
                assert_eq!(products[0][i], q.mul(a0[i], b0[i]));
                assert_eq!(products[1][i], q.add(q.mul(a0[i], b1[i]), q.mul(a1[i], b0[i])));
                assert_eq!(products[2][i], q.mul(a1[i], b1[i]));
            }
        }
    }

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
                let mut moved = [vec![0; N], vec![0; N]];
                let [m0, m1] = &mut moved;
                let one = Some((addend.as_slice(), q.r));
                inner_product_then_permute(q, terms, TILE, one, &automorphism, [m0, m1]);
                add(q, &mut sums[0], &addend);
                let mut expected = vec![0; N];
                for (sums, moved) in sums.iter().zip(&moved) {
                    permute(&automorphism, sums, &mut expected);
                    assert_eq!(*moved, expected);
                }
            }
        }
    }

    #[test]
    fn automorphisms_have_inverses() {
        let from: Vec<u32> = (0..N as u32).collect();
        for k in 1..20 {
            let element = rotation_element(7, k);
            let (mut to, mut back) = (vec![0; N], vec![0; N]);
            permute(&Automorphism::new(7, element), &from, &mut to);
            permute(&Automorphism::new(7, inverse_element(7, element)), &to, &mut back);
            assert_ne!(to, from);
            assert_eq!(back, from);
        }
    }
}
