//! BGV.

pub mod arrays;
pub mod ciphertext;
pub mod estimate;
pub mod evaluator;
pub mod keys;
pub mod linear_transform;
pub mod noise;
pub mod parameters;
pub mod plaintext;
pub mod rotated_products;
