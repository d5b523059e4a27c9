//! Ciphertexts and plaintexts on a device.

use std::sync::Arc;

use rlwe::ckks::{self, Estimate};

use crate::launch::Buffer;
use crate::parameters::Parameters;
use crate::{Error, Result};

/// A ciphertext on a device. Cloning shares its polynomials.
#[derive(Debug, Clone)]
pub struct Ciphertext {
    pub(crate) estimate: Estimate,
    pub(crate) key: [u8; 16],
    /// Its polynomials, one after the other.
    pub(crate) polys: Arc<Buffer>,
}

/// A plaintext on a device.
#[derive(Debug, Clone)]
pub struct Plaintext {
    pub(crate) estimate: Estimate,
    pub(crate) poly: Arc<Buffer>,
}

impl Parameters {
    /// Sends a ciphertext to the device.
    ///
    /// # Errors
    /// [`Error::Engine`] for one of other parameters, [`Error::MemoryBudget`],
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub fn send(&self, ciphertext: &ckks::Ciphertext) -> Result<Ciphertext> {
        let operation = "send a ciphertext to the device";
        self.check_same(ciphertext.parameters(), operation)?;
        let polys = Buffer::copied(self.device(), &ciphertext.words(), operation)?;
        let (estimate, key) = (ciphertext.estimate().clone(), ciphertext.key_id());
        Ok(Ciphertext { estimate, key, polys: Arc::new(polys) })
    }

    /// Sends a plaintext to the device, which an evaluator knows: it need not be secret.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn send_plaintext(&self, plaintext: &ckks::Plaintext) -> Result<Plaintext> {
        let operation = "send a plaintext to the device";
        self.check_same(plaintext.parameters(), operation)?;
        let poly = Buffer::copied(self.device(), plaintext.words(), operation)?;
        Ok(Plaintext { estimate: plaintext.estimate().clone(), poly: Arc::new(poly) })
    }

    pub(crate) fn check_same(
        &self,
        other: &ckks::Parameters,
        operation: &'static str,
    ) -> Result<()> {
        if self.host() == other {
            return Ok(());
        }
        Err(Error::Engine(rlwe::Error::ParametersMismatch { operation }))
    }
}

impl Ciphertext {
    /// What it says of itself: level, scale, precision, bound.
    pub fn estimate(&self) -> &Estimate {
        &self.estimate
    }

    /// A copy on the host, when all work on it is done.
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    pub fn fetch(&self) -> Result<ckks::Ciphertext> {
        Ok(ckks::Ciphertext::from_words(&self.estimate, self.key, &self.polys.read()?)?)
    }

    /// The same ciphertext where no slot exceeds `bound`; see [`ckks::Ciphertext::with_bound`].
    ///
    /// # Errors
    /// [`Error::Engine`] for a bound that is negative or not finite.
    pub fn with_bound(&self, bound: f64) -> Result<Self> {
        Ok(Self { estimate: self.estimate.with_bound(bound)?, ..self.clone() })
    }

    /// Bytes on the device.
    pub fn nbytes(&self) -> usize {
        self.polys.words() * size_of::<u32>()
    }

    /// How many polynomials it has.
    pub(crate) fn polys(&self) -> usize {
        self.estimate.degree() + 1
    }

    /// The same key's ciphertext of other polynomials.
    pub(crate) fn with(&self, estimate: Estimate, polys: Buffer) -> Self {
        Self { estimate, key: self.key, polys: Arc::new(polys) }
    }
}
