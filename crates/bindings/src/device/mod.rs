//! CKKS on a GPU.

pub mod ciphertext;
pub mod evaluator;
pub mod linear_transform;
pub mod machine;
pub mod parameters;
