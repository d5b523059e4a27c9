//! CKKS: approximate arithmetic on vectors of complex numbers.
//!
//! Cheon, Kim, Kim, Song 2017, in residue number systems with hybrid key switching.

mod ciphertext;
pub mod encoder;
mod encryption;
mod estimate;
mod evaluator;
mod linear_combination;
mod linear_transform;
mod plaintext;
mod polynomial;
mod rotation;
pub mod rounding;

pub use crate::split::Split;
pub use ciphertext::Ciphertext;
pub use encryption::Decrypted;
pub use estimate::Estimate;
pub use evaluator::Evaluator;
pub use linear_transform::{Diagonals, LinearTransform};
pub use plaintext::{Encoding, Plaintext};
pub use polynomial::{Polynomial, PolynomialBasis};
pub use rotation::inner_sum_rotations;
pub use rustfft::num_complex::Complex64;
