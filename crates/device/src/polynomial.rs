//! Polynomials of ciphertexts on a device, by the plan of the CPU.

use rlwe::ckks::{Arithmetic, Estimate, Polynomial, evaluate_polynomial};

use crate::ciphertext::Ciphertext;
use crate::evaluator::Evaluator;
use crate::{Error, Result};

const EVALUATE: &str = "evaluate a polynomial";

impl Evaluator {
    /// The polynomial of every slot: what [`rlwe::ckks::Evaluator::polynomial`] does.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn polynomial(&self, a: &Ciphertext, polynomial: &Polynomial) -> Result<Ciphertext> {
        self.check(a, EVALUATE)?;
        evaluate_polynomial(self, a, polynomial)
    }
}

impl Arithmetic for Evaluator {
    type Value = Ciphertext;
    type Error = Error;

    fn estimate<'a>(&self, a: &'a Ciphertext) -> &'a Estimate {
        &a.estimate
    }

    fn multiply_lazily(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.multiply_lazily(a, b)
    }

    fn double(&self, a: &mut Ciphertext) -> Result<()> {
        *a = self.doubled(a, EVALUATE)?;
        Ok(())
    }

    fn add_real(&self, a: &mut Ciphertext, value: f64) -> Result<()> {
        *a = self.with_real(a, value, EVALUATE)?;
        Ok(())
    }

    fn add_assign(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<()> {
        *a = self.add(a, b)?;
        Ok(())
    }

    fn relinearize_and_rescale_to(&self, a: &Ciphertext, scale: f64) -> Result<Ciphertext> {
        self.relinearize_and_rescale_to(a, scale)
    }

    fn align(&self, a: &Ciphertext, level: usize, scale: f64) -> Result<Ciphertext> {
        self.align(a, level, scale)
    }

    fn combine(
        &self,
        terms: &[(f64, &Ciphertext)],
        level: usize,
        scale: f64,
    ) -> Result<Ciphertext> {
        self.linear_combination(terms, level, scale, EVALUATE)
    }

    fn bound(&self, a: &mut Ciphertext, bound: f64) {
        // A bound that is smaller than the ciphertext's own, and finite.
        if let Ok(estimate) = a.estimate.with_bound(bound) {
            a.estimate = estimate;
        }
    }
}
