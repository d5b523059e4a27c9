//! Real multiples of ciphertexts, sums of them, and other levels and scales.

use rlwe::ckks::{AlignmentTable, CombinationTable, Estimate};

use crate::Result;
use crate::ciphertext::Ciphertext;
use crate::evaluator::Evaluator;
use crate::launch::{
    Buffer, ConstantOperation, Operation, Table, combine, place, pointwise, with_constants,
};

impl Evaluator {
    /// Brings a to a lower level and to `scale` there, values unchanged.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn align(&self, a: &Ciphertext, level: usize, scale: f64) -> Result<Ciphertext> {
        let operation = "drop a level";
        self.check(a, operation)?;
        match a.estimate.alignment_table(level, scale)? {
            AlignmentTable::Drop(estimate) => self.restricted(a, estimate, operation),
            AlignmentTable::Read(estimate) => Ok(Ciphertext { estimate, ..a.clone() }),
            AlignmentTable::Combine(table) => self.combined_by(&table, &[a], operation),
        }
    }

    /// Brings a to a lower level, values and scale unchanged.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn drop_level(&self, a: &Ciphertext, level: usize) -> Result<Ciphertext> {
        self.align(a, level, a.estimate.scale())
    }

    /// The sum of real multiples of ciphertexts of one level and degree, at least one, brought to
    /// `level`, not above theirs, and to `scale` there.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub(crate) fn linear_combination(
        &self,
        terms: &[(f64, &Ciphertext)],
        level: usize,
        scale: f64,
        operation: &'static str,
    ) -> Result<Ciphertext> {
        let estimates: Vec<(f64, &Estimate)> =
            terms.iter().map(|&(factor, a)| (factor, &a.estimate)).collect();
        let table = Estimate::combination_table(&estimates, level, scale, operation)?;
        let operands: Vec<&Ciphertext> = terms.iter().map(|&(_, a)| a).collect();
        self.combined_by(&table, &operands, operation)
    }

    /// a with a number added to every slot.
    pub(crate) fn with_real(
        &self,
        a: &Ciphertext,
        value: f64,
        operation: &'static str,
    ) -> Result<Ciphertext> {
        let (constants, estimate) = a.estimate.real_constants(value, operation)?;
        let level = self.prepared(a, |level| a.polys() * level.limbs, operation)?;
        let (ring, device) = (self.ring(), self.parameters().device());
        let constants = Table::new(device, &constants)?;
        let mut sum = a.polys.duplicate(operation)?;
        let (kind, rows) = (ConstantOperation::AddConstant, &level.pairs[0]);
        with_constants(ring, kind, &mut sum, None, rows, &constants)?;
        Ok(a.with(estimate, sum))
    }

    /// 2 a.
    pub(crate) fn doubled(&self, a: &Ciphertext, operation: &'static str) -> Result<Ciphertext> {
        let level = self.prepared(a, |level| a.polys() * level.limbs, operation)?;
        let (ring, rows) = (self.ring(), &level.pairs[a.polys() - 1]);
        let mut sum = Buffer::unwritten(ring.device(), a.polys.words(), operation)?;
        pointwise(ring, Operation::Add, &mut sum, Some(&a.polys), &a.polys, rows)?;
        Ok(a.with(a.estimate.doubled(), sum))
    }

    /// a modulo fewer primes.
    fn restricted(
        &self,
        a: &Ciphertext,
        estimate: Estimate,
        operation: &'static str,
    ) -> Result<Ciphertext> {
        if estimate.level() == a.estimate.level() {
            return Ok(Ciphertext { estimate, ..a.clone() });
        }
        let (from, to) = (self.basis_of(&a.estimate)?, self.basis_of(&estimate)?);
        let ring = self.ring();
        self.require(ring.limb_bytes(a.polys() * to.len()), operation)?;
        let words = ring.words(a.polys() * to.len());
        let mut polys = Buffer::unwritten(ring.device(), words, operation)?;
        let rows = self.parameters().restriction(a.polys(), from, to)?;
        place(ring, &mut polys, 0, &a.polys, &rows)?;
        Ok(a.with(estimate, polys))
    }

    /// The sum that a table describes.
    pub(crate) fn combined_by(
        &self,
        table: &CombinationTable,
        terms: &[&Ciphertext],
        operation: &'static str,
    ) -> Result<Ciphertext> {
        let (ring, device) = (self.ring(), self.parameters().device());
        let (first, start) = (terms[0], &table.start);
        let (polys, from) = (first.polys(), self.basis_of(&first.estimate)?);
        let divided = table.division.as_ref().map_or(0, |division| {
            division.conversion.sources.len() + division.conversion.targets.len()
        });
        self.require(ring.limb_bytes(polys * (start.len() + divided)), operation)?;
        let mut sum = Buffer::unwritten(device, ring.words(polys * start.len()), operation)?;
        let rows = self.parameters().restriction(polys, from, start)?;
        let constants: Vec<u32> =
            table.factors.iter().flat_map(|factors| factors.repeat(polys)).collect();
        let limbs: Vec<&Buffer> = terms.iter().map(|term| &*term.polys).collect();
        combine(ring, &mut sum, &limbs, &rows, &constants)?;
        let Some(division) = &table.division else {
            return Ok(first.with(table.estimate.clone(), sum));
        };
        let division = self.parameters().division(start, division)?;
        let quotient = division.apply(ring, &sum, polys, operation)?;
        Ok(first.with(table.estimate.clone(), quotient))
    }

    /// Positions of the primes of an estimate's level.
    fn basis_of(&self, estimate: &Estimate) -> Result<&[usize]> {
        Ok(self.parameters().level(estimate.level())?.basis())
    }
}
