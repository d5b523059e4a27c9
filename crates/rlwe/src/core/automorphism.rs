//! Automorphisms of ciphertexts of degree 1, in every scheme.

use rayon::prelude::*;

use super::key_switching::{Automorphisms, Decomposition, Step, mod_up};
use super::keys::{EvaluationKeys, SwitchingKey};
use crate::Result;
use crate::parallel;
use crate::ring::automorphism::rotation_element;
use crate::ring::kernels;
use crate::ring::poly::Poly;

impl EvaluationKeys {
    /// The keys of rotations in `0..slots`.
    pub(crate) fn steps(
        &self,
        rotations: &[i64],
        level: usize,
        operation: &'static str,
    ) -> Result<Vec<Step<'_>>> {
        let log_n = self.parameters.log_n();
        let find = |&k: &i64| {
            let name = || format!("Galois key for a rotation by {k}");
            match (k, rotation_element(log_n, k)) {
                (0, _) => Ok(None),
                (_, g) => Ok(Some((g, self.galois_key(g, level, operation, name)?))),
            }
        };
        rotations.iter().map(find).collect()
    }

    /// Rotations of one ciphertext, which share the decomposition (hoisting); nothing where
    /// it stays.
    pub(crate) fn rotate_hoisted(
        &self,
        polys: &[Poly],
        level: usize,
        steps: &[Step<'_>],
    ) -> Vec<Option<[Poly; 2]>> {
        if steps.iter().all(Option::is_none) {
            return steps.iter().map(|_| None).collect();
        }
        let decomposition = mod_up(&self.parameters, level, &polys[1]);
        let rotate = |step: &Step<'_>| Some(self.applied(polys, &decomposition, (*step)?));
        parallel::over(steps).shared().map(rotate).collect()
    }

    /// The sum of rotations of one ciphertext, less the sum of others: all share ModDown as
    /// well.
    pub(crate) fn rotate_sum(
        &self,
        polys: &[Poly],
        level: usize,
        added: &[Step<'_>],
        subtracted: &[Step<'_>],
    ) -> [Poly; 2] {
        let ring = self.parameters.ring();
        let staying = [added, subtracted].map(|steps| steps.iter().any(Option::is_none));
        let [added, subtracted] = [added, subtracted]
            .map(|steps| -> Vec<_> { steps.iter().flatten().copied().collect() });
        let automorphisms = Automorphisms::new(&self.parameters, level, &added, &subtracted);
        let decomposition = mod_up(&self.parameters, level, &polys[1]);
        decomposition.switch_mod_down_then_permute(
            &self.parameters,
            &automorphisms,
            &polys[0],
            |position, limbs| {
                let modulus = ring.modulus(position);
                for (limb, poly) in limbs.into_iter().zip(polys) {
                    match staying {
                        [true, false] => kernels::add(modulus, limb, poly.limb(position)),
                        [false, true] => kernels::sub(modulus, limb, poly.limb(position)),
                        _ => (),
                    }
                }
            },
        )
    }

    /// The image of a ciphertext under one automorphism, given by Galois element and key.
    pub(crate) fn apply_automorphism(
        &self,
        polys: &[Poly],
        level: usize,
        automorphism: (usize, &SwitchingKey),
    ) -> [Poly; 2] {
        let decomposition = mod_up(&self.parameters, level, &polys[1]);
        self.applied(polys, &decomposition, automorphism)
    }

    /// [`Self::apply_automorphism`] of what is decomposed already.
    pub(super) fn applied(
        &self,
        polys: &[Poly],
        decomposition: &Decomposition<'_>,
        automorphism: (usize, &SwitchingKey),
    ) -> [Poly; 2] {
        let automorphisms =
            Automorphisms::new(&self.parameters, decomposition.level(), &[automorphism], &[]);
        decomposition.switch_mod_down_then_permute(
            &self.parameters,
            &automorphisms,
            &polys[0],
            |_, _| (),
        )
    }
}
