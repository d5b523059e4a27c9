//! Secret bytes under a passphrase, and signatures.
//!
//! All cryptography here is that of kept libraries: scrypt (RFC 7914) makes a key of a passphrase,
//! XChaCha20-Poly1305 seals under it, and Ed25519 (RFC 8032) signs.
#![forbid(unsafe_code)]

mod sealing;
mod signing;

pub use sealing::{SALT_BYTES, SealingKey};
pub use signing::{KEY_BYTES, SIGNATURE_BYTES, SigningKey, verify};

/// What is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Sealed bytes that do not open.
    #[error(
        "cannot unseal the secret: expected the passphrase that it was sealed with, got another, or the bytes are damaged"
    )]
    Sealed,
    /// Bytes of another length than expected.
    #[error("cannot read {what}: expected {expected} bytes, got {actual}")]
    Length { what: &'static str, expected: usize, actual: usize },
    /// The operating system gave no random bytes.
    #[error("cannot draw randomness from the operating system: {0}")]
    Randomness(String),
}

/// The result of what may be refused.
pub type Result<T> = std::result::Result<T, Error>;

fn fill(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes).map_err(|error| Error::Randomness(error.to_string()))
}

fn exactly<const N: usize>(what: &'static str, bytes: &[u8]) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| Error::Length { what, expected: N, actual: bytes.len() })
}
