//! Random polynomials: secrets, errors, and the uniform halves of keys.
//!
//! Two kinds of randomness never mix. A [`Generator`] holds secret state and
//! every sampler that takes one runs in constant time: neither a branch nor an
//! address depends on what it draws. A [`Seed`] is public, travels with keys and
//! ciphertexts, and [`uniform_residues`] expands it in variable time.

mod fixed_weight;
mod gaussian;
mod generator;
mod seed;
mod sorting_network;
mod ternary;
mod uniform;
mod wide_gaussian;

pub use fixed_weight::fixed_weight_ternary;
pub use gaussian::{GAUSSIAN_BOUND, SIGMA, gaussian};
pub use generator::Generator;
pub use seed::Seed;
pub use ternary::ternary;
pub use uniform::uniform_residues;
pub use wide_gaussian::{MAX_LOG2_SIGMA, wide_gaussian};

#[cfg(test)]
mod chi_square;
#[cfg(test)]
mod moments;
