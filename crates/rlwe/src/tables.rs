//! The constants of parameters as plain numbers, for an engine on another device.
//!
//! Positions are those of primes in [`RingTable::primes`]; whatever is "in Montgomery form" is
//! multiplied by 2^32 modulo its prime. An engine that follows these tables has the same residues as
//! this one, bit for bit, as every residue is reduced.

use crate::Result;
use crate::core::Parameters;
use crate::ring::poly::Basis;

pub use crate::ring::automorphism::{conjugation_element, rotation_element};
pub use crate::ring::convert::ConversionTable;
pub use crate::ring::division::DivisionTable;

/// The ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingTable {
    /// log2 of its degree.
    pub log_n: u32,
    /// Its primes: those of the levels, then those of key switching.
    pub primes: Vec<PrimeTable>,
}

/// One prime of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrimeTable {
    /// The prime, below 2^30.
    pub q: u32,
    /// psi, a primitive root of unity of order 2N: value i of a polynomial is that at
    /// psi^(2 rev(i) + 1), rev being bit reversal.
    pub root: u32,
}

/// What the operations of one level need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelTable {
    /// Positions of the level's primes, rising: the order of limbs.
    pub basis: Vec<usize>,
    /// The same with the key-switching primes.
    pub extended: Vec<usize>,
    /// The key-switching digits.
    pub digits: Vec<DigitTable>,
    /// From the extended basis to the basis, of what is held divided.
    pub division_by_special: DivisionTable,
    /// To the level below; nothing at level 0.
    pub rescale: Option<DivisionTable>,
    /// From the extended basis to the level below, of what is held divided; nothing at level 0.
    pub rescale_from_extended: Option<DivisionTable>,
}

/// One key-switching digit at one level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigitTable {
    /// Its number in the chain.
    pub index: usize,
    /// From its own primes to the others of the extended basis.
    pub conversion: ConversionTable,
}

/// What raising the modulus under a sparse secret needs: level 0 to the sparse secret, the same
/// integers over more primes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncapsulationTable {
    /// Positions of the primes that the sparse secret is used with, rising: those of level 0 and
    /// some of key switching.
    pub basis: Vec<usize>,
    /// From the primes of level 0 to the others of that basis.
    pub to_sparse: ConversionTable,
    /// From that basis to level 0.
    pub division: DivisionTable,
    /// From the primes of level 0 to the others of the level that is raised to.
    pub raising: ConversionTable,
}

impl Parameters {
    /// The ring of the parameters.
    ///
    /// ```
    /// use rlwe::ckks::{Parameters, ParametersLiteral};
    /// let table = Parameters::new(ParametersLiteral::default())?.ring_table();
    /// assert!(table.primes.iter().all(|prime| prime.q % (2 << table.log_n) == 1));
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn ring_table(&self) -> RingTable {
        let ring = self.ring();
        let table = |prime: &crate::ring::poly::Prime| {
            let mut x = vec![0; ring.n()];
            x[1] = 1;
            prime.forward(&mut x);
            PrimeTable { q: prime.modulus.q, root: x[0] }
        };
        RingTable { log_n: ring.log_n, primes: ring.primes.iter().map(table).collect() }
    }

    /// What the operations of a level need.
    ///
    /// # Errors
    /// [`LevelMismatch`](crate::Error::LevelMismatch) for a level that the chain does not have.
    pub fn level_table(&self, level: usize) -> Result<LevelTable> {
        let basis = self.basis(level, "list the tables of a level")?;
        let digit = |digit: &crate::core::parameters::Digit| DigitTable {
            index: digit.index,
            conversion: digit.conversion.table(&digit.own, &digit.others),
        };
        Ok(LevelTable {
            basis: positions(basis),
            extended: positions(self.extended_basis(level)),
            digits: self.digits(level).iter().map(digit).collect(),
            division_by_special: self.division_by_special(level).table(),
            rescale: (level > 0).then(|| self.rescale(level).table()),
            rescale_from_extended: (level > 0).then(|| self.rescale_from_extended(level).table()),
        })
    }
}

fn positions(basis: &Basis) -> Vec<usize> {
    basis.iter().collect()
}
