//! Encryption and decryption.

use hmac::{Hmac, KeyInit, Mac};
use rustfft::num_complex::Complex64;
use sha2::Sha256;

use super::ciphertext::Ciphertext;
use super::coefficients::Coefficients;
use super::estimate::{Estimate, SCALE_TOLERANCE};
use super::flooding::Flooding;
use super::plaintext::Plaintext;
use crate::core::keys::{PublicKey, SecretKey};
use crate::ring::wiped::Wiped;
use crate::sampling::Generator;
use crate::{Error, Result};

/// What came out of a decryption. Wiped from memory when dropped.
pub struct Decrypted {
    /// In units of the values.
    coefficients: Wiped<f64>,
    estimate: Estimate,
}

impl SecretKey {
    /// Encrypts `plaintext`; the coefficient error has deviation 3.2, and the
    /// ciphertext takes half the bytes while it is fresh.
    ///
    /// # Errors
    /// [`Error::ParametersMismatch`], [`Error::Randomness`]; [`Error::InvalidArgument`] for a
    /// plaintext without a declared bound: evaluators see it.
    pub fn encrypt(&self, plaintext: &Plaintext) -> Result<Ciphertext> {
        let operation = "encrypt";
        self.parameters.check_same(plaintext.parameters(), operation)?;
        plaintext.check_declared_bound()?;
        let ([mut first, half], seed) = self.encrypt_zero(plaintext.level(), operation)?;
        self.parameters.ring().add(&mut first, plaintext.poly());
        let estimate = plaintext.estimate.encrypted()?;
        Ok(Ciphertext { estimate, key: self.id, polys: [first, half].into(), seed: Some(seed) })
    }

    /// Decrypts a ciphertext of which the caller knows what it is: `estimate` comes from the
    /// operations that made it, or, where nobody else had it in hand, is its own.
    ///
    /// Precision and the check for overflow are those of `estimate`, whatever the ciphertext says
    /// of itself. CKKS results carry noise that depends on the secret key: whoever is not to learn
    /// about the key must not be given them as they are; see [`Self::decrypt_flooded`].
    ///
    /// # Errors
    /// [`Error::KeyMismatch`], [`Error::ParametersMismatch`]; [`Error::EstimateMismatch`] for a
    /// ciphertext of another level, scale, number of slots or degree than the estimate's;
    /// [`Error::BoundOverflow`] when a value may have outgrown the modulus,
    /// [`Error::DecryptionOverflow`] when one has, which is that the bound was a lie or the key is
    /// another.
    pub fn decrypt(&self, ciphertext: &Ciphertext, estimate: &Estimate) -> Result<Decrypted> {
        let coefficients = self.coefficients_of(ciphertext, estimate)?;
        Ok(Decrypted::new(&coefficients, estimate.clone()))
    }

    /// Decrypts for others: adds noise that hides the ciphertext's own, and with it the secret
    /// key, as [`Flooding`] says. Precision falls accordingly.
    ///
    /// The own noise is that of `estimate`, which the caller must have from its own account of
    /// the program: with the ciphertext's own, whoever sends one with too small a deviation gets
    /// too little noise.
    ///
    /// The same ciphertext gets the same noise of a width, so that nobody averages it away: noise
    /// follows from the secret key and the ciphertext's bytes by HMAC-SHA-256. Another ciphertext
    /// of the same numbers gets other noise, and counts as a decryption.
    ///
    /// # Errors
    /// Those of [`Self::decrypt`] and of [`Estimate::flooded`].
    pub fn decrypt_flooded(
        &self,
        ciphertext: &Ciphertext,
        estimate: &Estimate,
        flooding: Flooding,
    ) -> Result<Decrypted> {
        let n = self.parameters.n();
        let own = estimate.in_coefficients();
        let log2_sigma = flooding.log2_sigma(n, own)?;
        estimate.check_flood(log2_sigma)?;
        let unit = Flooding::log2_unit(log2_sigma);
        let mut coefficients = self.coefficients_of(ciphertext, estimate)?;
        coefficients.round_to_units(unit);
        // Rounding is noise, too, of the ciphertext's own.
        let own = own / f64::from(coefficients.shift).exp2() + coefficients.error;
        let log2_sigma = flooding.log2_sigma(n, own)?;
        let shift = coefficients.shift;
        coefficients.flood(&mut self.flood_generator(ciphertext, log2_sigma, shift), log2_sigma)?;
        let flooded = estimate.with_flood(log2_sigma + coefficients.shift);
        Ok(Decrypted::new(&coefficients, flooded))
    }

    /// What floods of this width, in units of 2^`shift`, are drawn from for a ciphertext.
    fn flood_generator(&self, ciphertext: &Ciphertext, log2_sigma: u32, shift: u32) -> Generator {
        let secret: &[u8] = bytemuck::cast_slice(&self.coefficients);
        let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("a key has any length");
        mac.update(b"cloakwork flood 1");
        mac.update(&log2_sigma.to_le_bytes());
        mac.update(&shift.to_le_bytes());
        mac.update(&ciphertext.to_bytes());
        Generator::deterministic(mac.finalize().into_bytes().into())
    }

    pub(super) fn coefficients_of(
        &self,
        ciphertext: &Ciphertext,
        estimate: &Estimate,
    ) -> Result<Coefficients> {
        let operation = "decrypt";
        self.parameters.check_same(ciphertext.parameters(), operation)?;
        self.parameters.check_same(&estimate.parameters, operation)?;
        if self.id != ciphertext.key {
            return Err(Error::KeyMismatch { operation });
        }
        check_estimate(ciphertext.estimate(), estimate)?;
        let (level, scale) = (estimate.level, estimate.scale);
        estimate.parameters.check_headroom(level, scale, estimate.bound, operation)?;
        Coefficients::of(self.parameters.ring(), &self.phase(&ciphertext.polys).0, estimate)
    }
}

/// Refuses a ciphertext that cannot be what the estimate is of.
fn check_estimate(claimed: &Estimate, estimate: &Estimate) -> Result<()> {
    let whole = |what: &'static str, expected: usize, actual: usize| {
        let (expected, actual) = (expected as f64, actual as f64);
        let same = expected == actual;
        if same { Ok(()) } else { Err(Error::EstimateMismatch { what, expected, actual }) }
    };
    whole("level", estimate.level, claimed.level)?;
    whole("number of slots", estimate.slots, claimed.slots)?;
    whole("degree", estimate.degree, claimed.degree)?;
    let (expected, actual) = (estimate.scale, claimed.scale);
    // Not by less, as the powers of doubles differ from machine to machine.
    if (actual / expected - 1.0).abs() > SCALE_TOLERANCE {
        return Err(Error::EstimateMismatch { what: "scale", expected, actual });
    }
    Ok(())
}

impl Decrypted {
    /// In units of the values.
    #[cfg(test)]
    pub(super) fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    fn new(coefficients: &Coefficients, estimate: Estimate) -> Self {
        Self { coefficients: coefficients.values(estimate.scale), estimate }
    }

    /// The values.
    ///
    /// # Errors
    /// None for a decryption; the signature is that of the transform.
    pub fn decode(&self) -> Result<Vec<Complex64>> {
        self.decode_each(|value| value)
    }

    /// The real parts of the values.
    ///
    /// # Errors
    /// As [`Self::decode`].
    pub fn decode_real(&self) -> Result<Vec<f64>> {
        self.decode_each(|value| value.re)
    }

    fn decode_each<T>(&self, map: impl Fn(Complex64) -> T) -> Result<Vec<T>> {
        let embedding = self.estimate.parameters.embedding();
        embedding.project_each(&self.coefficients, self.estimate.slots, map)
    }

    /// Bits of the values that are right, flooding included: see [`Estimate::precision`].
    pub fn precision(&self) -> f64 {
        self.estimate.precision()
    }

    /// The number of values.
    pub fn slots(&self) -> usize {
        self.estimate.slots
    }
}

impl PublicKey {
    /// Encrypts `plaintext`; the coefficient error is that of a division's rounding.
    ///
    /// # Errors
    /// [`Error::ParametersMismatch`], [`Error::Randomness`]; [`Error::InvalidArgument`] for a
    /// plaintext without a declared bound: evaluators see it.
    pub fn encrypt(&self, plaintext: &Plaintext) -> Result<Ciphertext> {
        let operation = "encrypt";
        self.parameters.check_same(plaintext.parameters(), operation)?;
        plaintext.check_declared_bound()?;
        let [mut first, second] = self.encrypt_zero(plaintext.level(), operation)?;
        self.parameters.ring().add(&mut first, plaintext.poly());
        let estimate = plaintext.estimate.encrypted_publicly()?;
        Ok(Ciphertext { estimate, key: self.id, polys: [first, second].into(), seed: None })
    }
}

impl std::fmt::Debug for Decrypted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Decrypted({} slots)", self.slots())
    }
}
