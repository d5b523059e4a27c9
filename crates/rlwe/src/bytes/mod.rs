//! Every object to bytes and back.
//!
//! All objects begin with the 48 bytes that the crate `envelope` describes: the magic is "CLWK",
//! the version 6, and the kinds are 1 parameters, 2 secret key, 3 public key, 4 evaluation keys,
//! 5 ciphertext, 6 plaintext, 7 BGV parameters, 8 BGV ciphertext, 9 BGV plaintext,
//! 10 bootstrapping parameters, 13 rotated products, 14 BGV rotated products, 15 ring
//! switching key. 11 and 12 were rotated products whose words stood in another order.
//!
//! Uniform polynomials are stored as the seed that they expand from, so that keys and
//! fresh ciphertexts take half their memory. Other polynomials are one 32-bit word for
//! each residue, prime by prime, in the domain and form in which they are held.
//!
//! Parameters are stored as the primes, levels and digits that they are, so that a better search
//! for them orphans nothing.
//!
//! Reading never panics, and takes no more memory than the same object made honestly. Only
//! parameters grow from a few bytes to large tables, which their [`ReadLimits`] bound; and what
//! less than 128 bits of security protect is refused unless the reader of the bytes asks for it.

mod bgv;
mod ckks;
mod keys;
mod kind;
mod parameters;
mod reader;
mod residues;
mod ring_switching;

pub use parameters::ReadLimits;
