//! BGV: exact arithmetic on vectors of integers modulo a prime t.
//!
//! Brakerski, Gentry, Vaikuntanathan 2012, in residue number systems (Gentry, Halevi, Smart
//! 2012) with hybrid key switching.
//!
//! A ciphertext of m satisfies, for a small v that is f m modulo t,
//!
//! ```text
//!   c0 + c1 s = v / t  (mod Q)            m = v / f  (mod t)
//! ```
//!
//! f, the correction factor, is public and tracked exactly. The literature has v on the right;
//! divided by t modulo Q it is the same ciphertext, and keys, key switching and rounding need
//! not know of t: an error e that any of them adds there is t e in v, which changes no message.
//! Rounding x J / D, as modulus switching does, takes v to v J / D + t r, and so f to f J / D.

mod alignment;
mod ciphertext;
mod encryption;
mod estimate;
mod evaluator;
mod leaving;
mod linear_transform;
mod noise;
mod parameters;
mod plaintext;
mod rekeying;
mod rotated_products;
mod rotation;
pub(crate) mod slots;
mod switching;

pub use crate::core::Split;
pub use ciphertext::Ciphertext;
pub use encryption::MeasuredNoise;
pub use estimate::Estimate;
pub use evaluator::Evaluator;
pub use linear_transform::{Diagonals, LinearTransform};
pub use noise::{
    CANONICAL_FACTOR_BITS, FAILURE_BITS, LEAST_FAILURE_BITS, MOST_FAILURE_BITS, Noise, NoiseModel,
};
pub(crate) use parameters::Design;
pub use parameters::{Parameters, ParametersLiteral};
pub use plaintext::Plaintext;
pub use rotated_products::RotatedProducts;
