//! Ciphertexts of one secret key taken to another.

use super::ciphertext::Ciphertext;
use super::estimate::Estimate;
use crate::Result;
use crate::core::keys::RekeyingKey;

impl RekeyingKey {
    /// The same numbers under the second secret key at degree 1, with the noise of a rotation more.
    /// What is not of the first one becomes noise.
    ///
    /// # Errors
    /// [`ParametersMismatch`](crate::Error::ParametersMismatch).
    pub fn rekey(&self, a: &Ciphertext) -> Result<Ciphertext> {
        self.parameters().check_same(a.parameters(), "rekey")?;
        let polys = self.switched(&a.polys, a.level())?;
        Ok(Ciphertext { key: self.id(), ..a.with(a.estimate.rekeyed(), polys) })
    }
}

impl Estimate {
    /// After [`RekeyingKey::rekey`].
    #[must_use]
    pub fn rekeyed(&self) -> Self {
        self.relinearize().switched()
    }
}
