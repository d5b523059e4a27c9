//! What the operations of one level need on a device.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rlwe::tables::{DigitTable, LevelTable};

use crate::Result;
use crate::division::{Division, MOST_POLYS, rows_by_polys};
use crate::launch::{
    ABSENT, ConversionTables, Decomposed, Device, InnerProductTables, Row, Rows, Table,
};

/// The tables of one level.
#[derive(Debug)]
pub(crate) struct Level {
    /// Limbs of a polynomial over the level's primes, and over those of key switching too.
    pub(crate) limbs: usize,
    pub(crate) extended: usize,
    /// Limbs of the extensions of all digits.
    pub(crate) extensions: usize,
    /// Positions of the level's primes.
    pub(crate) positions: Table,
    /// Limbs of one to three polynomials and the same limbs of others.
    pub(crate) pairs: [Rows; MOST_POLYS],
    /// The same, and the limbs of one plaintext for all.
    pub(crate) with_plaintext: [Rows; MOST_POLYS],
    /// Limbs of two polynomials over all primes, and the same of two over the level's.
    pub(crate) pairs_in_extended: Rows,
    /// The coefficients of polynomials 0, 1 and 2.
    pub(crate) coefficients: [Rows; MOST_POLYS],
    /// Positions of the extended basis.
    pub(crate) extended_positions: Table,
    /// Two polynomials over the level's primes, each as one over all whose others are zero.
    pub(crate) placed_in_extended: Rows,
    /// One polynomial over all primes as the first and as the second of two.
    pub(crate) halves: [Rows; 2],
    /// One polynomial over the level's primes, as the first and as the second of two over all whose
    /// other limbs are zero.
    pub(crate) placed_halves: [Rows; 2],
    /// Two polynomials over all primes and two others.
    pub(crate) extended_pairs: Rows,
    pub(crate) digits: Vec<ConversionTables>,
    /// The transforms of all extensions.
    pub(crate) extension_rows: Rows,
    pub(crate) division_by_special: Division,
    pub(crate) rescale: Option<Division>,
    pub(crate) rescale_from_extended: Option<Division>,
    table: LevelTable,
    /// By the level of a key.
    switching: Mutex<BTreeMap<usize, Arc<SwitchingTables>>>,
}

/// What keys of one level need, to switch a polynomial of another.
#[derive(Debug)]
pub(crate) struct SwitchingTables {
    /// Of polynomial 1 of a ciphertext, to which polynomial 0 is added.
    pub(crate) rotation: InnerProductTables,
    /// Of polynomial 2.
    pub(crate) relinearisation: InnerProductTables,
    /// Of a polynomial by itself, to which one over all primes is added.
    pub(crate) giant: InnerProductTables,
    /// The same with one over the level's primes.
    pub(crate) divided_giant: InnerProductTables,
    /// For each digit, its place in the key.
    pub(crate) places: Table,
}

impl Level {
    /// The level of `table`, in a ring whose primes `prime` gives by position.
    pub(crate) fn new(
        device: &Device,
        table: &LevelTable,
        prime: impl Fn(usize) -> u32 + Copy,
    ) -> Result<Self> {
        let LevelTable { basis, extended, .. } = table;
        let limbs = basis.len();
        let of_poly = |poly: usize| poly * limbs;
        let pairs = |poly| rows_of(basis, |limb| [limb + of_poly(poly); 3]);
        let with_plaintext =
            |poly| rows_of(basis, |limb| [limb + of_poly(poly), limb + of_poly(poly), limb]);
        let in_extended = |poly: usize| {
            rows_of(basis, |limb| {
                let place = limb_of(extended, basis[limb]).expect("a prime of the level");
                let at = poly * extended.len() + place;
                [at, at, limb + of_poly(poly)]
            })
        };
        let coefficients = |poly| rows_of(basis, |limb| [limb, limb + of_poly(poly), 0]);
        let placed = |poly: usize, source: usize| {
            rows_of(extended, |limb| {
                let from = limb_of(basis, extended[limb]).map(|from| from + of_poly(source));
                [limb + poly * extended.len(), from.unwrap_or(ABSENT as usize), 0]
            })
        };
        let half = |poly| rows_of(extended, |limb| [limb + poly * extended.len(), limb, 0]);
        let extended_pair = |poly| rows_of(extended, |limb| [limb + poly * extended.len(); 3]);
        let (digits, extension_rows) = extensions(device, table)?;
        let division = |table| Division::new(device, table, basis, prime);
        let from_extended = |table| Division::new(device, table, extended, prime);
        let rescale_from_extended = table.rescale_from_extended.as_ref();
        Ok(Self {
            limbs,
            extended: extended.len(),
            extensions: extension_rows.len(),
            positions: positions_of(device, basis)?,
            pairs: rows_by_polys(device, pairs)?,
            with_plaintext: rows_by_polys(device, with_plaintext)?,
            pairs_in_extended: Rows::new(device, &[in_extended(0), in_extended(1)].concat())?,
            coefficients: [
                Rows::new(device, &coefficients(0))?,
                Rows::new(device, &coefficients(1))?,
                Rows::new(device, &coefficients(2))?,
            ],
            extended_positions: positions_of(device, extended)?,
            placed_in_extended: Rows::new(device, &[placed(0, 0), placed(1, 1)].concat())?,
            halves: [Rows::new(device, &half(0))?, Rows::new(device, &half(1))?],
            placed_halves: [Rows::new(device, &placed(0, 0))?, Rows::new(device, &placed(1, 0))?],
            extended_pairs: Rows::new(device, &[extended_pair(0), extended_pair(1)].concat())?,
            digits,
            extension_rows,
            division_by_special: from_extended(&table.division_by_special)?,
            rescale: table.rescale.as_ref().map(division).transpose()?,
            rescale_from_extended: rescale_from_extended.map(from_extended).transpose()?,
            table: table.clone(),
            switching: Mutex::default(),
        })
    }

    /// Positions of the level's primes.
    pub(crate) fn basis(&self) -> &[usize] {
        &self.table.basis
    }

    /// The tables for a key of `key_level`, which has digits of these numbers and primes at these
    /// positions.
    pub(crate) fn switching(
        &self,
        device: &Device,
        key_level: usize,
        key_digits: &[usize],
        key_positions: &[usize],
    ) -> Result<Arc<SwitchingTables>> {
        let mut known = self.switching.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tables) = known.get(&key_level) {
            return Ok(Arc::clone(tables));
        }
        let tables = Arc::new(self.made_switching(device, key_digits, key_positions)?);
        known.insert(key_level, Arc::clone(&tables));
        Ok(tables)
    }

    fn made_switching(
        &self,
        device: &Device,
        key_digits: &[usize],
        key_positions: &[usize],
    ) -> Result<SwitchingTables> {
        let LevelTable { basis, extended, digits, .. } = &self.table;
        let inner_product = |poly: usize, added: &[usize]| {
            let limb = |&position: &usize| {
                let key = limb_of(key_positions, position);
                let key = key.expect("a key has the primes of the levels that it serves");
                let addend = limb_of(added, position).map(|limb| limb as u32);
                (position as u32, key as u32, addend)
            };
            let limbs: Vec<_> = extended.iter().map(limb).collect();
            let decomposed = |&position: &usize| self.decomposed(poly, position);
            let digits: Vec<_> = extended.iter().map(decomposed).collect();
            InnerProductTables::new(device, &limbs, &digits)
        };
        let place = |digit: &DigitTable| {
            let place = limb_of(key_digits, digit.index);
            place.expect("a key has the digits of the levels that it serves") as u32
        };
        let places: Vec<u32> = digits.iter().map(place).collect();
        Ok(SwitchingTables {
            rotation: inner_product(1, basis)?,
            relinearisation: inner_product(2, &[])?,
            giant: inner_product(0, extended)?,
            divided_giant: inner_product(0, basis)?,
            places: Table::new(device, &places)?,
        })
    }

    /// Where each digit of a ciphertext's polynomial stands modulo the prime at a position: in the
    /// polynomial itself for the digit's own primes, else among the extensions.
    fn decomposed(&self, poly: usize, position: usize) -> Vec<Decomposed> {
        let LevelTable { basis, digits, .. } = &self.table;
        let mut start = 0;
        let of_digit = |digit: &DigitTable| {
            let others = &digit.conversion.targets;
            let limb = match limb_of(others, position) {
                Some(limb) => Decomposed::Extension((start + limb) as u32),
                None => {
                    let limb = limb_of(basis, position).expect("a digit's own prime");
                    Decomposed::Whole((poly * basis.len() + limb) as u32)
                }
            };
            start += others.len();
            limb
        };
        digits.iter().map(of_digit).collect()
    }
}

/// The place of a position among others.
fn limb_of(positions: &[usize], position: usize) -> Option<usize> {
    positions.iter().position(|&other| other == position)
}

fn positions_of(device: &Device, basis: &[usize]) -> Result<Table> {
    let positions: Vec<u32> = basis.iter().map(|&position| position as u32).collect();
    Table::new(device, &positions)
}

/// A row for each prime of a basis: `limbs` gives the limbs of the result and of both operands.
fn rows_of(basis: &[usize], limbs: impl Fn(usize) -> [usize; 3]) -> Vec<Row> {
    let row = |(limb, &prime): (usize, &usize)| {
        let [to, first, second] = limbs(limb).map(|limb| limb as u32);
        Row { prime: prime as u32, to, first, second }
    };
    basis.iter().enumerate().map(row).collect()
}

/// The conversions of all digits, whose extensions stand one after the other, and the transforms of
/// these.
fn extensions(device: &Device, table: &LevelTable) -> Result<(Vec<ConversionTables>, Rows)> {
    let mut transforms = Vec::new();
    let mut digits = Vec::new();
    for DigitTable { conversion, .. } in &table.digits {
        let source = |&position: &usize| {
            limb_of(&table.basis, position).expect("a digit's primes are the level's") as u32
        };
        let sources: Vec<u32> = conversion.sources.iter().map(source).collect();
        let start = transforms.len();
        transforms.extend(rows_of(&conversion.targets, |limb| [start + limb, start + limb, 0]));
        let targets: Vec<u32> = (start..transforms.len()).map(|limb| limb as u32).collect();
        digits.push(ConversionTables::new(device, conversion, &sources, &targets)?);
    }
    Ok((digits, Rows::new(device, &transforms)?))
}
