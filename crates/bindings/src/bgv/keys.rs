//! Keys of BGV.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMapping};
use rlwe::keys;

use crate::bgv::arrays;
use crate::bgv::ciphertext::BgvCiphertext;
use crate::bgv::parameters::BgvParameters;
use crate::bgv::plaintext::BgvPlaintext;
use crate::bytes::Secret;
use crate::numbers::{Number, levels_by};
use crate::{bytes, engine, errors};

/// The key that decrypts; wiped from memory when freed, never printed.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct BgvSecretKey(pub keys::SecretKey);

encrypting_keys!(BgvSecretKey, BgvPublicKey, BgvParameters, BgvPlaintext -> BgvCiphertext by encrypt_integers, "Bgv");

#[pymethods]
impl BgvSecretKey {
    /// The integers, of shape (2, slots), between minus and plus half the plaintext modulus.
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        ciphertext: Bound<'py, BgvCiphertext>,
    ) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let ciphertext = &ciphertext.get().0;
        let values = engine::run(py, || self.0.decrypt_integers(ciphertext))?;
        arrays::to_python(py, values)
    }

    /// log2 of the largest coefficient of the noise, which reveals the key: for tests.
    fn noise_bits(&self, py: Python<'_>, ciphertext: Bound<'_, BgvCiphertext>) -> PyResult<f64> {
        let ciphertext = &ciphertext.get().0;
        engine::run(py, || Ok(self.0.measure_noise(ciphertext)?.coefficient_bits))
    }

    /// Keys for an evaluator, each for ciphertexts up to a level.
    ///
    /// Args:
    ///     relinearisation_level: The highest level of a product of ciphertexts.
    ///     rotations: The highest level of each rotation.
    ///     row_swap_level: The highest level at which rows are swapped.
    ///     rotated_products: As of `SecretKey.evaluation_keys`.
    #[pyo3(signature = (*, relinearisation_level, rotations, row_swap_level, rotated_products=None))]
    fn evaluation_keys(
        &self,
        py: Python<'_>,
        relinearisation_level: Option<Number<usize>>,
        rotations: Bound<'_, PyMapping>,
        row_swap_level: Option<Number<usize>>,
        rotated_products: Option<Bound<'_, PyMapping>>,
    ) -> PyResult<BgvEvaluationKeys> {
        let rotated_products = rotated_products.as_ref().map(levels_by).transpose()?;
        let request = keys::EvaluationKeysRequest {
            relinearisation_level: relinearisation_level.map(|level| level.0),
            rotations: levels_by(&rotations)?,
            conjugation_level: row_swap_level.map(|level| level.0),
            rotated_products: rotated_products.unwrap_or_default(),
            ..Default::default()
        };
        engine::run(py, || self.0.evaluation_keys(&request)).map(BgvEvaluationKeys::new)
    }
}

/// A key that encrypts and does nothing else.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct BgvPublicKey(keys::PublicKey);

/// Takes ciphertexts of one secret key to another.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct BgvRekeyingKey(keys::RekeyingKey);

rekeying_keys!(BgvRekeyingKey, BgvSecretKey, BgvParameters, BgvCiphertext by rekey_integers, "Bgv");

/// What an evaluator holds: relinearisation and Galois keys. None of it decrypts.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct BgvEvaluationKeys(Mutex<keys::EvaluationKeys>);

evaluation_keys!(BgvEvaluationKeys, "Bgv");

#[pymethods]
impl BgvEvaluationKeys {
    /// The level of the key for swapping rows, if there is one.
    #[getter]
    fn row_swap_level(&self) -> Option<usize> {
        self.lock().conjugation_level()
    }

    /// Read what `to_bytes` wrote.
    #[staticmethod]
    fn from_bytes(
        py: Python<'_>,
        parameters: Bound<'_, BgvParameters>,
        data: &[u8],
    ) -> PyResult<Self> {
        let parameters = &parameters.get().0;
        let read = || {
            let mut keys = keys::EvaluationKeys::from_bytes(parameters, data)?;
            keys.expand();
            Ok(keys)
        };
        engine::run(py, read).map(Self::new)
    }
}
