//! Raising the modulus on a device, under a sparse secret (Bossuat, Troncoso-Pastoriza, Hubaux,
//! eprint 2022/024).

use rlwe::tables::{ConversionTable, EncapsulationTable};

use crate::Result;
use crate::ciphertext::Ciphertext;
use crate::decomposition::{Decomposition, switching_limbs};
use crate::division::Division;
use crate::evaluator::Evaluator;
use crate::keys::Purpose;
use crate::launch::{
    Buffer, ConversionTables, Device, Operation, Row, Rows, convert, forward, inverse, place,
    pointwise,
};
use crate::parameters::Parameters;

pub(crate) const BOOTSTRAP: &str = "bootstrap";

/// The tables for raising ciphertexts of level 0 to one level.
#[derive(Debug)]
pub(crate) struct Raising {
    level: usize,
    /// Limbs of a polynomial over the primes that the sparse secret is used with.
    limbs: usize,
    /// The second polynomial of a ciphertext, to those.
    second: Extension,
    /// It times both halves of a key.
    products: Rows,
    division: Division,
    /// Both polynomials, to the level.
    both: Extension,
}

impl Raising {
    pub(crate) fn new(parameters: &Parameters, level: usize) -> Result<Self> {
        let device = parameters.device();
        let table = parameters.host().encapsulation_table(level)?;
        let EncapsulationTable { basis, to_sparse, division, raising } = &table;
        let (lowest, raised) = (parameters.level(0)?, parameters.level(level)?);
        let limbs = basis.len();
        let product = |half: usize| {
            let row = move |(limb, &prime): (usize, &usize)| Row {
                prime: prime as u32,
                to: (half * limbs + limb) as u32,
                first: limb as u32,
                second: (half * limbs + limb) as u32,
            };
            basis.iter().enumerate().map(row)
        };
        let products: Vec<Row> = product(0).chain(product(1)).collect();
        let prime = |position| parameters.prime(position);
        Ok(Self {
            level,
            limbs,
            second: Extension::new(device, to_sparse, lowest.basis(), basis, 1..2)?,
            products: Rows::new(device, &products)?,
            division: Division::new(device, division, basis, prime)?,
            both: Extension::new(device, raising, lowest.basis(), raised.basis(), 0..2)?,
        })
    }
}

/// Limbs that raising to a level works on at most at once, its result among them.
pub(crate) fn raising_limbs(parameters: &Parameters, level: usize) -> Result<usize> {
    let table = parameters.host().encapsulation_table(level)?;
    let (lowest, level) = (parameters.level(0)?.limbs, parameters.level(level)?);
    let conversion = &table.division.conversion;
    let divided = 2 * (conversion.sources.len() + conversion.targets.len());
    // The second polynomial and its coefficients, the key and the products.
    let to_sparse = lowest + 5 * table.basis.len() + divided;
    let switched = switching_limbs(level, &level.division_by_special);
    Ok(to_sparse.max(4 * lowest + 2 * level.limbs + switched))
}

/// Polynomials over the primes of level 0, centred, over those of a larger basis.
#[derive(Debug)]
struct Extension {
    polys: usize,
    /// Limbs of each before and after.
    from: usize,
    to: usize,
    coefficients: Rows,
    conversion: ConversionTables,
    /// The limbs that the conversion makes, and those that stay as they are.
    made: Rows,
    staying: Rows,
}

impl Extension {
    /// Of those polynomials of a ciphertext, from one basis to another.
    fn new(
        device: &Device,
        table: &ConversionTable,
        from: &[usize],
        to: &[usize],
        polys: std::ops::Range<usize>,
    ) -> Result<Self> {
        let limb_of = |basis: &[usize], position: usize| {
            let limb = basis.iter().position(|&other| other == position);
            limb.expect("a prime of the basis")
        };
        let count = polys.len();
        let rows = |basis: &[usize], limbs: &dyn Fn(usize, usize) -> (usize, usize)| {
            let row = |poly: usize, position: usize| {
                let (to, first) = limbs(poly, position);
                Row { prime: position as u32, to: to as u32, first: first as u32, second: 0 }
            };
            let all: Vec<Row> = (0..count)
                .flat_map(|poly| basis.iter().map(move |&position| (poly, position)))
                .map(|(poly, position)| row(poly, position))
                .collect();
            Rows::new(device, &all)
        };
        let start = polys.start;
        let before = |poly: usize, position| poly * from.len() + limb_of(from, position);
        let after = |poly: usize, position| poly * to.len() + limb_of(to, position);
        let limbs = |basis: &[usize], among: &[usize]| -> Vec<u32> {
            basis.iter().map(|&position| limb_of(among, position) as u32).collect()
        };
        let (sources, targets) = (limbs(&table.sources, from), limbs(&table.targets, to));
        Ok(Self {
            polys: count,
            from: from.len(),
            to: to.len(),
            coefficients: rows(from, &|poly, p| (before(poly, p), before(poly + start, p)))?,
            conversion: ConversionTables::new(device, table, &sources, &targets)?,
            made: rows(&table.targets, &|poly, p| (after(poly, p), after(poly, p)))?,
            staying: rows(from, &|poly, p| (after(poly, p), before(poly + start, p)))?,
        })
    }

    fn apply(&self, parameters: &Parameters, polys: &Buffer) -> Result<Buffer> {
        let (ring, device) = (parameters.residues(), parameters.device());
        let words = ring.words(self.polys * self.from);
        let mut coefficients = Buffer::unwritten(device, words, BOOTSTRAP)?;
        inverse(ring, &mut coefficients, Some(polys), &self.coefficients)?;
        let words = ring.words(self.polys * self.to);
        let mut extended = Buffer::unwritten(device, words, BOOTSTRAP)?;
        let Self { to, from, conversion, .. } = self;
        convert(ring, &mut extended, *to, &coefficients, *from, self.polys, conversion)?;
        forward(ring, &mut extended, None, &self.made)?;
        place(ring, &mut extended, 0, polys, &self.staying)?;
        Ok(extended)
    }
}

impl Evaluator {
    /// The polynomials of a ciphertext of level 0, raised: it encrypts what it did plus multiples of
    /// the modulus of level 0.
    pub(crate) fn raised(&self, a: &Ciphertext, raising: &Raising) -> Result<Buffer> {
        let (parameters, ring) = (self.parameters(), self.ring());
        let working = ring.limb_bytes(raising_limbs(parameters, raising.level)?);
        self.require(working, BOOTSTRAP)?;
        let sparse = self.switched_to_sparse(a, raising)?;
        let raised = raising.both.apply(parameters, &sparse)?;
        let level = parameters.level(raising.level)?;
        let division = &level.division_by_special;
        let working = ring.limb_bytes(switching_limbs(level, division));
        let key = self.key_at(Purpose::FromSparse, raising.level, working, BOOTSTRAP)?;
        let decomposition = Decomposition::new(parameters, level, &raised, 1, BOOTSTRAP)?;
        // P times the first polynomial is added before it is divided by P.
        let switched = decomposition.rotated(&key, 1, BOOTSTRAP)?;
        division.apply(ring, &switched, 2, BOOTSTRAP)
    }

    /// Under the sparse secret, at level 0.
    fn switched_to_sparse(&self, a: &Ciphertext, raising: &Raising) -> Result<Buffer> {
        let (parameters, ring) = (self.parameters(), self.ring());
        let second = raising.second.apply(parameters, &a.polys)?;
        let key = self.key_to_sparse()?;
        let words = ring.words(2 * raising.limbs);
        let mut products = Buffer::unwritten(ring.device(), words, BOOTSTRAP)?;
        let kind = Operation::MultiplyByMontgomery;
        pointwise(ring, kind, &mut products, Some(&second), &key, &raising.products)?;
        let mut switched = raising.division.apply(ring, &products, 2, BOOTSTRAP)?;
        let rows = &parameters.level(0)?.pairs[0];
        pointwise(ring, Operation::Add, &mut switched, None, &a.polys, rows)?;
        Ok(switched)
    }

    /// Both halves of the key to the sparse secret; they are small.
    fn key_to_sparse(&self) -> Result<Buffer> {
        Buffer::copied(self.parameters().device(), &self.host_keys().to_sparse_words()?, BOOTSTRAP)
    }
}
