//! Division of polynomials by a product of primes, with rounding.

use super::convert::Conversion;
use super::kernels;
use super::modulus::{Modulus, product};
use super::poly::{Basis, Poly, Ring};

/// x to round(x J / D): D the product of the primes that leave the basis of x, J
/// the product of those that join it.
///
/// One inverse transform for each prime that leaves, one forward transform for
/// each prime of the result. The remainder modulo D is centred by [`Conversion`],
/// so the rounding error of a coefficient is at most `1/2 + sources * 2^-21`.
#[derive(Debug)]
pub(crate) struct Division {
    leaving: Basis,
    pub(crate) to: Basis,
    conversion: Conversion,
    /// J / D modulo each prime of `to`, in Montgomery form.
    factors: Vec<u32>,
}

impl Division {
    /// From `from` to `to`: what is in `from` alone leaves, what is in `to` alone joins.
    pub(crate) fn new(ring: &Ring, from: &Basis, to: &Basis) -> Self {
        let leaving = from.difference(to);
        let joining = to.difference(from);
        let product_of = |basis: &Basis, q: Modulus| {
            product(q, basis.iter().map(|position| ring.modulus(position).q))
        };
        let inverse = |q: Modulus| q.inv(product_of(&leaving, q));
        let conversion = Conversion::new(
            ring.log_n,
            &ring.moduli(&leaving),
            &ring.moduli(to),
            |q| product_of(&joining, q),
            |q| q.sub(0, inverse(q)),
        );
        let factors = ring
            .moduli(to)
            .into_iter()
            .map(|q| q.to_montgomery(q.mul(product_of(&joining, q), inverse(q))))
            .collect();
        Self { leaving, to: to.clone(), conversion, factors }
    }

    /// The quotient of `x`.
    pub(crate) fn apply(&self, ring: &Ring, x: &Poly) -> Poly {
        let remainder = ring.unnormalised_coefficients(x, &self.leaving);
        let mut quotient = ring.unwritten(&self.to);
        let inputs: Vec<&[u32]> = remainder.limbs().map(|(_, limb)| limb).collect();
        let outputs = quotient.limbs_mut().map(|(_, limb)| limb).collect();
        let positions = self.to.positions();
        self.conversion.run(&inputs, outputs, |index, limb| {
            let position = usize::from(positions[index]);
            let prime = &ring.primes[position];
            prime.forward(limb);
            if x.basis.contains(position) {
                kernels::add_scaled(prime.modulus, limb, x.limb(position), self.factors[index]);
            }
        });
        quotient
    }

    /// The quotients of both polynomials.
    pub(crate) fn apply_to_pair(&self, ring: &Ring, [x, y]: &[Poly; 2]) -> [Poly; 2] {
        let (x, y) = rayon::join(|| self.apply(ring, x), || self.apply(ring, y));
        [x, y]
    }
}
