//! What all stored objects begin with.

use sha2::{Digest, Sha256};

use super::reader::Reader;
use crate::parameters::Parameters;
use crate::{Error, Result};

const MAGIC: &[u8; 4] = b"CLWK";
const VERSION: u16 = 3;
const CHECKSUM_AT: usize = 32;
const BODY_AT: usize = 48;

/// What an object is; the numbers are part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Parameters = 1,
    SecretKey = 2,
    PublicKey = 3,
    EvaluationKeys = 4,
    Ciphertext = 5,
    Plaintext = 6,
    BgvParameters = 7,
    BgvCiphertext = 8,
    BgvPlaintext = 9,
}

impl Kind {
    const ALL: [Self; 9] = [
        Self::Parameters,
        Self::SecretKey,
        Self::PublicKey,
        Self::EvaluationKeys,
        Self::Ciphertext,
        Self::Plaintext,
        Self::BgvParameters,
        Self::BgvCiphertext,
        Self::BgvPlaintext,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Parameters => "parameters",
            Self::SecretKey => "a secret key",
            Self::PublicKey => "a public key",
            Self::EvaluationKeys => "evaluation keys",
            Self::Ciphertext => "a ciphertext",
            Self::Plaintext => "a plaintext",
            Self::BgvParameters => "BGV parameters",
            Self::BgvCiphertext => "a BGV ciphertext",
            Self::BgvPlaintext => "a BGV plaintext",
        }
    }

    fn reading(self) -> &'static str {
        match self {
            Self::Parameters => "read parameters",
            Self::SecretKey => "read a secret key",
            Self::PublicKey => "read a public key",
            Self::EvaluationKeys => "read evaluation keys",
            Self::Ciphertext => "read a ciphertext",
            Self::Plaintext => "read a plaintext",
            Self::BgvParameters => "read BGV parameters",
            Self::BgvCiphertext => "read a BGV ciphertext",
            Self::BgvPlaintext => "read a BGV plaintext",
        }
    }

    pub(super) fn malformed(self, reason: impl Into<String>) -> Error {
        Error::MalformedBytes { kind: self.name(), reason: reason.into() }
    }
}

/// The bytes of an object whose body, `length` bytes long, `write` appends.
pub(super) fn seal(
    kind: Kind,
    parameters: &Parameters,
    length: usize,
    write: impl FnOnce(&mut Vec<u8>),
) -> Vec<u8> {
    // Of the right size at once: growing would leave copies of a secret behind.
    let mut bytes = Vec::with_capacity(BODY_AT + length);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&(kind as u16).to_le_bytes());
    bytes.extend_from_slice(&parameters.fingerprint());
    bytes.extend_from_slice(&(length as u64).to_le_bytes());
    bytes.extend_from_slice(&[0; BODY_AT - CHECKSUM_AT]);
    write(&mut bytes);
    debug_assert_eq!(bytes.len(), BODY_AT + length);
    let checksum = checksum(&bytes);
    bytes[CHECKSUM_AT..BODY_AT].copy_from_slice(&checksum);
    bytes
}

/// The fingerprint that an object of `kind` carries, and its body.
pub(super) fn open(kind: Kind, bytes: &[u8]) -> Result<([u8; 16], Reader<'_>)> {
    let Some((_, body)) = bytes.split_at_checked(BODY_AT) else {
        let length = bytes.len();
        return Err(
            kind.malformed(format!("expected a header of {BODY_AT} bytes, got {length} bytes"))
        );
    };
    let mut header = Reader::new(kind, bytes);
    if header.array()? != *MAGIC {
        return Err(kind.malformed("the bytes do not begin as those of Cloakwork do"));
    }
    let version = u16::from_le_bytes(header.array()?);
    if version != VERSION {
        return Err(kind.malformed(format!("expected format version {VERSION}, got {version}")));
    }
    let number = u16::from_le_bytes(header.array()?);
    if number != kind as u16 {
        let known = Kind::ALL.into_iter().find(|&known| known as u16 == number);
        let got = known.map_or(format!("an object of unknown kind {number}"), |k| k.name().into());
        return Err(kind.malformed(format!("expected {}, got {got}", kind.name())));
    }
    let fingerprint = header.array()?;
    let length = u64::from_le_bytes(header.array()?);
    if length != body.len() as u64 {
        let actual = body.len();
        return Err(kind.malformed(format!("expected a body of {length} bytes, got {actual}")));
    }
    if header.array()? != checksum(bytes) {
        return Err(kind.malformed("the checksum is wrong: the bytes were damaged"));
    }
    Ok((fingerprint, Reader::new(kind, body)))
}

/// The body of an object that was made under `parameters`.
pub(super) fn open_under<'a>(
    kind: Kind,
    parameters: &Parameters,
    bytes: &'a [u8],
) -> Result<Reader<'a>> {
    let (fingerprint, reader) = open(kind, bytes)?;
    if fingerprint != parameters.fingerprint() {
        return Err(Error::ParametersMismatch { operation: kind.reading() });
    }
    Ok(reader)
}

/// Of the header before the checksum, and of the body.
fn checksum(bytes: &[u8]) -> [u8; 16] {
    let digest = Sha256::new()
        .chain_update(&bytes[..CHECKSUM_AT])
        .chain_update(&bytes[BODY_AT..])
        .finalize();
    std::array::from_fn(|i| digest[i])
}
