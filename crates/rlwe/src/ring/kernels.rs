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
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    /// Left factors.
    pub(crate) x: &'a [&'a [u32]],
    /// Right factors, two for each left one. One side is in Montgomery form.
    pub(crate) y: [&'a [&'a [u32]]; 2],
}

impl Terms<'_> {
    /// The pair of sums at vector `at`, reduced.
    #[inline(always)]
    fn sum_at<L: Lanes>(self, lanes: L, q: LaneModulus<L>, at: usize) -> [L::V; 2] {
        let mut total = [lanes.splat(0); 2];
        let [y0, y1] = self.y;
        let groups =
            self.x.chunks(LAZY_TERMS).zip(y0.chunks(LAZY_TERMS).zip(y1.chunks(LAZY_TERMS)));
        for (x, (y0, y1)) in groups {
            let mut sums = [Sum::zero(lanes); 2];
            for (x, (y0, y1)) in x.iter().zip(y0.iter().zip(y1)) {
                let (x, y0, y1) =
                    (lanes.vectors(x)[at], lanes.vectors(y0)[at], lanes.vectors(y1)[at]);
                let x_odd = lanes.odd(x);
                sums[0] = sums[0].add_product(lanes, x, x_odd, y0, lanes.odd(y0));
                sums[1] = sums[1].add_product(lanes, x, x_odd, y1, lanes.odd(y1));
            }
            for (total, sum) in total.iter_mut().zip(sums) {
                *total = q.add(lanes, *total, q.montgomery(lanes, sum));
            }
        }
        total
    }
}

struct InnerProduct<'a> {
    modulus: Modulus,
    terms: Terms<'a>,
    sums: [&'a mut [u32]; 2],
}

impl Kernel for InnerProduct<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let q = LaneModulus::new(lanes, self.modulus);
        let [s0, s1] = self.sums.map(|s| lanes.vectors_mut(s));
        for (at, (s0, s1)) in s0.iter_mut().zip(s1).enumerate() {
            [*s0, *s1] = self.terms.sum_at(lanes, q, at);
        }
    }
}

/// Both sums of `terms`, overwriting `sums`.
pub(crate) fn inner_product(modulus: Modulus, terms: Terms<'_>, sums: [&mut [u32]; 2]) {
    dispatch(InnerProduct { modulus, terms, sums });
}

struct InnerProductThenPermute<'a> {
    modulus: Modulus,
    terms: Terms<'a>,
    addend: Option<(&'a [u32], u32)>,
    automorphism: &'a Automorphism,
    sums: [&'a mut [u32]; 2],
}

impl Kernel for InnerProductThenPermute<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let q = LaneModulus::new(lanes, self.modulus);
        let patterns = lanes.vectors(&self.automorphism.patterns);
        let moves = self.automorphism.sources.iter().zip(&self.automorphism.pattern_of);
        let [s0, s1] = self.sums.map(|s| lanes.vectors_mut(s));
        for ((s0, s1), (&source, &pattern)) in s0.iter_mut().zip(s1).zip(moves) {
            let source = source as usize;
            let [mut t0, t1] = self.terms.sum_at(lanes, q, source);
            if let Some((addend, factor)) = self.addend {
                let scaled =
                    q.mul_montgomery(lanes, lanes.vectors(addend)[source], lanes.splat(factor));
                t0 = q.add(lanes, t0, scaled);
            }
            let pattern = patterns[pattern as usize];
            *s0 = lanes.permute(t0, pattern);
            *s1 = lanes.permute(t1, pattern);
        }
    }
}

/// The sums of `terms`, the first with `addend * factor` (factor in Montgomery form)
/// added where there is one, moved by `automorphism`.
pub(crate) fn inner_product_then_permute(
    modulus: Modulus,
    terms: Terms<'_>,
    addend: Option<(&[u32], u32)>,
    automorphism: &Automorphism,
    sums: [&mut [u32]; 2],
) {
    dispatch(InnerProductThenPermute { modulus, terms, addend, automorphism, sums });
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
        let moves = self.automorphism.sources.iter().zip(&self.automorphism.pattern_of);
        let from = lanes.vectors(self.from);
        for (to, (&source, &pattern)) in lanes.vectors_mut(self.to).iter_mut().zip(moves) {
            *to = lanes.permute(from[source as usize], patterns[pattern as usize]);
        }
    }
}

/// `to` becomes `from` moved by `automorphism`.
pub(crate) fn permute(automorphism: &Automorphism, from: &[u32], to: &mut [u32]) {
    dispatch(Permute { automorphism, from, to });
}
