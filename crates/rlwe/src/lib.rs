//! The lattice engine of Cloakwork.
//!
//! The folders are the mathematics: [`ring`] is arithmetic modulo many word
//! primes, the key-switching modules above it know only rings and secrets, and
//! [`ckks`] is the scheme of approximate numbers on top of both.
#![forbid(unsafe_code)]

pub mod chain;
pub mod ckks;
pub mod error;
pub mod parameters;
pub mod ring;
pub mod security;

pub use error::{Error, Result};
