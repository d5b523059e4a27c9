//! Real multiples of ciphertexts, and sums of them, as plain numbers: for an engine on another
//! device.

use rustfft::num_complex::Complex64;

use super::combination::{Alignment, Combination, ScalarFactor, residue};
use super::estimate::Estimate;
use crate::ring::division::{Division, DivisionTable};
use crate::{Error, Result};

/// A sum of real multiples of ciphertexts: what is done with their residues.
#[derive(Debug, Clone, PartialEq)]
pub struct CombinationTable {
    /// Positions of the primes that the sum is taken over, which all terms have.
    pub start: Vec<usize>,
    /// For each term a factor for each of these primes, in Montgomery form.
    pub factors: Vec<Vec<u32>>,
    /// From these primes to those of the level that the sum is brought to; nothing where they are
    /// the same.
    pub division: Option<DivisionTable>,
    /// What the sum says of itself.
    pub estimate: Estimate,
}

/// How a ciphertext comes to another level or scale.
#[derive(Debug, Clone, PartialEq)]
pub enum AlignmentTable {
    /// Its polynomials lose the primes that the level does not have; its scale stays.
    Drop(Estimate),
    /// Its polynomials stay; its scale is read as another that is nearly the same.
    Read(Estimate),
    /// It is multiplied and divided.
    Combine(Box<CombinationTable>),
}

impl CombinationTable {
    fn new(combination: &Combination) -> Self {
        let Combination { factors, start, estimate } = combination;
        let ring = estimate.parameters.ring();
        let to = estimate.parameters.level_basis(estimate.level);
        let of_term = |&factor: &f64| {
            let moduli = ring.moduli(start).into_iter();
            moduli.map(|q| q.to_montgomery(residue(q, factor))).collect()
        };
        Self {
            start: start.iter().collect(),
            factors: factors.iter().map(of_term).collect(),
            division: (start != to).then(|| Division::new(ring, start, to).table()),
            estimate: estimate.clone(),
        }
    }
}

impl Estimate {
    /// The sum of real multiples of ciphertexts of one level and degree, at least one of them,
    /// brought to `level`, not above theirs, and to `scale` there.
    ///
    /// # Errors
    /// [`ScaleOutOfRange`](crate::Error::ScaleOutOfRange),
    /// [`ValueOutOfRange`](crate::Error::ValueOutOfRange),
    /// [`BoundOverflow`](crate::Error::BoundOverflow).
    pub fn combination_table(
        terms: &[(f64, &Self)],
        level: usize,
        scale: f64,
        operation: &'static str,
    ) -> Result<CombinationTable> {
        Ok(CombinationTable::new(&Combination::new(terms, level, scale, operation)?))
    }

    /// What [`Self::align`] does with the residues of a ciphertext.
    ///
    /// # Errors
    /// As [`Self::align`].
    pub fn alignment_table(&self, level: usize, scale: f64) -> Result<AlignmentTable> {
        Ok(match self.alignment(level, scale)? {
            Alignment::Drop(estimate) => AlignmentTable::Drop(estimate),
            Alignment::Read(estimate) => AlignmentTable::Read(estimate),
            Alignment::Combine(combination) => {
                AlignmentTable::Combine(Box::new(CombinationTable::new(&combination)))
            }
        })
    }

    /// A product with a real number, encoded at `scale`; where that is `None`, at the scale that
    /// rescaling turns into the canonical one of the level below.
    ///
    /// # Errors
    /// As [`Self::multiply_scalar`].
    pub fn real_product_table(&self, value: f64, scale: Option<f64>) -> Result<CombinationTable> {
        match self.scalar_factor(Complex64::new(value, 0.0), scale)? {
            ScalarFactor::Real(combination) => Ok(CombinationTable::new(&combination)),
            ScalarFactor::Complex(_) => {
                Err(Error::NotFinite { operation: "multiply by a scalar", index: 0 })
            }
        }
    }

    /// For each prime of the level what is added to every residue of the first polynomial for a real
    /// number in every slot, and the sum.
    ///
    /// # Errors
    /// [`ValueOutOfRange`](crate::Error::ValueOutOfRange) for a number that overflows at the scale.
    pub fn real_constants(&self, value: f64, operation: &'static str) -> Result<(Vec<u32>, Self)> {
        let (constant, estimate) = self.add_real(value, operation)?;
        let ring = self.parameters.ring();
        let moduli = ring.moduli(self.parameters.level_basis(self.level)).into_iter();
        Ok((moduli.map(|q| residue(q, constant)).collect(), estimate))
    }
}
