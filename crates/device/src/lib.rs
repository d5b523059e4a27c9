//! The engine of CKKS on a device: ciphertexts, keys and plaintexts stay there for a whole program.
//!
//! [`launch`] has the devices, a GPU or software that stands for one, and the kernels; above it
//! [`Parameters`] are a parameter set's tables on a device, and [`Evaluator`] has the operations.
//! Every result equals that of [`rlwe`] bit for bit. Nothing secret can be sent to a device: it takes
//! ciphertexts, plaintexts and evaluation keys.
#![deny(unsafe_code)]

mod bootstrapping;
mod ciphertext;
mod combination;
mod combination_tables;
mod decomposition;
mod division;
mod error;
mod evaluator;
mod keys;
#[allow(unsafe_code, reason = "kernels and the driver are reached by address")]
pub mod launch;
mod level;
mod linear_transform;
mod memory;
mod parameters;
mod polynomial;
mod raising;
mod recorded;
mod scalars;
mod weighted_sums;

pub use bootstrapping::Bootstrapping;
pub use ciphertext::{Ciphertext, Plaintext};
pub use error::{Error, Result};
pub use evaluator::Evaluator;
pub use launch::Device;
pub use linear_transform::LinearTransform;
pub use parameters::Parameters;
pub use recorded::{Recorded, Recording};
