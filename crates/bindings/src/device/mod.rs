//! CKKS on a GPU.

pub mod bootstrapping;
pub mod ciphertext;
pub mod evaluator;
pub mod linear_transform;
pub mod machine;
pub mod parameters;
pub mod recorded;
