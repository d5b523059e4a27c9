//! Ciphertexts combined with numbers.

use rlwe::ckks::{Complex64, Estimate};

use crate::Result;
use crate::ciphertext::Ciphertext;
use crate::evaluator::Evaluator;
use crate::launch::{Buffer, ConstantOperation, Table, with_constants};

impl Evaluator {
    /// a + value in every slot, for a real number.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn add_real(&self, a: &Ciphertext, value: f64) -> Result<Ciphertext> {
        let operation = "add a scalar";
        self.check(a, operation)?;
        a.estimate.add_scalar(Complex64::new(value, 0.0))?;
        self.with_real(a, value, operation)
    }

    /// a * value for a real number, encoded at `scale`; where that is `None`, at the scale that
    /// rescaling turns into the canonical one of the level below.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn multiply_real(
        &self,
        a: &Ciphertext,
        value: f64,
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        let operation = "multiply by a scalar";
        self.check(a, operation)?;
        let table = a.estimate.real_product_table(value, scale)?;
        self.combined_by(&table, &[a], operation)
    }

    /// a * value for an integer: exact, the scale unchanged.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn multiply_integer(&self, a: &Ciphertext, value: i64) -> Result<Ciphertext> {
        let operation = "multiply by an integer";
        self.check(a, operation)?;
        self.scaled(a, value, a.estimate.multiply_integer(value), operation)
    }

    /// i a, exactly: a times X^(N/2), which is the imaginary unit in every slot. No scale changes.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn multiply_imaginary(&self, a: &Ciphertext) -> Result<Ciphertext> {
        let operation = "multiply by i";
        self.check(a, operation)?;
        let level = self.prepared(a, |level| a.polys() * level.limbs, operation)?;
        let ring = self.ring();
        let units: Vec<u32> = level
            .basis()
            .iter()
            .map(|&position| self.parameters().imaginary_unit(position))
            .collect();
        let units = Table::new(ring.device(), &units.repeat(a.polys()))?;
        let mut product = Buffer::unwritten(ring.device(), a.polys.words(), operation)?;
        let (kind, rows) = (ConstantOperation::ScaleByImaginary, &level.pairs[a.polys() - 1]);
        with_constants(ring, kind, &mut product, Some(&a.polys), rows, &units)?;
        Ok(a.with(a.estimate.clone(), product))
    }

    /// -a.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn negate(&self, a: &Ciphertext) -> Result<Ciphertext> {
        let operation = "negate";
        self.check(a, operation)?;
        self.scaled(a, -1, a.estimate.clone(), operation)
    }

    /// Every residue times an integer.
    fn scaled(
        &self,
        a: &Ciphertext,
        value: i64,
        estimate: Estimate,
        operation: &'static str,
    ) -> Result<Ciphertext> {
        let level = self.prepared(a, |level| a.polys() * level.limbs, operation)?;
        let ring = self.ring();
        let factor = |&position: &usize| {
            let q = i128::from(self.parameters().prime(position));
            ((i128::from(value).rem_euclid(q) << 32) % q) as u32
        };
        let factors: Vec<u32> = level.basis().iter().map(factor).collect();
        let factors = Table::new(ring.device(), &factors.repeat(a.polys()))?;
        let mut product = Buffer::unwritten(ring.device(), a.polys.words(), operation)?;
        let (kind, rows) = (ConstantOperation::Scale, &level.pairs[a.polys() - 1]);
        with_constants(ring, kind, &mut product, Some(&a.polys), rows, &factors)?;
        Ok(a.with(estimate, product))
    }
}
