//! What CKKS and BGV share: parameters, keys, and operations on polynomials that encrypt, before a
//! scheme says what they mean.

pub(crate) mod automorphism;
pub(crate) mod bsgs;
pub(crate) mod encapsulation;
pub(crate) mod encryption_of_zero;
pub(crate) mod key_switching;
pub mod keys;
pub(crate) mod literal;
pub(crate) mod noise;
pub(crate) mod parameters;
pub mod ring_switching;
pub(crate) mod rotated_products;
pub(crate) mod tensor_product;

pub use bsgs::{BabySteps, Split};
pub use literal::SecretDistribution;
pub use parameters::Parameters;
