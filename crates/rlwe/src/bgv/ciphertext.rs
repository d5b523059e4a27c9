//! Ciphertexts.

use std::fmt;
use std::sync::Arc;

use super::estimate::Estimate;
use super::parameters::Parameters;
use crate::core::keys::KeyId;
use crate::ring::poly::Poly;
use crate::sampling::Seed;
use crate::{Error, Result};

/// Two encrypted rows of integers modulo t.
///
/// What an evaluator sees of it beside the polynomials is public, and depends on the operations
/// that made it alone: its [`Estimate`].
#[derive(Debug, Clone, PartialEq)]
pub struct Ciphertext {
    pub(crate) estimate: Estimate,
    pub(crate) key: KeyId,
    /// Two of them, or three after a multiplication that was not relinearised.
    pub(crate) polys: Arc<[Poly]>,
    /// What the second polynomial expands from, while the ciphertext is fresh.
    pub(crate) seed: Option<Seed>,
}

impl Ciphertext {
    /// Level, degree, correction factor and noise.
    pub fn estimate(&self) -> &Estimate {
        &self.estimate
    }

    /// Its parameters.
    pub fn parameters(&self) -> &Parameters {
        self.estimate.parameters()
    }

    /// How often its modulus can still be switched.
    pub fn level(&self) -> usize {
        self.estimate.level()
    }

    /// 1, or 2 after a multiplication that was not relinearised.
    pub fn degree(&self) -> usize {
        self.estimate.degree()
    }

    /// Which secret key it belongs to: a random public label, not derived from the key.
    pub fn key_id(&self) -> [u8; 16] {
        self.key
    }

    /// Bytes in memory.
    pub fn nbytes(&self) -> usize {
        self.polys.iter().map(|poly| poly.words().len() * 4).sum()
    }

    pub(crate) fn check_degree(&self, expected: usize, operation: &'static str) -> Result<()> {
        if self.degree() == expected {
            return Ok(());
        }
        Err(Error::DegreeMismatch { operation, expected, actual: self.degree() })
    }

    /// The same key's ciphertext of other polynomials.
    pub(crate) fn with(&self, estimate: Estimate, polys: impl Into<Arc<[Poly]>>) -> Self {
        Self { estimate, key: self.key, polys: polys.into(), seed: None }
    }
}

impl fmt::Display for Ciphertext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.estimate.fmt(f)
    }
}
