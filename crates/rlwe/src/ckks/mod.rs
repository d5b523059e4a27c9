//! CKKS: approximate arithmetic on vectors of complex numbers.
//!
//! Cheon, Kim, Kim, Song 2017, in residue number systems with hybrid key switching.

mod arriving;
mod bootstrapping;
mod ciphertext;
mod clear_repeated;
mod clear_transform;
mod coefficients;
mod combination;
mod combination_tables;
mod diagonals;
mod encoded_products;
mod encoding;
mod encryption;
mod estimate;
mod evaluator;
mod flooding;
mod leaving;
mod linear_transform;
pub(crate) mod parameters;
mod patterns;
mod plaintext;
mod polynomial;
mod rekeying;
mod rotated_products;
mod rotation;
pub mod rounding;
mod transform_sums;
mod weighted_sums;
mod words;

pub use crate::core::{BabySteps, Split};
pub use bootstrapping::{
    Bootstrapping, BootstrappingArithmetic, BootstrappingLiteral, BootstrappingParameters,
    OVERFLOW_FAILURE_BITS, Packing, bootstrap, bootstrap_pair,
};
pub use ciphertext::Ciphertext;
pub use clear_transform::ClearDiagonals;
pub use combination_tables::{AlignmentTable, CombinationTable};
pub use diagonals::{Diagonals, SparseDiagonals};
pub use encoding::Encoding;
pub use encryption::Decrypted;
pub use estimate::{Estimate, PRECISION_FAILURE_BITS};
pub use evaluator::Evaluator;
pub use flooding::Flooding;
pub use linear_transform::LinearTransform;
pub use parameters::{Parameters, ParametersLiteral};
pub use patterns::Patterns;
pub use plaintext::Plaintext;
pub use polynomial::{Arithmetic, OnEstimates, Polynomial, PolynomialBasis, evaluate_polynomial};
pub use rotated_products::RotatedProducts;
pub use rotation::inner_sum_rotations;
pub use rounding::IntegerCoefficients;
pub use rustfft::num_complex::Complex64;
pub use transform_sums::TransformTerms;
pub use words::{DiagonalWords, KeyWords};
