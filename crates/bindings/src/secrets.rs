//! Passphrases and signatures.

use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};

use crate::bytes::Secret;
use crate::{bytes, engine, errors};

/// Bytes of the salt that a sealing key is derived with.
pub const SALT_BYTES: usize = secrets::SALT_BYTES;

/// What seals secret bytes by a passphrase; wiped from memory when freed, never printed.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct SealingKey(secrets::SealingKey);

#[pymethods]
impl SealingKey {
    /// The key of a passphrase and a salt, by scrypt: it takes 128 MiB and some tenths of a second.
    #[staticmethod]
    fn derive(py: Python<'_>, passphrase: Secret, salt: &[u8]) -> PyResult<Self> {
        run(py, || secrets::SealingKey::derive(&passphrase.0, salt)).map(Self)
    }

    /// Secret bytes encrypted, and authenticated together with a context.
    fn seal<'py>(
        &self,
        py: Python<'py>,
        secret: Secret,
        context: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let sealed = run(py, || self.0.seal(&secret.0, context))?;
        bytes::to_python(py, &sealed)
    }

    /// What `seal` sealed.
    ///
    /// Raises:
    ///     PassphraseError: It was sealed under another key or context, or is damaged.
    fn unseal<'py>(
        &self,
        py: Python<'py>,
        sealed: &[u8],
        context: &[u8],
    ) -> PyResult<Bound<'py, PyByteArray>> {
        let secret = run(py, || self.0.unseal(sealed, context))?;
        Ok(PyByteArray::new(py, &secret))
    }
}

/// A key that signs; wiped from memory when freed, never printed.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct SigningKey(secrets::SigningKey);

#[pymethods]
impl SigningKey {
    /// A fresh key from the operating system's randomness.
    #[staticmethod]
    fn generate(py: Python<'_>) -> PyResult<Self> {
        run(py, secrets::SigningKey::generate).map(Self)
    }

    /// The key that others verify its signatures with.
    #[getter]
    fn public<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.public())
    }

    /// The signature of a message.
    fn sign<'py>(&self, py: Python<'py>, message: &[u8]) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.sign(message))
    }

    /// Read what `to_bytes` wrote.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: Secret) -> PyResult<Self> {
        run(py, || secrets::SigningKey::from_bytes(&data.0)).map(Self)
    }

    /// The secret itself as bytes, unprotected.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyByteArray> {
        PyByteArray::new(py, &*self.0.to_bytes())
    }
}

/// Whether a signature of a message is by the owner of a public key.
#[pyfunction]
pub fn verify(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
    secrets::verify(public, message, signature)
}

fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> secrets::Result<T> + Send) -> PyResult<T> {
    engine::detached(py, work)?.map_err(|error| errors::secrets_refusal(py, &error))
}
