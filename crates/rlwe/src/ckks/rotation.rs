//! Rotations, conjugation and inner sums.

use rayon::prelude::*;

use super::ciphertext::Ciphertext;
use super::evaluator::Evaluator;
use crate::key_switching::{Decomposition, decompose};
use crate::keys::{SwitchingKey, check_element};
use crate::ring::automorphism::{Automorphism, conjugation_element, rotation_element};
use crate::{Error, Result};

impl Evaluator {
    /// Rotates to the left: slot i of the result is slot i + k of a, cyclically.
    ///
    /// # Errors
    /// [`Error::MissingKey`], [`Error::DegreeMismatch`], [`Error::KeyMismatch`],
    /// [`Error::ParametersMismatch`].
    pub fn rotate(&self, a: &Ciphertext, k: i64) -> Result<Ciphertext> {
        let mut rotated = self.rotate_hoisted(a, &[k])?;
        Ok(rotated.remove(0))
    }

    /// Rotations of one ciphertext, which share the dear part of key switching
    /// (Halevi and Shoup 2018): each further one costs about a third of a rotation.
    ///
    /// # Errors
    /// As [`Self::rotate`].
    pub fn rotate_hoisted(&self, a: &Ciphertext, ks: &[i64]) -> Result<Vec<Ciphertext>> {
        let operation = "rotate";
        self.check(a, operation)?;
        a.check_degree(1, operation)?;
        let slots = a.slots as i64;
        let keys: Vec<_> =
            ks.iter()
                .map(|k| k.rem_euclid(slots))
                .map(|k| {
                    if k == 0 {
                        Ok(None)
                    } else {
                        self.rotation_key(k, a.level, operation).map(Some)
                    }
                })
                .collect::<Result<_>>()?;
        if keys.iter().all(Option::is_none) {
            return Ok(vec![a.clone(); ks.len()]);
        }
        let decomposition = decompose(self.parameters(), a.level, &a.polys[1]);
        let rotate = |key: &Option<(usize, &SwitchingKey)>| match key {
            Some((element, key)) => self.apply_automorphism(a, &decomposition, *element, key),
            None => a.clone(),
        };
        Ok(keys.par_iter().map(rotate).collect())
    }

    /// The Galois element and key of a rotation by `k`, which is in `0..slots`.
    pub(crate) fn rotation_key(
        &self,
        k: i64,
        level: usize,
        operation: &'static str,
    ) -> Result<(usize, &SwitchingKey)> {
        let element = rotation_element(self.parameters().log_n(), k);
        let name = || format!("Galois key for a rotation by {k}");
        Ok((element, self.keys.galois_key(element, level, operation, name)?))
    }

    /// The complex conjugate of every slot.
    ///
    /// # Errors
    /// As [`Self::rotate`].
    pub fn conjugate(&self, a: &Ciphertext) -> Result<Ciphertext> {
        let element = conjugation_element(self.parameters().log_n());
        self.moved(a, element, "conjugate", || "Galois key for conjugation".to_string())
    }

    /// The image under X -> X^element: what slot i holds moves to where the automorphism takes
    /// it, a rotation, a conjugation or both.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] unless `element` is odd and below 2N, and those of
    /// [`Self::rotate`].
    pub fn automorphism(&self, a: &Ciphertext, element: usize) -> Result<Ciphertext> {
        let operation = "apply an automorphism";
        check_element(self.parameters().log_n(), element, operation)?;
        self.moved(a, element, operation, || format!("Galois key for X -> X^{element}"))
    }

    fn moved(
        &self,
        a: &Ciphertext,
        element: usize,
        operation: &'static str,
        name: impl FnOnce() -> String,
    ) -> Result<Ciphertext> {
        self.check(a, operation)?;
        a.check_degree(1, operation)?;
        if element == 1 {
            return Ok(a.clone());
        }
        let key = self.keys.galois_key(element, a.level, operation, name)?;
        let decomposition = decompose(self.parameters(), a.level, &a.polys[1]);
        Ok(self.apply_automorphism(a, &decomposition, element, key))
    }

    fn apply_automorphism(
        &self,
        a: &Ciphertext,
        decomposition: &Decomposition<'_>,
        element: usize,
        key: &SwitchingKey,
    ) -> Ciphertext {
        let parameters = self.parameters();
        let automorphism = Automorphism::new(parameters.log_n(), element);
        let polys = decomposition
            .switch_divide_then_permute(parameters, key, &a.polys[0], &automorphism)
            .into();
        let estimate = a.estimate.with_error(self.key_switching_error(a));
        Ciphertext { polys, estimate, seed: None, ..Self::header(a) }
    }

    /// Slot i of the result is the sum of slots i, i + stride, ..., i + (length - 1) stride
    /// of a, cyclically, in about log2(length) rotations: those of [`inner_sum_rotations`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a length of zero, and those of [`Self::rotate`].
    pub fn inner_sum(&self, a: &Ciphertext, length: usize, stride: i64) -> Result<Ciphertext> {
        self.check(a, "sum slots")?;
        if length == 0 {
            let reason = "the length is zero".to_string();
            return Err(Error::InvalidArgument { operation: "sum slots", reason });
        }
        // Rotations count modulo the slots, a power of two, so that wrapping is exact.
        // The sum over a prefix of the length's bits doubles with each bit that follows, and
        // gains one term where that bit is set.
        let mut sum = a.clone();
        let mut summed = 1i64;
        for bit in (0..length.ilog2()).rev() {
            sum = self.add(&sum, &self.rotate(&sum, summed.wrapping_mul(stride))?)?;
            summed = summed.wrapping_mul(2);
            if length >> bit & 1 == 1 {
                sum = self.add(a, &self.rotate(&sum, stride)?)?;
                summed = summed.wrapping_add(1);
            }
        }
        Ok(sum)
    }
}

/// The rotations that [`Evaluator::inner_sum`] takes, with repeats.
pub fn inner_sum_rotations(length: usize, stride: i64) -> Vec<i64> {
    let mut rotations = Vec::new();
    let mut summed = 1i64;
    for bit in (0..length.checked_ilog2().unwrap_or(0)).rev() {
        rotations.push(summed.wrapping_mul(stride));
        summed = summed.wrapping_mul(2);
        if length >> bit & 1 == 1 {
            rotations.push(stride);
            summed = summed.wrapping_add(1);
        }
    }
    rotations
}
