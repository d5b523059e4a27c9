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
pub struct BgvSecretKey(keys::SecretKey);

#[pymethods]
impl BgvSecretKey {
    /// A fresh key from the operating system's randomness.
    #[staticmethod]
    fn generate(py: Python<'_>, parameters: Bound<'_, BgvParameters>) -> PyResult<Self> {
        let parameters = &parameters.get().0;
        engine::run(py, || keys::SecretKey::generate(parameters)).map(Self)
    }

    /// A fresh key that encrypts and does nothing else.
    fn public_key(&self, py: Python<'_>) -> PyResult<BgvPublicKey> {
        engine::run(py, || self.0.public_key()).map(BgvPublicKey)
    }

    /// Encrypt; with less noise and in fewer bytes than a public key does.
    fn encrypt(
        &self,
        py: Python<'_>,
        plaintext: Bound<'_, BgvPlaintext>,
    ) -> PyResult<BgvCiphertext> {
        let plaintext = &plaintext.get().0;
        engine::run(py, || self.0.encrypt_integers(plaintext)).map(BgvCiphertext)
    }

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

    /// Which secret key it belongs to: a random public label.
    #[getter]
    fn key_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.id())
    }

    /// Read what `to_bytes` wrote.
    #[staticmethod]
    fn from_bytes(
        py: Python<'_>,
        parameters: Bound<'_, BgvParameters>,
        data: Secret,
    ) -> PyResult<Self> {
        let parameters = &parameters.get().0;
        engine::run(py, || keys::SecretKey::from_bytes(parameters, &data.0)).map(Self)
    }

    /// The secret itself as bytes, unprotected; the caller wipes them.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        let data = engine::run(py, || Ok(self.0.to_bytes()))?;
        Ok(PyByteArray::new(py, &data))
    }

    fn __repr__(&self) -> String {
        format!("Bgv{:?}", self.0)
    }
}

/// A key that encrypts and does nothing else.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct BgvPublicKey(keys::PublicKey);

#[pymethods]
impl BgvPublicKey {
    /// Encrypt.
    fn encrypt(
        &self,
        py: Python<'_>,
        plaintext: Bound<'_, BgvPlaintext>,
    ) -> PyResult<BgvCiphertext> {
        let plaintext = &plaintext.get().0;
        engine::run(py, || self.0.encrypt_integers(plaintext)).map(BgvCiphertext)
    }

    /// Which secret key it belongs to: a random public label.
    #[getter]
    fn key_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.id())
    }

    /// Read what `to_bytes` wrote.
    #[staticmethod]
    fn from_bytes(
        py: Python<'_>,
        parameters: Bound<'_, BgvParameters>,
        data: &[u8],
    ) -> PyResult<Self> {
        let parameters = &parameters.get().0;
        engine::run(py, || keys::PublicKey::from_bytes(parameters, data)).map(Self)
    }

    /// This key as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let data = engine::run(py, || Ok(self.0.to_bytes()))?;
        bytes::to_python(py, &data)
    }

    fn __repr__(&self) -> String {
        format!("Bgv{:?}", self.0)
    }
}

/// What an evaluator holds: relinearisation and Galois keys. None of it decrypts.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct BgvEvaluationKeys(Mutex<keys::EvaluationKeys>);

impl BgvEvaluationKeys {
    fn new(keys: keys::EvaluationKeys) -> Self {
        Self(Mutex::new(keys))
    }

    /// Never held across a call into Python or the engine's work.
    fn lock(&self) -> MutexGuard<'_, keys::EvaluationKeys> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The keys as they stand; they are shared, not copied.
    pub fn snapshot(&self) -> keys::EvaluationKeys {
        self.lock().clone()
    }
}

#[pymethods]
impl BgvEvaluationKeys {
    /// Take in the keys of another; of two keys for one rotation the higher stays.
    fn extend(&self, py: Python<'_>, other: Bound<'_, BgvEvaluationKeys>) -> PyResult<()> {
        let other = other.get().snapshot();
        self.lock().extend(other).map_err(|error| errors::refusal(py, &error))
    }

    /// One object for each key, which is shared with these; an empty one if there are no keys.
    fn split(&self) -> Vec<Self> {
        self.snapshot().split().into_iter().map(Self::new).collect()
    }

    /// Rotations that there are keys for, with the level of each.
    fn rotations(&self) -> BTreeMap<i64, usize> {
        self.lock().rotations()
    }

    /// Rotations of which rotated products can be switched: see `EvaluationKeys.rotated_products`.
    fn rotated_products(&self) -> BTreeMap<i64, usize> {
        self.lock().rotated_products()
    }

    /// The level of the relinearisation key, if there is one.
    #[getter]
    fn relinearisation_level(&self) -> Option<usize> {
        self.lock().relinearisation_level()
    }

    /// The level of the key for swapping rows, if there is one.
    #[getter]
    fn row_swap_level(&self) -> Option<usize> {
        self.lock().conjugation_level()
    }

    /// Bytes in memory.
    #[getter]
    fn nbytes(&self) -> usize {
        self.lock().nbytes()
    }

    /// Which secret key it belongs to: a random public label.
    #[getter]
    fn key_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.lock().id())
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
            keys.expand()?;
            Ok(keys)
        };
        engine::run(py, read).map(Self::new)
    }

    /// These keys as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let keys = self.snapshot();
        let data = engine::run(py, || Ok(keys.to_bytes()))?;
        bytes::to_python(py, &data)
    }

    fn __repr__(&self) -> String {
        format!("Bgv{:?}", self.lock())
    }
}
