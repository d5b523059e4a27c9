//! Signatures.

use ed25519_dalek::{Signature, Signer, VerifyingKey};
use zeroize::Zeroizing;

use crate::{Result, exactly, fill};

/// Bytes of a secret key, and of a public one.
pub const KEY_BYTES: usize = 32;
/// Bytes of a signature.
pub const SIGNATURE_BYTES: usize = 64;

/// A key that signs. Wiped from memory when dropped; never printed.
pub struct SigningKey(ed25519_dalek::SigningKey);

impl SigningKey {
    /// A fresh key from the operating system's randomness.
    ///
    /// # Errors
    /// [`Error::Randomness`](crate::Error::Randomness) when the operating system gives none.
    pub fn generate() -> Result<Self> {
        let mut secret = Zeroizing::new([0; KEY_BYTES]);
        fill(&mut *secret)?;
        Ok(Self(ed25519_dalek::SigningKey::from_bytes(&secret)))
    }

    /// The key that [`Self::to_bytes`] gave.
    ///
    /// # Errors
    /// [`Error::Length`](crate::Error::Length) for another length.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let secret = Zeroizing::new(exactly("a signing key", bytes)?);
        Ok(Self(ed25519_dalek::SigningKey::from_bytes(&secret)))
    }

    /// The secret itself, wiped from memory when dropped.
    pub fn to_bytes(&self) -> Zeroizing<[u8; KEY_BYTES]> {
        Zeroizing::new(self.0.to_bytes())
    }

    /// The key that others verify signatures with.
    pub fn public(&self) -> [u8; KEY_BYTES] {
        self.0.verifying_key().to_bytes()
    }

    /// The signature of a message.
    ///
    /// ```
    /// let key = secrets::SigningKey::generate()?;
    /// let signature = key.sign(b"message");
    /// assert!(secrets::verify(&key.public(), b"message", &signature));
    /// assert!(!secrets::verify(&key.public(), b"other", &signature));
    /// # Ok::<(), secrets::Error>(())
    /// ```
    pub fn sign(&self, message: &[u8]) -> [u8; SIGNATURE_BYTES] {
        self.0.sign(message).to_bytes()
    }
}

/// Whether a signature of a message is by the owner of a public key; weak keys own nothing.
pub fn verify(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let verified = || {
        let key = VerifyingKey::from_bytes(public.try_into().ok()?).ok()?;
        let signature = Signature::from_slice(signature).ok()?;
        key.verify_strict(message, &signature).ok()
    };
    verified().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_read_again_signs_the_same() {
        let key = SigningKey::generate().unwrap();
        let same = SigningKey::from_bytes(&*key.to_bytes()).unwrap();
        assert_eq!(key.public(), same.public());
        assert_eq!(key.sign(b"message"), same.sign(b"message"));
        assert!(SigningKey::from_bytes(&[0; 31]).is_err());
    }

    #[test]
    fn nothing_else_verifies() {
        let [key, other] = [(); 2].map(|()| SigningKey::generate().unwrap());
        let signature = key.sign(b"message");
        assert!(verify(&key.public(), b"message", &signature));
        assert!(!verify(&other.public(), b"message", &signature));
        assert!(!verify(&key.public(), b"messagf", &signature));
        assert!(!verify(&key.public()[1..], b"message", &signature));
        for place in 0..SIGNATURE_BYTES {
            let mut damaged = signature;
            damaged[place] ^= 1;
            assert!(!verify(&key.public(), b"message", &damaged));
            assert!(!verify(&key.public(), b"message", &signature[..place]));
        }
    }
}
