//! Evaluation keys on a device, as many as fit: those used longest ago make room for others.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rlwe::ckks::KeyWords;
use rlwe::keys::EvaluationKeys;

use crate::Result;
use crate::launch::{Buffer, Device};
use crate::level::{Level, SwitchingTables};
use crate::parameters::Parameters;

/// Bytes of the index tables that one operation sends: above those of any chain.
const TABLE_BYTES: u64 = 1 << 16;

/// A switching key on a device.
#[derive(Debug)]
pub(crate) struct SwitchingKey {
    level: usize,
    digits: Vec<usize>,
    pub(crate) positions: Vec<usize>,
    /// Two halves for each digit, each a limb for each prime.
    pub(crate) halves: Buffer,
}

impl SwitchingKey {
    /// The tables by which the key switches polynomials of a level.
    pub(crate) fn tables(
        &self,
        parameters: &Parameters,
        level: &Level,
    ) -> Result<Arc<SwitchingTables>> {
        level.switching(parameters.device(), self.level, &self.digits, &self.positions)
    }
}

/// What a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Relinearisation,
    /// To the left, in slots of a full packing.
    Rotation(i64),
    Conjugation,
    /// From the sparse secret under which the modulus is raised.
    FromSparse,
}

/// Evaluation keys, of which some are on a device.
#[derive(Debug)]
pub(crate) struct Keys {
    host: EvaluationKeys,
    /// Those on the device, the one used last at the end.
    present: Mutex<Vec<Present>>,
}

type Present = (Purpose, Arc<SwitchingKey>);

impl Keys {
    pub(crate) fn new(host: EvaluationKeys) -> Self {
        Self { host, present: Mutex::default() }
    }

    pub(crate) fn host(&self) -> &EvaluationKeys {
        &self.host
    }

    /// These keys and others of the same secret key, of which the former stay on the device.
    pub(crate) fn extended(&self, more: EvaluationKeys) -> Result<Self> {
        let mut host = self.host.clone();
        host.extend(more)?;
        let extended = Self::new(host);
        // Where there is a key of a higher level by now, the engine switches by that one.
        let stays = |(purpose, key): &&Present| extended.host_key(*purpose, key.level + 1).is_err();
        let present: Vec<Present> = self.present().iter().filter(stays).cloned().collect();
        *extended.present() = present;
        Ok(extended)
    }

    /// Makes room for so many bytes, and for index tables where that can be, by giving up the keys
    /// that were used longest ago.
    pub(crate) fn require(
        &self,
        device: &Device,
        bytes: u64,
        operation: &'static str,
    ) -> Result<()> {
        if make_room(&mut self.present(), device, bytes + TABLE_BYTES, operation).is_err() {
            device.require(bytes, operation)?;
        }
        Ok(())
    }

    /// Makes room for `working` bytes and for the largest of some keys at a level, by giving up the
    /// keys that were used longest ago.
    pub(crate) fn reserve(
        &self,
        parameters: &Parameters,
        purposes: &[Purpose],
        level: usize,
        working: u64,
        operation: &'static str,
    ) -> Result<()> {
        let mut present = self.present();
        let mut largest = 0;
        for &purpose in purposes {
            let key = self.host_key(purpose, level)?;
            if found(&present, purpose, level).is_none() {
                largest = largest.max(key.nbytes() as u64);
            }
        }
        make_room(&mut present, parameters.device(), working + largest, operation)
    }

    /// The key for a purpose at a level, sent to the device if it is not there. Besides it `working`
    /// bytes stay free, as long as there are keys to give up for that.
    pub(crate) fn get(
        &self,
        parameters: &Parameters,
        purpose: Purpose,
        level: usize,
        working: u64,
        operation: &'static str,
    ) -> Result<Arc<SwitchingKey>> {
        let mut present = self.present();
        if let Some(place) = found(&present, purpose, level) {
            let entry = present.remove(place);
            let key = Arc::clone(&entry.1);
            present.push(entry);
            return Ok(key);
        }
        let key = self.host_key(purpose, level)?;
        let needed = key.nbytes() as u64 + working;
        // What was reserved may be in use by now: the key alone has to fit.
        if make_room(&mut present, parameters.device(), needed, operation).is_err() {
            parameters.device().require(key.nbytes() as u64, operation)?;
        }
        let KeyWords { level, digits, positions, words } = self.host.words(key)?;
        let halves = Buffer::copied(parameters.device(), &words, operation)?;
        let key = Arc::new(SwitchingKey { level, digits, positions, halves });
        present.push((purpose, Arc::clone(&key)));
        Ok(key)
    }

    fn host_key(&self, purpose: Purpose, level: usize) -> Result<&rlwe::keys::SwitchingKey> {
        Ok(match purpose {
            Purpose::Relinearisation => self.host.relinearisation_at(level)?,
            Purpose::Rotation(rotation) => self.host.rotation_at(rotation, level)?,
            Purpose::Conjugation => self.host.conjugation_at(level)?,
            Purpose::FromSparse => self.host.from_sparse()?,
        })
    }

    fn present(&self) -> MutexGuard<'_, Vec<Present>> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a key for a purpose at a level is among those on the device.
fn found(present: &[Present], purpose: Purpose, level: usize) -> Option<usize> {
    present.iter().position(|(other, key)| *other == purpose && key.level >= level)
}

/// Gives up keys until so many bytes are free.
fn make_room(
    present: &mut Vec<Present>,
    device: &Device,
    bytes: u64,
    operation: &'static str,
) -> Result<()> {
    while let Err(error) = device.require(bytes, operation) {
        if present.is_empty() {
            return Err(error);
        }
        present.remove(0);
    }
    Ok(())
}
