//! Polynomials over a set of word primes, in the evaluation domain.

use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use tfhe_ntt::prime32::Plan;

use super::automorphism::Automorphism;
use super::buffers;
use super::kernels;
use super::modulus::Modulus;
use super::primes::is_prime;
use super::wiped::wipe;
use crate::parallel::{self, Source};
use crate::{Error, Result};

/// A word prime with the tables of its transform.
#[derive(Debug)]
pub(crate) struct Prime {
    pub(crate) modulus: Modulus,
    /// Entry k is for 2^k coefficients; made at its first use, which planning has none of.
    plans: Vec<OnceLock<Plan>>,
    /// N^-1 in Montgomery form.
    degree_inverse: u32,
}

/// Bytes of the tables of a transform by coefficient: twiddle factors of both directions with
/// their quotients.
const TABLES: usize = 4 * size_of::<u32>();

/// The fewest coefficients that there are transforms of.
pub(crate) const SHORTEST: usize = 32;

impl Prime {
    fn new(log_n: u32, q: u32) -> Result<Self> {
        if !is_prime(u64::from(q)) || q % (2 << log_n) != 1 {
            return Err(Error::InvalidParameters(format!(
                "{q} is no prime for transforms of length 2^{log_n}"
            )));
        }
        let plans = (0..=log_n).map(|_| OnceLock::new()).collect();
        let modulus = Modulus::new(q);
        let degree_inverse = modulus.to_montgomery(modulus.inv(modulus.reduce(1 << log_n)));
        Ok(Self { modulus, plans, degree_inverse })
    }

    /// The tables for a power of two of coefficients, N at most.
    fn plan(&self, length: usize) -> &Plan {
        self.plans[length.ilog2() as usize].get_or_init(|| {
            system_memory::require(TABLES * length);
            Plan::try_new(length, self.modulus.q).expect("a prime of transforms up to N")
        })
    }

    /// Coefficients to values.
    pub(crate) fn forward(&self, limb: &mut [u32]) {
        self.plan(limb.len()).fwd(limb);
    }

    /// Coefficients to values, the first `count` those of a polynomial in X^(N / count); the others
    /// are not read. The transform of such a polynomial is one of `count` words, each repeated N /
    /// count times; a limb shorter than N repeats each as often as its length allows.
    ///
    /// With g = N / count, b(X^g) at a root zeta^(2j + 1) of X^N + 1 is b at (zeta^g)^(2j + 1), a
    /// root of X^count + 1. Values are in bit-reversed order of j, so that the g repetitions of
    /// each value of b are next to one another.
    pub(crate) fn forward_sparse(&self, limb: &mut [u32], count: usize) {
        let length = count.max(SHORTEST);
        let between = length / count;
        if between > 1 {
            for place in (0..length).rev() {
                limb[place] = if place % between == 0 { limb[place / between] } else { 0 };
            }
        }
        self.plan(length).fwd(&mut limb[..length]);
        let times = limb.len() / length;
        if times > 1 {
            for place in (0..length).rev() {
                let value = limb[place];
                limb[times * place..][..times].fill(value);
            }
        }
    }

    /// Values to coefficients times N.
    pub(crate) fn inverse_unnormalised(&self, limb: &mut [u32]) {
        self.plan(limb.len()).inv(limb);
    }

    /// Values to coefficients.
    pub(crate) fn inverse(&self, limb: &mut [u32]) {
        self.plan(limb.len()).inv(limb);
        kernels::scale(self.modulus, limb, self.degree_inverse);
    }
}

/// A set of primes of a ring: sorted positions in its list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Basis(Arc<[u16]>);

impl Basis {
    /// The primes at `positions`, in any order.
    pub(crate) fn new(positions: impl IntoIterator<Item = usize>) -> Self {
        let mut positions: Vec<u16> = positions.into_iter().map(|p| p as u16).collect();
        positions.sort_unstable();
        positions.dedup();
        Self(positions.into())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = usize> + ExactSizeIterator + '_ {
        self.0.iter().map(|&p| usize::from(p))
    }

    /// Sorted.
    pub(crate) fn positions(&self) -> &[u16] {
        &self.0
    }

    /// The limb that holds residues modulo the prime at `position`.
    pub(crate) fn find(&self, position: usize) -> Option<usize> {
        self.0.binary_search(&(position as u16)).ok()
    }

    pub(crate) fn contains(&self, position: usize) -> bool {
        self.find(position).is_some()
    }

    pub(crate) fn union(&self, other: &Self) -> Self {
        Self::new(self.iter().chain(other.iter()))
    }

    pub(crate) fn difference(&self, other: &Self) -> Self {
        Self::new(self.iter().filter(|&p| !other.contains(p)))
    }

    pub(crate) fn is_subset(&self, other: &Self) -> bool {
        self.iter().all(|p| other.contains(p))
    }
}

/// A polynomial modulo each prime of a basis, in the evaluation domain unless said otherwise.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Poly {
    pub(crate) basis: Basis,
    n: usize,
    data: Vec<u32>,
}

impl Poly {
    /// A polynomial of any content, to be overwritten.
    pub(crate) fn unwritten(n: usize, basis: Basis) -> Self {
        let data = buffers::take(n * basis.len());
        Self { basis, n, data }
    }

    pub(crate) fn words(&self) -> &[u32] {
        &self.data[..self.n * self.basis.len()]
    }

    /// Residues modulo the prime at `position`, which must be in the basis.
    pub(crate) fn limb(&self, position: usize) -> &[u32] {
        let index = self.basis.find(position).expect("a prime of the basis");
        &self.data[index * self.n..(index + 1) * self.n]
    }

    /// Each limb beside the position of its prime.
    pub(crate) fn limbs(&self) -> impl Iterator<Item = (usize, &[u32])> {
        self.basis.iter().zip(self.data.chunks_exact(self.n))
    }

    /// Each limb beside the position of its prime.
    pub(crate) fn limbs_mut(&mut self) -> impl Iterator<Item = (usize, &mut [u32])> {
        self.basis.0.iter().map(|&p| usize::from(p)).zip(self.data.chunks_exact_mut(self.n))
    }

    /// Limbs to be worked on in parallel, each beside the position of its prime.
    pub(crate) fn par_limbs_mut(
        &mut self,
    ) -> Source<impl IndexedParallelIterator<Item = (usize, &mut [u32])>> {
        let words = self.n * self.basis.len();
        let limbs = parallel::chunks_mut(&mut self.data[..words], self.n);
        parallel::over(self.basis.iter().collect::<Vec<usize>>()).zip(limbs)
    }

    /// The same polynomial modulo fewer primes.
    pub(crate) fn restrict(&self, basis: &Basis) -> Self {
        let mut restricted = Self::unwritten(self.n, basis.clone());
        for (position, limb) in restricted.limbs_mut() {
            limb.copy_from_slice(self.limb(position));
        }
        restricted
    }
}

impl Clone for Poly {
    fn clone(&self) -> Self {
        let mut copy = Self::unwritten(self.n, self.basis.clone());
        copy.data.copy_from_slice(self.words());
        copy
    }
}

impl Drop for Poly {
    fn drop(&mut self) {
        buffers::give(std::mem::take(&mut self.data));
    }
}

impl Drop for SecretPoly {
    fn drop(&mut self) {
        wipe(&mut self.0.data);
    }
}

/// A polynomial that is wiped when dropped, before its memory is cached for another, and never
/// printed.
#[derive(Clone, PartialEq)]
pub(crate) struct SecretPoly(pub(crate) Poly);

/// Z[X]/(X^N + 1) modulo a list of word primes.
#[derive(Debug)]
pub(crate) struct Ring {
    pub(crate) log_n: u32,
    pub(crate) primes: Vec<Prime>,
}

impl Ring {
    /// The ring of degree 2^log_n, log_n at least 5, over `primes`, each 1 mod 2N and below 2^30.
    pub(crate) fn new(log_n: u32, primes: &[u32]) -> Result<Self> {
        let primes = primes.iter().map(|&q| Prime::new(log_n, q)).collect::<Result<_>>()?;
        Ok(Self { log_n, primes })
    }

    pub(crate) fn n(&self) -> usize {
        1 << self.log_n
    }

    pub(crate) fn modulus(&self, position: usize) -> Modulus {
        self.primes[position].modulus
    }

    pub(crate) fn moduli(&self, basis: &Basis) -> Vec<Modulus> {
        basis.iter().map(|p| self.modulus(p)).collect()
    }

    /// log2 of the product of the primes of `basis`.
    pub(crate) fn bits(&self, basis: &Basis) -> f64 {
        basis.iter().map(|p| f64::from(self.modulus(p).q).log2()).sum()
    }

    pub(crate) fn zero(&self, basis: &Basis) -> Poly {
        let mut poly = self.unwritten(basis);
        poly.data.fill(0);
        poly
    }

    /// A polynomial of any content, to be overwritten.
    pub(crate) fn unwritten(&self, basis: &Basis) -> Poly {
        Poly::unwritten(self.n(), basis.clone())
    }

    /// The polynomial of small signed coefficients, in constant time.
    pub(crate) fn small(&self, basis: &Basis, x: &[i8]) -> Poly {
        let mut poly = self.unwritten(basis);
        poly.par_limbs_mut().shared().for_each(|(position, limb)| {
            let prime = &self.primes[position];
            let q = prime.modulus.q as i32;
            for (residue, &x) in limb.iter_mut().zip(x) {
                let x = i32::from(x);
                *residue = (x + (q & (x >> 31))) as u32;
            }
            prime.forward(limb);
        });
        poly
    }

    fn zip(&self, a: &mut Poly, b: &Poly, operation: impl Fn(Modulus, &mut [u32], &[u32]) + Sync) {
        debug_assert!(a.basis.is_subset(&b.basis));
        a.par_limbs_mut().shared().for_each(|(position, limb)| {
            operation(self.modulus(position), limb, b.limb(position));
        });
    }

    fn map(&self, a: &mut Poly, operation: impl Fn(Modulus, &mut [u32]) + Sync) {
        a.par_limbs_mut()
            .shared()
            .for_each(|(position, limb)| operation(self.modulus(position), limb));
    }

    /// a += b, on the basis of a.
    pub(crate) fn add(&self, a: &mut Poly, b: &Poly) {
        self.zip(a, b, kernels::add);
    }

    /// a -= b, on the basis of a.
    pub(crate) fn sub(&self, a: &mut Poly, b: &Poly) {
        self.zip(a, b, kernels::sub);
    }

    /// a *= b, on the basis of a.
    pub(crate) fn mul(&self, a: &mut Poly, b: &Poly) {
        self.zip(a, b, kernels::mul);
    }

    /// a *= b, b in Montgomery form, on the basis of a.
    pub(crate) fn mul_montgomery(&self, a: &mut Poly, b: &Poly) {
        self.zip(a, b, kernels::mul_montgomery);
    }

    pub(crate) fn negate(&self, a: &mut Poly) {
        self.map(a, kernels::negate);
    }

    /// a *= constant, given by its residue modulo each prime.
    pub(crate) fn scale(&self, a: &mut Poly, constant: impl Fn(Modulus) -> u32 + Sync) {
        self.map(a, |q, limb| kernels::scale(q, limb, q.to_montgomery(constant(q))));
    }

    /// a += b * constant, given by its residue modulo each prime, on the basis of a.
    pub(crate) fn add_scaled(
        &self,
        a: &mut Poly,
        b: &Poly,
        constant: impl Fn(Modulus) -> u32 + Sync,
    ) {
        self.zip(a, b, |q, a, b| kernels::add_scaled(q, a, b, q.to_montgomery(constant(q))));
    }

    /// Adds a constant polynomial, given by its residue modulo each prime.
    pub(crate) fn add_constant(&self, a: &mut Poly, constant: impl Fn(Modulus) -> u32 + Sync) {
        self.map(a, |q, limb| kernels::add_constant(q, limb, constant(q)));
    }

    /// Puts a into Montgomery form, as right factors of Montgomery products are.
    pub(crate) fn to_montgomery(&self, a: &mut Poly) {
        self.scale(a, |q| q.r);
    }

    /// a *= X^(N/2), which is the imaginary unit in every slot.
    pub(crate) fn mul_imaginary(&self, a: &mut Poly) {
        a.par_limbs_mut().shared().for_each(|(position, limb)| {
            let prime = &self.primes[position];
            let mut unit = buffers::take(limb.len());
            unit.fill(0);
            unit[limb.len() / 2] = prime.modulus.r;
            prime.forward(&mut unit);
            kernels::mul_montgomery(prime.modulus, limb, &unit);
            buffers::give(unit);
        });
    }

    /// N times the coefficients of a modulo the primes of `basis`.
    pub(crate) fn unnormalised_coefficients(&self, a: &Poly, basis: &Basis) -> Poly {
        let mut coefficients = self.unwritten(basis);
        coefficients.par_limbs_mut().shared().for_each(|(position, limb)| {
            limb.copy_from_slice(a.limb(position));
            self.primes[position].inverse_unnormalised(limb);
        });
        coefficients
    }

    /// The image of a under an automorphism.
    pub(crate) fn permute(&self, automorphism: &Automorphism, a: &Poly) -> Poly {
        let mut image = self.unwritten(&a.basis);
        image.par_limbs_mut().shared().for_each(|(position, limb)| {
            kernels::permute(automorphism, a.limb(position), limb);
        });
        image
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::primes::ntt_primes;

    #[test]
    fn polynomials_in_a_power_of_x_have_the_values_that_they_have_as_any() -> Result<()> {
        for log_n in [5, 6, 9, 16] {
            for q in ntt_primes(log_n, 1 << 20..1 << 30).rev().take(3) {
                let prime = Prime::new(log_n, q as u32)?;
                for log_count in 0..=log_n {
                    let coefficients = (1..=1 << log_count).map(|k: u64| (k * k * k % q) as u32);
                    let stride = 1 << (log_n - log_count);
                    let mut whole = vec![0; 1 << log_n];
                    let mut sparse = vec![u32::MAX; 1 << log_n];
                    for (place, coefficient) in coefficients.enumerate() {
                        whole[stride * place] = coefficient;
                        sparse[place] = coefficient;
                    }
                    prime.forward(&mut whole);
                    prime.forward_sparse(&mut sparse, 1 << log_count);
                    assert_eq!(sparse, whole, "{q}: 2^{log_count} of 2^{log_n} coefficients");
                }
            }
        }
        Ok(())
    }
}
