//! What an object is.

use envelope::{Format, Kind, Reader};

use crate::core::Parameters;
use crate::{Error, Result};

pub(super) const PARAMETERS: Kind = Kind { number: 1, name: "parameters" };
pub(super) const SECRET_KEY: Kind = Kind { number: 2, name: "a secret key" };
pub(super) const PUBLIC_KEY: Kind = Kind { number: 3, name: "a public key" };
pub(super) const EVALUATION_KEYS: Kind = Kind { number: 4, name: "evaluation keys" };
pub(super) const CIPHERTEXT: Kind = Kind { number: 5, name: "a ciphertext" };
pub(super) const PLAINTEXT: Kind = Kind { number: 6, name: "a plaintext" };
pub(super) const BGV_PARAMETERS: Kind = Kind { number: 7, name: "BGV parameters" };
pub(super) const BGV_CIPHERTEXT: Kind = Kind { number: 8, name: "a BGV ciphertext" };
pub(super) const BGV_PLAINTEXT: Kind = Kind { number: 9, name: "a BGV plaintext" };
pub(super) const BOOTSTRAPPING_PARAMETERS: Kind =
    Kind { number: 10, name: "bootstrapping parameters" };
pub(super) const ROTATED_PRODUCTS: Kind = Kind { number: 13, name: "rotated products" };
pub(super) const BGV_ROTATED_PRODUCTS: Kind = Kind { number: 14, name: "BGV rotated products" };
pub(super) const RING_SWITCHING_KEY: Kind = Kind { number: 15, name: "a ring switching key" };

pub(super) const FORMAT: Format = Format {
    magic: *b"CLWK",
    version: 6,
    kinds: &[
        PARAMETERS,
        SECRET_KEY,
        PUBLIC_KEY,
        EVALUATION_KEYS,
        CIPHERTEXT,
        PLAINTEXT,
        BGV_PARAMETERS,
        BGV_CIPHERTEXT,
        BGV_PLAINTEXT,
        BOOTSTRAPPING_PARAMETERS,
        ROTATED_PRODUCTS,
        BGV_ROTATED_PRODUCTS,
        RING_SWITCHING_KEY,
    ],
};

/// The bytes of an object under `parameters` whose body, `length` bytes long, `write` appends.
pub(super) fn seal(
    kind: Kind,
    parameters: &Parameters,
    length: usize,
    write: impl FnOnce(&mut Vec<u8>),
) -> Vec<u8> {
    FORMAT.seal(kind, parameters.fingerprint(), length, write)
}

/// The body of an object that was made under `parameters`.
pub(super) fn open_under<'a>(
    kind: Kind,
    parameters: &Parameters,
    bytes: &'a [u8],
) -> Result<Reader<'a>> {
    let (fingerprint, reader) = FORMAT.open(kind, bytes)?;
    if fingerprint != parameters.fingerprint() {
        return Err(Error::ParametersMismatch { operation: reading(kind) });
    }
    Ok(reader)
}

fn reading(kind: Kind) -> &'static str {
    match kind {
        SECRET_KEY => "read a secret key",
        PUBLIC_KEY => "read a public key",
        EVALUATION_KEYS => "read evaluation keys",
        CIPHERTEXT => "read a ciphertext",
        PLAINTEXT => "read a plaintext",
        BGV_CIPHERTEXT => "read a BGV ciphertext",
        BGV_PLAINTEXT => "read a BGV plaintext",
        ROTATED_PRODUCTS => "read rotated products",
        BGV_ROTATED_PRODUCTS => "read BGV rotated products",
        RING_SWITCHING_KEY => "read a ring switching key",
        _ => "read an object",
    }
}
