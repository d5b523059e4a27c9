//! Division of polynomials by a product of primes, with rounding.

use rayon::prelude::*;

use super::convert::{Conversion, ConversionTable};
use super::kernels;
use super::modulus::{Modulus, product};
use super::poly::{Basis, Poly, Ring};
use crate::parallel;

/// x to round(x J / D): D the product of the primes that leave the basis of x, J
/// the product of those that join it.
///
/// One inverse transform for each prime that leaves, one forward transform for
/// each prime of the result. The remainder modulo D is centred by [`Conversion`],
/// so the rounding error of a coefficient is at most `1/2 + sources * 2^(1 - b)`, where b bits are
/// those of the smallest prime that leaves: for terminals of 15 bits, 2^-14 for each source.
#[derive(Debug)]
pub(crate) struct Division {
    pub(crate) leaving: Basis,
    pub(crate) to: Basis,
    conversion: Conversion,
    /// J / D modulo each prime of `to`, in Montgomery form.
    factors: Vec<u32>,
}

/// The constants of a division as plain numbers: see [`Division`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DivisionTable {
    /// From the primes that leave, whose coefficients come from unnormalised inverse transforms, to
    /// those of the quotient.
    pub conversion: ConversionTable,
    /// What limbs that stay are multiplied by, for each prime of the quotient, in Montgomery form:
    /// the quotient is that and what was converted, added.
    pub factors: Vec<u32>,
}

impl Division {
    /// Its constants.
    pub(crate) fn table(&self) -> DivisionTable {
        let conversion = self.conversion.table(&self.leaving, &self.to);
        DivisionTable { conversion, factors: self.factors.clone() }
    }

    /// From `from` to `to`: what is in `from` alone leaves, what is in `to` alone joins.
    pub(crate) fn new(ring: &Ring, from: &Basis, to: &Basis) -> Self {
        Self::of_divided(ring, from, to, &Basis::new([]))
    }

    /// [`Self::new`] for an x that is held, modulo every prime that is not in `special`, divided
    /// by the product of those that are.
    pub(crate) fn of_divided(ring: &Ring, from: &Basis, to: &Basis, special: &Basis) -> Self {
        let leaving = from.difference(to);
        let joining = to.difference(from);
        let product_of = |basis: &Basis, q: Modulus| {
            product(q, basis.iter().map(|position| ring.modulus(position).q))
        };
        let inverse = |q: Modulus| q.inv(product_of(&leaving, q));
        let held = |q: Modulus| {
            let whole = special.iter().any(|position| ring.modulus(position).q == q.q);
            if whole { 1 } else { product_of(special, q) }
        };
        let conversion = Conversion::new(
            ring.log_n,
            &ring.moduli(&leaving),
            &ring.moduli(to),
            |q| q.mul(product_of(&joining, q), held(q)),
            |q| q.sub(0, inverse(q)),
        );
        let factors = ring
            .moduli(to)
            .into_iter()
            .map(|q| q.mul(q.mul(product_of(&joining, q), held(q)), inverse(q)))
            .zip(ring.moduli(to))
            .map(|(factor, q)| q.to_montgomery(factor))
            .collect();
        Self { leaving, to: to.clone(), conversion, factors }
    }

    /// The quotient of `x`.
    pub(crate) fn apply(&self, ring: &Ring, x: &Poly) -> Poly {
        let [quotient] = self.apply_to_all(ring, [x]);
        quotient
    }

    /// The quotients of polynomials over one basis.
    pub(crate) fn apply_to_all<const H: usize>(&self, ring: &Ring, polys: [&Poly; H]) -> [Poly; H] {
        let remainders: Vec<Poly> = parallel::over(&polys)
            .shared()
            .map(|poly| ring.unnormalised_coefficients(poly, &self.leaving))
            .collect();
        let remainders = std::array::from_fn(|index| &remainders[index]);
        self.finish(ring, remainders, |position, factor, limbs| {
            for (limb, poly) in limbs.into_iter().zip(polys) {
                if poly.basis.contains(position) {
                    let modulus = ring.modulus(position);
                    if factor == modulus.r {
                        kernels::add(modulus, limb, poly.limb(position));
                    } else {
                        kernels::add_scaled(modulus, limb, poly.limb(position), factor);
                    }
                }
            }
        })
    }

    /// The quotients of H polynomials that are given in two parts.
    ///
    /// `remainders` are their coefficients, times N, modulo the primes that leave. `add` is
    /// called for each prime of the quotients with its position, a factor in Montgomery form and
    /// a limb of every quotient: it is to add, where the polynomials have that prime, their own
    /// limbs times the factor. So these need never stand in memory.
    pub(crate) fn finish<const H: usize>(
        &self,
        ring: &Ring,
        remainders: [&Poly; H],
        add: impl Fn(usize, u32, [&mut [u32]; H]) + Sync,
    ) -> [Poly; H] {
        #[cfg(test)]
        counts::DIVISIONS.set(counts::DIVISIONS.get() + 1);
        let inputs: [Vec<&[u32]>; H] =
            remainders.map(|remainder| remainder.limbs().map(|(_, limb)| limb).collect());
        let mut quotients = remainders.map(|_| ring.unwritten(&self.to));
        let mut limbs = quotients.each_mut().map(|quotient| quotient.limbs_mut());
        let positions = self.to.positions();
        let outputs = positions
            .iter()
            .map(|_| limbs.each_mut().map(|limbs| limbs.next().expect("a limb for each prime").1))
            .collect();
        self.conversion.run(inputs.each_ref().map(Vec::as_slice), outputs, |index, mut limbs| {
            let position = usize::from(positions[index]);
            limbs.iter_mut().for_each(|limb| ring.primes[position].forward(limb));
            add(position, self.factors[index], limbs);
        });
        drop(limbs);
        quotients
    }
}

/// How often polynomials were divided on this thread, for tests of what an operation costs.
#[cfg(test)]
pub(crate) mod counts {
    use std::cell::Cell;

    thread_local! {
        pub(crate) static DIVISIONS: Cell<usize> = const { Cell::new(0) };
    }
}
