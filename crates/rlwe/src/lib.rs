//! The lattice engine of Cloakwork.
//!
//! The folders are the mathematics: [`ring`] is arithmetic modulo many word
//! primes, the key-switching modules above it know only rings and secrets, and
//! [`ckks`] is the scheme of approximate numbers on top of both.
#![forbid(unsafe_code)]

pub mod bytes;
pub mod chain;
pub mod ckks;
pub mod error;
mod key_switching;
pub mod keys;
pub mod literal;
pub mod parameters;
pub mod ring;
pub mod sampling;
pub mod security;

pub use error::{Error, Result};
pub use literal::{ParametersLiteral, SecretDistribution};
pub use parameters::Parameters;
