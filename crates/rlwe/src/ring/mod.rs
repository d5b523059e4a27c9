//! Arithmetic in `Z_Q[X]/(X^N + 1)`, with Q a product of word primes.

pub(crate) mod automorphism;
pub(crate) mod buffers;
pub(crate) mod bundle;
pub(crate) mod centring;
pub(crate) mod convert;
pub(crate) mod division;
pub mod embedding;
pub(crate) mod inner_products;
pub(crate) mod kernels;
pub(crate) mod lanes;
pub(crate) mod matrix_product;
pub(crate) mod mixed_radix;
pub(crate) mod modulus;
pub(crate) mod narrow_product;
pub(crate) mod poly;
pub mod primes;
#[cfg(test)]
pub(crate) mod schoolbook;
pub(crate) mod strassen;
pub(crate) mod tiles;
pub(crate) mod turned_columns;
pub(crate) mod weighted_sums;
pub mod wiped;
#[cfg(target_arch = "x86_64")]
mod word_product;

/// Bytes of a residue.
pub const WORD_BYTES: usize = size_of::<u32>();
