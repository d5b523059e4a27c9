//! Products of ciphertexts, before a scheme says what they mean.

use rayon::prelude::*;

use super::key_switching::mod_up;
use super::keys::EvaluationKeys;
use crate::Result;
use crate::parallel;
use crate::ring::division::Division;
use crate::ring::kernels;
use crate::ring::modulus::Modulus;
use crate::ring::poly::{Poly, Ring};

/// (a0 + a1 s)(b0 + b1 s) as three coefficients of s; `finish` is called for every limb.
pub(crate) fn tensor(
    ring: &Ring,
    a: &[Poly],
    b: &[Poly],
    finish: impl Fn(Modulus, &mut [u32]) + Sync,
) -> [Poly; 3] {
    let mut polys = [(); 3].map(|()| ring.unwritten(&a[0].basis));
    let [p0, p1, p2] = &mut polys;
    let rows = p0.limbs_mut().zip(p1.limbs_mut()).zip(p2.limbs_mut());
    let rows: Vec<_> = rows.map(|(((p, x), (_, y)), (_, z))| (p, [x, y, z])).collect();
    parallel::over(rows).shared().for_each(|(position, mut products)| {
        let modulus = ring.modulus(position);
        let [a, b] = [a, b].map(|x| [x[0].limb(position), x[1].limb(position)]);
        kernels::tensor(modulus, a, b, products.each_mut().map(|limb| &mut **limb));
        products.into_iter().for_each(|limb| finish(modulus, limb));
    });
    polys
}

impl EvaluationKeys {
    /// P times a ciphertext of degree 2, as one of degree 1 over Q P held divided, divided by
    /// `division`.
    pub(crate) fn relinearize(
        &self,
        polys: &[Poly],
        level: usize,
        division: &Division,
    ) -> Result<[Poly; 2]> {
        let parameters = &self.parameters;
        let ring = parameters.ring();
        let key = self.relinearisation_key(level, "relinearise")?;
        let mut switched = mod_up(parameters, level, &polys[2]).switch(parameters, key);
        for (sum, addend) in switched.iter_mut().zip(polys) {
            let limbs = sum.par_limbs_mut().shared().filter(|(p, _)| addend.basis.contains(*p));
            limbs.for_each(|(p, limb)| kernels::add(ring.modulus(p), limb, addend.limb(p)));
        }
        Ok(division.apply_to_all(ring, switched.each_ref()))
    }
}
