//! Encryption and decryption.

use rustfft::num_complex::Complex64;
use zeroize::Zeroizing;

use super::ciphertext::Ciphertext;
use super::estimate::{self, Estimate};
use super::plaintext::{Plaintext, reconstruct};
use crate::deviation::{self, ERROR_DEVIATION};
use crate::keys::{PublicKey, SecretKey};
use crate::parameters::Parameters;
use crate::sampling::{self, Generator};
use crate::{Error, Result};

/// What came out of a decryption. Wiped from memory when dropped.
pub struct Decrypted {
    parameters: Parameters,
    /// In units of the values.
    coefficients: Zeroizing<Vec<f64>>,
    slots: usize,
    estimate: Estimate,
}

impl SecretKey {
    /// Encrypts `plaintext`; the coefficient error has deviation 3.2, and the
    /// ciphertext takes half the bytes while it is fresh.
    ///
    /// # Errors
    /// [`Error::ParametersMismatch`], [`Error::Randomness`].
    pub fn encrypt(&self, plaintext: &Plaintext) -> Result<Ciphertext> {
        let operation = "encrypt";
        self.parameters.check_same(&plaintext.parameters, operation)?;
        let ([mut first, half], seed) = self.encrypt_zero(plaintext.level, operation)?;
        self.parameters.ring().add(&mut first, &plaintext.poly);
        let mut ciphertext = fresh(plaintext, self.id, [first, half], ERROR_DEVIATION);
        ciphertext.seed = Some(seed);
        Ok(ciphertext)
    }

    /// Decrypts.
    ///
    /// CKKS results carry noise that depends on the secret key: whoever is not to learn
    /// about the key must not be given them as they are; see [`Self::decrypt_flooded`].
    ///
    /// # Errors
    /// [`Error::KeyMismatch`], [`Error::ParametersMismatch`], [`Error::BoundOverflow`] when a
    /// value may have outgrown the modulus, [`Error::DecryptionOverflow`] when one has, which
    /// is that the ciphertext's bound was a lie or the key is another.
    pub fn decrypt(&self, ciphertext: &Ciphertext) -> Result<Decrypted> {
        let coefficients = self.coefficients_of(ciphertext)?;
        Ok(self.decrypted(ciphertext, ciphertext.estimate, &coefficients))
    }

    /// Decrypts for others: adds Gaussian noise whose deviation exceeds that of the
    /// ciphertext's own estimated noise by `flood_bits` bits and at most two more, against
    /// IND-CPA-D attacks (Li, Micciancio, Schultz, Sorrell 2022, section 4: s bits of
    /// statistical security ask for about s / 2 bits and half the log of the number of
    /// decryptions). Precision falls by as many bits. The estimate is the ciphertext's own:
    /// whoever sends one with too small an estimate gets too little noise.
    ///
    /// # Errors
    /// As [`Self::decrypt`]; [`Error::InvalidArgument`] when the noise would exceed 2^55.
    pub fn decrypt_flooded(&self, ciphertext: &Ciphertext, flood_bits: u32) -> Result<Decrypted> {
        let mut coefficients = self.coefficients_of(ciphertext)?;
        let own = estimate::in_coefficients(ciphertext);
        let log2_sigma = (own.max(1.0).log2() + f64::from(flood_bits)).ceil();
        if log2_sigma > f64::from(sampling::MAX_LOG2_SIGMA) {
            let most = sampling::MAX_LOG2_SIGMA;
            let reason =
                format!("flooding by 2^{log2_sigma} exceeds 2^{most}; flood by fewer bits");
            return Err(Error::InvalidArgument { operation: "decrypt", reason });
        }
        let mut generator = Generator::from_os()?;
        let noise = sampling::wide_gaussian(&mut generator, coefficients.len(), log2_sigma as u32)?;
        for (coefficient, &noise) in coefficients.iter_mut().zip(noise.iter()) {
            *coefficient += i128::from(noise);
        }
        let error = estimate::in_slots(2.0 * log2_sigma.exp2(), ciphertext.slots, ciphertext.scale);
        Ok(self.decrypted(ciphertext, ciphertext.estimate.with_error(error), &coefficients))
    }

    fn coefficients_of(&self, ciphertext: &Ciphertext) -> Result<Zeroizing<Vec<i128>>> {
        let operation = "decrypt";
        self.parameters.check_same(&ciphertext.parameters, operation)?;
        if self.id != ciphertext.key {
            return Err(Error::KeyMismatch { operation });
        }
        let (level, scale) = (ciphertext.level, ciphertext.scale);
        self.parameters.check_room(level, scale, ciphertext.estimate.bound, operation)?;
        reconstruct(self.parameters.ring(), &self.phase(&ciphertext.polys).0)
    }

    fn decrypted(
        &self,
        ciphertext: &Ciphertext,
        estimate: Estimate,
        coefficients: &[i128],
    ) -> Decrypted {
        let scaled = coefficients.iter().map(|&x| x as f64 / ciphertext.scale).collect();
        Decrypted {
            parameters: self.parameters.clone(),
            coefficients: Zeroizing::new(scaled),
            slots: ciphertext.slots,
            estimate,
        }
    }
}

impl Decrypted {
    /// The values.
    ///
    /// # Errors
    /// None for a decryption; the signature is that of the transform.
    pub fn decode(&self) -> Result<Vec<Complex64>> {
        self.parameters.encoder().project(&self.coefficients, self.slots)
    }

    /// The real parts of the values.
    ///
    /// # Errors
    /// As [`Self::decode`].
    pub fn decode_real(&self) -> Result<Vec<f64>> {
        Ok(self.decode()?.into_iter().map(|x| x.re).collect())
    }

    /// Bits of the values that are right, flooding included.
    pub fn precision(&self) -> f64 {
        self.estimate.precision(self.slots)
    }

    /// The number of values.
    pub fn slots(&self) -> usize {
        self.slots
    }
}

impl PublicKey {
    /// Encrypts `plaintext`; the coefficient error is that of a division's rounding.
    ///
    /// # Errors
    /// [`Error::ParametersMismatch`], [`Error::Randomness`].
    pub fn encrypt(&self, plaintext: &Plaintext) -> Result<Ciphertext> {
        let operation = "encrypt";
        self.parameters.check_same(&plaintext.parameters, operation)?;
        let [mut c0, c1] = self.encrypt_zero(plaintext.level, operation)?;
        self.parameters.ring().add(&mut c0, &plaintext.poly);
        let deviation = deviation::public_encryption(&self.parameters);
        Ok(fresh(plaintext, self.id, [c0, c1], deviation))
    }

    /// The parameters of the key.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }
}

/// A ciphertext of `plaintext` whose coefficients have errors of `deviation`.
fn fresh(
    plaintext: &Plaintext,
    key: crate::keys::KeyId,
    polys: [crate::ring::poly::Poly; 2],
    deviation: f64,
) -> Ciphertext {
    let error = estimate::in_slots(deviation, plaintext.slots, plaintext.scale);
    Ciphertext {
        parameters: plaintext.parameters.clone(),
        key,
        level: plaintext.level,
        scale: plaintext.scale,
        slots: plaintext.slots,
        estimate: plaintext.estimate.with_error(error),
        polys: polys.into(),
        seed: None,
    }
}

impl std::fmt::Debug for Decrypted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Decrypted({} slots)", self.slots)
    }
}
