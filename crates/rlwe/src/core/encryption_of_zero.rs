//! Encryptions of zero and their inverse, to which a scheme adds its messages.

use super::keys::{PublicKey, SecretKey, expand_half};
use crate::Result;
use crate::ring::poly::{Poly, SecretPoly};
use crate::sampling::{self, Generator, Seed};

impl SecretKey {
    /// An encryption of zero at `level` whose coefficients err by a deviation of 3.2, and the
    /// seed of its second polynomial.
    pub(crate) fn encrypt_zero(
        &self,
        level: usize,
        operation: &'static str,
    ) -> Result<([Poly; 2], Seed)> {
        let ring = self.parameters.ring();
        let basis = self.parameters.basis(level, operation)?;
        let mut generator = Generator::from_os()?;
        let seed = generator.public_seed();
        let half = expand_half(&self.parameters, &seed, 0, basis)?;
        let mut mask = SecretPoly(half.clone());
        ring.mul_montgomery(&mut mask.0, &self.values.0);
        let error = sampling::gaussian(&mut generator, ring.n());
        let mut first = ring.small(basis, &error);
        ring.sub(&mut first, &mask.0);
        Ok(([first, half], seed))
    }

    /// The sum of `polys[i] s^i`: a message with its error.
    pub(crate) fn phase(&self, polys: &[Poly]) -> SecretPoly {
        let ring = self.parameters.ring();
        // Horner's rule in the secret.
        let mut polys = polys.iter().rev();
        let mut phase = SecretPoly(polys.next().expect("a polynomial").clone());
        for poly in polys {
            ring.mul_montgomery(&mut phase.0, &self.values.0);
            ring.add(&mut phase.0, poly);
        }
        phase
    }
}

impl PublicKey {
    /// An encryption of zero at `level`: made modulo Q P and divided by P, so that the
    /// coefficient error is that of the division's rounding, not of the key.
    pub(crate) fn encrypt_zero(&self, level: usize, operation: &'static str) -> Result<[Poly; 2]> {
        let ring = self.parameters.ring();
        self.parameters.check_level(level, operation)?;
        let extended = self.parameters.extended_basis(level);
        let mut generator = Generator::from_os()?;
        let ephemeral = sampling::ternary(&mut generator, ring.n());
        let ephemeral = SecretPoly(ring.small(extended, &ephemeral));
        let mut halves = self.halves.each_ref().map(|half| {
            let error = sampling::gaussian(&mut generator, ring.n());
            let mut error = SecretPoly(ring.small(extended, &error));
            self.parameters.premultiply_by_inverse(&mut error.0);
            let mut zero = SecretPoly(ephemeral.0.clone());
            ring.mul_montgomery(&mut zero.0, half);
            ring.add(&mut zero.0, &error.0);
            zero
        });
        let division = self.parameters.division_by_special(level);
        Ok(halves.each_mut().map(|zero| division.apply(ring, &zero.0)))
    }
}
