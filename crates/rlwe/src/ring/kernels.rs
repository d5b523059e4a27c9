//! The loops over residues of one limb. All slices of a call have the length of
//! the ring degree or of one block of it, a multiple of the lane width.

use super::automorphism::Automorphism;
use super::lanes::{Kernel, LaneModulus, Lanes, Sum, dispatch};
use super::modulus::Modulus;

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
pub(super) mod tests {
    use super::*;
    use crate::ring::automorphism::{inverse_element, rotation_element};
    use crate::ring::lanes::Words;
    use crate::ring::primes::ntt_primes;

    pub(in crate::ring) const N: usize = 128;

    pub(in crate::ring) fn moduli() -> impl Iterator<Item = Modulus> {
        let small = ntt_primes(7, 1 << 9..1 << 20).take(3);
        small.chain(ntt_primes(7, 1 << 29..1 << 30).rev().take(3)).map(|q| Modulus::new(q as u32))
    }

    /// Residues with the extremes among them.
    pub(in crate::ring) fn residues(q: Modulus, seed: u64, count: usize) -> Vec<u32> {
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
