//! Ciphertexts and plaintexts on a device.

use pyo3::prelude::*;

use crate::ckks::ciphertext::Ciphertext;
use crate::ckks::estimate::CkksEstimate;
use crate::engine;
use crate::numbers::Real;

/// A ciphertext on a device.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct DeviceCiphertext(pub device::Ciphertext);

#[pymethods]
impl DeviceCiphertext {
    /// How many times it can still be rescaled.
    #[getter]
    fn level(&self) -> usize {
        self.0.estimate().level()
    }

    /// The factor between coefficients and values.
    #[getter]
    fn scale(&self) -> f64 {
        self.0.estimate().scale()
    }

    /// How many numbers.
    #[getter]
    fn slots(&self) -> usize {
        self.0.estimate().slots()
    }

    /// 1, or 2 for a product that was not relinearised.
    #[getter]
    fn degree(&self) -> usize {
        self.0.estimate().degree()
    }

    /// No number exceeds this in absolute value.
    #[getter]
    fn bound(&self) -> f64 {
        self.0.estimate().bound()
    }

    /// What it says of itself; see `Ciphertext.estimate`.
    #[getter]
    fn estimate(&self) -> CkksEstimate {
        CkksEstimate(self.0.estimate().clone())
    }

    /// Bytes on the device.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.nbytes()
    }

    /// The same ciphertext where no number exceeds `bound`; see `Ciphertext.with_bound`.
    ///
    /// Raises:
    ///     InvalidArgumentError: The bound is negative or not finite.
    fn with_bound(&self, py: Python<'_>, bound: Real) -> PyResult<Self> {
        engine::launch_on_device(py, || self.0.with_bound(bound.0)).map(Self)
    }

    /// A copy in the memory of the processor, when all work on it is done.
    ///
    /// Raises:
    ///     DeviceLostError: The device failed.
    fn fetch(&self, py: Python<'_>) -> PyResult<Ciphertext> {
        engine::launch_on_device(py, || self.0.fetch()).map(Ciphertext)
    }

    fn __repr__(&self) -> String {
        format!("DeviceCiphertext({})", self.0.estimate())
    }
}

/// A plaintext on a device.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct DevicePlaintext(pub device::Plaintext);
