//! The Python module `cloakwork._native`.
//!
//! Converts arguments, releases the interpreter lock, calls the engine and converts
//! back. What an operation means is said in the crates `rlwe`, `tfhe-eval` and `secrets`.
#![forbid(unsafe_code)]

// Before those that use its macros.
#[macro_use]
mod shared_methods;

mod arrays;
mod bgv;
mod bytes;
mod checksum;
mod ckks;
mod device;
mod duration;
mod engine;
mod errors;
mod memory;
mod numbers;
mod secrets;
mod security;
mod tfhe;
mod threads;
mod timing;

/// The engines, written in Rust: CKKS and BGV over RNS rings, and TFHE for bits.
// Needs no interpreter lock: nothing here is shared but by locks and atomics of its own.
#[pyo3::pymodule(gil_used = false)]
mod _native {
    /// Bytes of a residue.
    #[pymodule_export]
    const WORD_BYTES: usize = rlwe::ring::WORD_BYTES;

    /// Bytes of the salt that a sealing key is derived with.
    #[pymodule_export]
    const SALT_BYTES: usize = crate::secrets::SALT_BYTES;

    /// A result of CKKS has fewer bits than its precision says with 2^-so many.
    #[pymodule_export]
    const PRECISION_FAILURE_BITS: f64 = rlwe::ckks::PRECISION_FAILURE_BITS;
    /// The `failure_bits` of BGV, taken where nothing is asked for.
    #[pymodule_export]
    const BGV_FAILURE_BITS: u32 = rlwe::bgv::FAILURE_BITS;
    /// The least `failure_bits` of BGV.
    #[pymodule_export]
    const BGV_LEAST_FAILURE_BITS: u32 = rlwe::bgv::LEAST_FAILURE_BITS;
    /// The most `failure_bits` of BGV.
    #[pymodule_export]
    const BGV_MOST_FAILURE_BITS: u32 = rlwe::bgv::MOST_FAILURE_BITS;

    #[pymodule_export]
    use crate::{
        bgv::ciphertext::BgvCiphertext,
        bgv::estimate::BgvEstimate,
        bgv::evaluator::BgvEvaluator,
        bgv::keys::{BgvEvaluationKeys, BgvPublicKey, BgvRekeyingKey, BgvSecretKey},
        bgv::linear_transform::BgvLinearTransform,
        bgv::noise::{BgvNoise, BgvNoiseModel},
        bgv::parameters::BgvParameters,
        bgv::plaintext::BgvPlaintext,
        bgv::rotated_products::BgvRotatedProducts,
        checksum::crc32,
        ckks::bootstrapping::{Bootstrapping, BootstrappingParameters},
        ckks::ciphertext::Ciphertext,
        ckks::clear_transform::clear_transform,
        ckks::estimate::CkksEstimate,
        ckks::evaluator::Evaluator,
        ckks::keys::{EvaluationKeys, PublicKey, RekeyingKey, SecretKey},
        ckks::linear_transform::DiagonalPatterns,
        ckks::linear_transform::LinearTransform,
        ckks::linear_transform::SparseDiagonals,
        ckks::parameters::Parameters,
        ckks::plaintext::{Decrypted, Plaintext},
        ckks::rotated_products::RotatedProducts,
        device::bootstrapping::DeviceBootstrapping,
        device::ciphertext::{DeviceCiphertext, DevicePlaintext},
        device::evaluator::DeviceEvaluator,
        device::linear_transform::DeviceLinearTransform,
        device::machine::Device,
        device::parameters::DeviceParameters,
        device::recorded::{DeviceRecorded, DeviceRecording},
        memory::{cached_bytes, set_cached_bytes},
        secrets::{SealingKey, SigningKey, verify},
        security::max_log_qp,
        tfhe::crossing::{RingSwitchingKey, return_key, ring_switching_variance},
        tfhe::keys::{
            BooleanCiphertexts, BooleanEvaluationKey, BooleanPublicKey, BooleanSecretKey,
        },
        tfhe::parameters::{
            BooleanParameters, boolean_largest_variance, boolean_log2_failure, boolean_noise,
            boolean_parameter_sets, boolean_seconds,
        },
        tfhe::program::BootstrapProgram,
        threads::{set_threads, threads},
        timing::ntt_seconds,
    };
}
