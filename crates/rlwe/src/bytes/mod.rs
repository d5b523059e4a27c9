//! Every object to bytes and back.
//!
//! All objects begin with the same 48 bytes, numbers little-endian:
//!
//! ```text
//!   0   4  "CLWK"
//!   4   2  format version, 3
//!   6   2  kind: 1 parameters, 2 secret key, 3 public key, 4 evaluation keys,
//!          5 ciphertext, 6 plaintext, 7 BGV parameters, 8 BGV ciphertext, 9 BGV plaintext
//!   8  16  fingerprint of the parameters
//!  24   8  length of the body
//!  32  16  SHA-256 of the 32 bytes before and of the body, its first half
//!  48      the body
//! ```
//!
//! Uniform polynomials are stored as the seed that they expand from, so that keys and
//! fresh ciphertexts take half their memory. Other polynomials are one 32-bit word for
//! each residue, prime by prime, in the domain and form in which they are kept.
//!
//! The checksum finds accidents, not forgeries: whoever reads bytes from a stranger may
//! read any well-formed object. Reading never panics, and takes no more memory than the
//! same object made honestly: no length is believed before the bytes are there. Only
//! [`Parameters`](crate::Parameters) grow from a few bytes to large tables; look at
//! [`ParametersLiteral::from_bytes`](crate::ParametersLiteral::from_bytes) first where
//! that matters.

mod bgv;
mod ckks;
mod envelope;
mod keys;
mod parameters;
mod reader;
mod residues;
