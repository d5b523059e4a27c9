//! The lattice engine of Cloakwork.
//!
//! The folders are the mathematics: [`ring`] is arithmetic modulo many word
//! primes, [`core`] above it has the keys and the key switching of any scheme, and
//! on top of both [`ckks`] is the scheme of approximate numbers, [`bgv`] that of whole ones.
#![forbid(unsafe_code)]

pub mod bgv;
pub mod bytes;
pub mod chain;
pub mod ckks;
pub mod core;
pub mod error;
pub mod parallel;
pub mod ring;
pub mod sampling;
pub mod security;
pub mod tables;

pub use self::core::{SecretDistribution, keys};
pub use error::{Error, Result};
pub use ring::buffers::{cached_bytes, set_cached_bytes};
