//! The Python module `cloakwork._native`.
//!
//! Converts arguments, releases the interpreter lock, calls the engine and converts
//! back. What an operation means is said in the crate `rlwe`.
#![forbid(unsafe_code)]

mod arrays;
mod bytes;
mod ciphertext;
mod engine;
mod errors;
mod evaluator;
mod keys;
mod linear_transform;
mod numbers;
mod parameters;
mod plaintext;
mod threads;
mod timing;

/// The lattice engine: CKKS over RNS rings, written in Rust.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::{
        ciphertext::Ciphertext,
        evaluator::Evaluator,
        keys::{EvaluationKeys, PublicKey, SecretKey},
        linear_transform::LinearTransform,
        parameters::Parameters,
        plaintext::{Decrypted, Plaintext},
        threads::{set_threads, threads},
        timing::ntt_seconds,
    };
}
