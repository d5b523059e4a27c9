//! The lattice engine of Cloakwork.
//!
//! The folders are the mathematics: [`ring`] is arithmetic modulo many word
//! primes, the key-switching modules above it know only rings and secrets, and
//! on top of both [`ckks`] is the scheme of approximate numbers, [`bgv`] that of whole ones.
#![forbid(unsafe_code)]

pub mod bgv;
pub mod bytes;
pub mod chain;
pub mod ckks;
mod deviation;
mod diagonal_sums;
mod encryption;
pub mod error;
mod key_switching;
pub mod keys;
pub mod literal;
mod multiplication;
pub mod parallel;
pub mod parameters;
pub mod ring;
mod rotation;
pub mod sampling;
pub mod security;
mod split;

pub use error::{Error, Result};
pub use literal::{ParametersLiteral, SecretDistribution};
pub use parameters::Parameters;
