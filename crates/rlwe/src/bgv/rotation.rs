//! Rotations within rows, and rows swapped.

use std::collections::BTreeSet;

use super::ciphertext::Ciphertext;
use super::evaluator::Evaluator;
use crate::ring::automorphism::conjugation_element;
use crate::{Error, Result};

impl Evaluator {
    /// Rotates both rows to the left: slot i of a row is slot i + k of the same row of a,
    /// cyclically.
    ///
    /// # Errors
    /// [`MissingKey`](crate::Error::MissingKey), [`DegreeMismatch`](crate::Error::DegreeMismatch),
    /// [`NoiseExhausted`](crate::Error::NoiseExhausted),
    /// [`KeyMismatch`](crate::Error::KeyMismatch),
    /// [`ParametersMismatch`](crate::Error::ParametersMismatch).
    pub fn rotate(&self, a: &Ciphertext, k: i64) -> Result<Ciphertext> {
        let mut rotated = self.rotate_hoisted(a, &[k])?;
        Ok(rotated.remove(0))
    }

    /// Rotations of one ciphertext, which share the decomposition (hoisting)
    /// (Halevi and Shoup 2018): each further one costs about a third of a rotation.
    ///
    /// # Errors
    /// As [`Self::rotate`].
    pub fn rotate_hoisted(&self, a: &Ciphertext, ks: &[i64]) -> Result<Vec<Ciphertext>> {
        let operation = "rotate";
        self.check(a, operation)?;
        a.check_degree(1, operation)?;
        let slots = self.parameters().slots() as i64;
        let ks: Vec<i64> = ks.iter().map(|k| k.rem_euclid(slots)).collect();
        let steps = self.keys.steps(&ks, a.level(), operation)?;
        if steps.iter().all(Option::is_none) {
            return Ok(vec![a.clone(); ks.len()]);
        }
        let estimate = a.estimate.rotate()?;
        let rotated = self.keys.rotate_hoisted(&a.polys, a.level(), &steps).into_iter();
        let each = rotated.map(|polys| match polys {
            Some(polys) => a.with(estimate.clone(), polys),
            None => a.clone(),
        });
        Ok(each.collect())
    }

    /// The sum of rotations of one ciphertext by each of `added`, less the sum of those by each
    /// of `subtracted`; 0 stands for the ciphertext itself.
    ///
    /// The rotations share both the digits and the division of key switching (double hoisting:
    /// Bossuat, Mouchet, Troncoso-Pastoriza, Hubaux 2021, section 3.2), and leave less noise than
    /// they do one by one.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Error::InvalidArgument) for a rotation that comes twice and for
    /// sums that have none but that by 0, and those of [`Self::rotate`].
    pub fn rotate_sum(
        &self,
        a: &Ciphertext,
        added: &[i64],
        subtracted: &[i64],
    ) -> Result<Ciphertext> {
        let operation = "sum rotations";
        self.check(a, operation)?;
        a.check_degree(1, operation)?;
        let slots = self.parameters().slots() as i64;
        let [added, subtracted] = [added, subtracted]
            .map(|ks| -> Vec<i64> { ks.iter().map(|k| k.rem_euclid(slots)).collect() });
        let distinct: BTreeSet<i64> = added.iter().chain(&subtracted).copied().collect();
        let terms = added.len() + subtracted.len();
        let moving = distinct.iter().filter(|&&k| k != 0).count();
        if distinct.len() < terms || moving == 0 {
            let reason = format!(
                "expected rotations that differ, one of them not by 0, got {added:?} and \
                 {subtracted:?} modulo {slots} slots"
            );
            return Err(Error::InvalidArgument { operation, reason });
        }
        let level = a.level();
        let added = self.keys.steps(&added, level, operation)?;
        let subtracted = self.keys.steps(&subtracted, level, operation)?;
        let estimate = a.estimate.rotate_sum(terms, moving)?;
        Ok(a.with(estimate, self.keys.rotate_sum(&a.polys, level, &added, &subtracted)))
    }

    /// Each row where the other was.
    ///
    /// # Errors
    /// As [`Self::rotate`].
    pub fn swap_rows(&self, a: &Ciphertext) -> Result<Ciphertext> {
        let operation = "swap rows";
        self.check(a, operation)?;
        a.check_degree(1, operation)?;
        let element = conjugation_element(self.parameters().log_n());
        let name = || "Galois key for swapping rows".to_string();
        let key = self.keys.galois_key(element, a.level(), operation, name)?;
        let estimate = a.estimate.rotate()?;
        Ok(a.with(estimate, self.keys.apply_automorphism(&a.polys, a.level(), (element, key))))
    }
}
