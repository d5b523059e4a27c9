//! CKKS.

pub mod bootstrapping;
pub mod ciphertext;
pub mod clear_transform;
pub mod estimate;
pub mod evaluator;
pub mod keys;
pub mod linear_transform;
pub mod parameters;
pub mod plaintext;
pub mod polynomial;
pub mod rotated_products;
