//! The tables of a parameter set on a device.

use std::sync::{Arc, OnceLock};

use rlwe::ckks;

use crate::launch::{Device, Residues};
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
    residues: Residues,
    /// Made when first used.
    levels: Vec<OnceLock<Level>>,
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
        Ok(Self(Arc::new(Tables { host: host.clone(), primes, residues, levels })))
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
}
