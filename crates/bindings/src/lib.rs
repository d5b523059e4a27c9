//! The Python module `cloakwork._native`.
//!
//! Converts arguments, releases the interpreter lock, calls the engine and converts
//! back. What an operation means is said in the crates `rlwe` and `boolean`.
#![forbid(unsafe_code)]

mod arrays;
mod bgv_arrays;
mod bgv_ciphertext;
mod bgv_estimate;
mod bgv_evaluator;
mod bgv_keys;
mod bgv_linear_transform;
mod bgv_parameters;
mod bgv_plaintext;
mod boolean_keys;
mod boolean_parameters;
mod boolean_program;
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

/// The engines, written in Rust: CKKS and BGV over RNS rings, and TFHE for bits.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::{
        bgv_ciphertext::BgvCiphertext,
        bgv_estimate::BgvEstimate,
        bgv_evaluator::BgvEvaluator,
        bgv_keys::{BgvEvaluationKeys, BgvPublicKey, BgvSecretKey},
        bgv_linear_transform::BgvLinearTransform,
        bgv_parameters::BgvParameters,
        bgv_plaintext::BgvPlaintext,
        boolean_keys::{BooleanCiphertexts, BooleanEvaluationKey, BooleanSecretKey},
        boolean_parameters::{
            BooleanParameters, boolean_noise, boolean_parameter_sets, boolean_seconds,
        },
        boolean_program::BootstrapProgram,
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
