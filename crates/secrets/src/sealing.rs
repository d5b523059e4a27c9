//! Secret bytes under a passphrase.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use crate::{Error, Result, exactly, fill};

/// Bytes of the salt that a key is derived with.
pub const SALT_BYTES: usize = 16;

const NONCE_BYTES: usize = 24;
/// scrypt takes 128 N r bytes: 128 MiB, and some tenths of a second.
const LOG2_N: u8 = 17;
const R: u32 = 8;
const P: u32 = 1;

/// The key that a passphrase and a salt give. Wiped from memory when dropped.
pub struct SealingKey(Zeroizing<[u8; 32]>);

impl SealingKey {
    /// The key of `passphrase` by scrypt, with N = 2^17, r = 8 and p = 1.
    ///
    /// # Errors
    /// [`Error::Length`] for a salt that has not [`SALT_BYTES`].
    pub fn derive(passphrase: &[u8], salt: &[u8]) -> Result<Self> {
        let salt: [u8; SALT_BYTES] = exactly("a salt", salt)?;
        let parameters = scrypt::Params::new(LOG2_N, R, P).expect("these are valid");
        let mut key = Zeroizing::new([0; 32]);
        scrypt::scrypt(passphrase, &salt, &parameters, &mut *key).expect("32 bytes are valid");
        Ok(Self(key))
    }

    /// `secret` encrypted and authenticated together with `context`, behind a random nonce.
    ///
    /// # Errors
    /// [`Error::Randomness`].
    ///
    /// ```
    /// let key = secrets::SealingKey::derive(b"correct horse", &[7; secrets::SALT_BYTES])?;
    /// let sealed = key.seal(b"battery", b"staple")?;
    /// assert_eq!(*key.unseal(&sealed, b"staple")?, b"battery");
    /// assert_eq!(key.unseal(&sealed, b"other").unwrap_err(), secrets::Error::Sealed);
    /// # Ok::<(), secrets::Error>(())
    /// ```
    pub fn seal(&self, secret: &[u8], context: &[u8]) -> Result<Vec<u8>> {
        let mut nonce = [0; NONCE_BYTES];
        fill(&mut nonce)?;
        let payload = Payload { msg: secret, aad: context };
        let encrypted = self
            .cipher()
            .encrypt(&XNonce::from(nonce), payload)
            .expect("a secret is shorter than the cipher's limit");
        Ok([&nonce[..], &encrypted].concat())
    }

    /// What [`Self::seal`] sealed.
    ///
    /// # Errors
    /// [`Error::Sealed`] for another key or context, and for damaged bytes.
    pub fn unseal(&self, sealed: &[u8], context: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
        let (nonce, encrypted) = sealed.split_first_chunk().ok_or(Error::Sealed)?;
        let payload = Payload { msg: encrypted, aad: context };
        let nonce: [u8; NONCE_BYTES] = *nonce;
        let opened = self.cipher().decrypt(&XNonce::from(nonce), payload);
        opened.map(Zeroizing::new).map_err(|_| Error::Sealed)
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&*self.0).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(passphrase: &[u8], salt: u8) -> SealingKey {
        SealingKey::derive(passphrase, &[salt; SALT_BYTES]).unwrap()
    }

    #[test]
    fn only_the_same_passphrase_salt_and_context_open() {
        let sealed = key(b"a", 1).seal(b"secret", b"context").unwrap();
        assert_eq!(*key(b"a", 1).unseal(&sealed, b"context").unwrap(), b"secret");
        for (other, context) in [(key(b"b", 1), &b"context"[..]), (key(b"a", 2), b"context")] {
            assert_eq!(other.unseal(&sealed, context).unwrap_err(), Error::Sealed);
        }
        assert_eq!(key(b"a", 1).unseal(&sealed, b"").unwrap_err(), Error::Sealed);
    }

    #[test]
    fn no_damaged_byte_opens() {
        let key = key(b"a", 1);
        let sealed = key.seal(b"secret", b"").unwrap();
        for place in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[place] ^= 1;
            assert_eq!(key.unseal(&damaged, b"").unwrap_err(), Error::Sealed);
            assert_eq!(key.unseal(&sealed[..place], b"").unwrap_err(), Error::Sealed);
        }
    }

    #[test]
    fn the_same_secret_is_never_sealed_twice_in_the_same_way() {
        let key = key(b"a", 1);
        assert_ne!(key.seal(b"secret", b"").unwrap(), key.seal(b"secret", b"").unwrap());
    }
}
