//! Real multiples of ciphertexts, sums of them, and other levels and scales.

use rlwe::ckks::{AlignmentTable, CombinationTable, Estimate};

use crate::Result;
use crate::ciphertext::Ciphertext;
use crate::division::Division;
use crate::evaluator::Evaluator;
use crate::launch::{
    Buffer, ConstantOperation, Operation, Row, Rows, Table, place, pointwise, with_constants,
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
        let rows: Vec<Row> =
            (0..a.polys()).flat_map(|poly| restricting(&from, &to, poly)).collect();
        self.require(ring.limb_bytes(a.polys() * to.len()), operation)?;
        let words = ring.words(a.polys() * to.len());
        let mut polys = Buffer::unwritten(ring.device(), words, operation)?;
        place(ring, &mut polys, 0, &a.polys, &Rows::new(ring.device(), &rows)?)?;
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
        let rows: Vec<Row> = (0..polys).flat_map(|poly| restricting(&from, start, poly)).collect();
        let rows = Rows::new(device, &scaled(&rows))?;
        for (index, (term, factors)) in terms.iter().zip(&table.factors).enumerate() {
            let kind = match index {
                0 => ConstantOperation::Scale,
                _ => ConstantOperation::AddScaled,
            };
            let constants = Table::new(device, &factors.repeat(polys))?;
            with_constants(ring, kind, &mut sum, Some(&term.polys), &rows, &constants)?;
        }
        let Some(division) = &table.division else {
            return Ok(first.with(table.estimate.clone(), sum));
        };
        let prime = |position: usize| self.parameters().prime(position);
        let division = Division::new(device, division, start, prime)?;
        let quotient = division.apply(ring, &sum, polys, operation)?;
        Ok(first.with(table.estimate.clone(), quotient))
    }

    /// Positions of the primes of an estimate's level.
    fn basis_of(&self, estimate: &Estimate) -> Result<Vec<usize>> {
        Ok(self.parameters().level(estimate.level())?.basis().to_vec())
    }
}

/// The rows that take the limbs of a polynomial over some primes to those over fewer.
fn restricting(from: &[usize], to: &[usize], poly: usize) -> Vec<Row> {
    let row = |(limb, &position): (usize, &usize)| {
        let place = from.iter().position(|&other| other == position);
        let place = place.expect("the primes are among those before");
        Row {
            prime: position as u32,
            to: (poly * to.len() + limb) as u32,
            first: (poly * from.len() + place) as u32,
            second: 0,
        }
    };
    to.iter().enumerate().map(row).collect()
}

/// The same limbs as second operands, beside those of the result.
fn scaled(rows: &[Row]) -> Vec<Row> {
    rows.iter().map(|row| Row { first: row.to, second: row.first, ..*row }).collect()
}
