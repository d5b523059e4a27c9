//! The tables of a parameter set on a device.

use std::sync::{Arc, OnceLock};

use rlwe::ckks;
use rlwe::tables::{DivisionTable, PrimeTable};

use crate::combination_tables::CombinationTables;
use crate::division::Division;
use crate::launch::{Device, Residues, Rows};
use crate::level::Level;
use crate::{Error, Result};

/// A parameter set of CKKS on a device. Cloning shares its tables.
#[derive(Debug, Clone)]
pub struct Parameters(Arc<Tables>);

#[derive(Debug)]
struct Tables {
    host: ckks::Parameters,
    /// By position.
    primes: Vec<u32>,
    /// The root of -1 that X^(N/2) is in the first half of a limb, in Montgomery form.
    imaginary_units: Vec<u32>,
    residues: Residues,
    /// Made when first used.
    levels: Vec<OnceLock<Level>>,
    combinations: CombinationTables,
}

impl Parameters {
    /// Sends the tables of `host` to a device.
    ///
    /// # Errors
    /// [`Error::MemoryBudget`], [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub fn new(device: &Device, host: &ckks::Parameters) -> Result<Self> {
        let ring = host.ring_table();
        let residues = Residues::new(device, ring.log_n, &ring.primes)?;
        let levels = (0..=host.max_level()).map(|_| OnceLock::new()).collect();
        let primes = ring.primes.iter().map(|prime| prime.q).collect();
        let unit = |prime: &PrimeTable| {
            let q = u64::from(prime.q);
            // psi, whose order is 2N, raised to N / 2.
            let unit = (1..ring.log_n).fold(u64::from(prime.root), |power, _| power * power % q);
            ((unit << 32) % q) as u32
        };
        let imaginary_units = ring.primes.iter().map(unit).collect();
        let host = host.clone();
        let combinations = CombinationTables::default();
        Ok(Self(Arc::new(Tables { host, primes, imaginary_units, residues, levels, combinations })))
    }

    /// The parameter set itself.
    pub fn host(&self) -> &ckks::Parameters {
        &self.0.host
    }

    /// The device.
    pub fn device(&self) -> &Device {
        self.residues().device()
    }

    /// The primes of the ring and their roots of unity.
    pub fn residues(&self) -> &Residues {
        &self.0.residues
    }

    /// The prime at a position.
    pub(crate) fn prime(&self, position: usize) -> u32 {
        self.0.primes[position]
    }

    /// What residues modulo the prime at a position are multiplied by to be those of i times as much,
    /// in the first half of a limb; in the second by its negative.
    pub(crate) fn imaginary_unit(&self, position: usize) -> u32 {
        self.0.imaginary_units[position]
    }

    /// The tables of a level.
    pub(crate) fn level(&self, level: usize) -> Result<&Level> {
        let host = self.host();
        let table = || host.level_table(level).map_err(Error::from);
        let cell = match self.0.levels.get(level) {
            Some(cell) => cell,
            None => return Err(table().expect_err("a level that the chain has")),
        };
        if let Some(level) = cell.get() {
            return Ok(level);
        }
        let made = Level::new(self.device(), &table()?, |position| self.prime(position))?;
        Ok(cell.get_or_init(|| made))
    }

    /// The rows that take polynomials over the primes at positions `from` to some of these; see
    /// [`CombinationTables::restriction`].
    pub(crate) fn restriction(
        &self,
        polys: usize,
        from: &[usize],
        to: &[usize],
    ) -> Result<Arc<Rows>> {
        self.0.combinations.restriction(self.device(), polys, from, to)
    }

    /// The division of polynomials over the primes at positions `from`.
    pub(crate) fn division(&self, from: &[usize], table: &DivisionTable) -> Result<Arc<Division>> {
        let prime = |position| self.prime(position);
        self.0.combinations.division(self.device(), from, table, prime)
    }
}
