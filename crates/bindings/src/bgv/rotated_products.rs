//! Rotated products of BGV.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rlwe::bgv;

use crate::bgv::estimate::BgvEstimate;
use crate::bgv::parameters::BgvParameters;
use crate::{bytes, engine};

/// Sums of products of two lists of ciphertexts, for all rotations of the left one at once; no key
/// was switched yet.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct BgvRotatedProducts(pub bgv::RotatedProducts);

#[pymethods]
impl BgvRotatedProducts {
    /// How often the modulus of what they are switched to can be switched.
    #[getter]
    fn level(&self) -> usize {
        self.0.level()
    }

    /// Slots that the left list is rotated by from one product to the next.
    #[getter]
    fn step(&self) -> usize {
        self.0.step()
    }

    /// How many products: slots of a row divided by the step.
    #[getter]
    fn count(&self) -> usize {
        self.0.count()
    }

    /// All that is known of each product without decrypting it.
    #[getter]
    fn estimate(&self) -> BgvEstimate {
        BgvEstimate(self.0.estimate().clone())
    }

    /// Which secret key they belong to: a random public label.
    #[getter]
    fn key_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.key_id())
    }

    /// Bytes in memory.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.nbytes()
    }

    /// Read what `to_bytes` wrote.
    #[staticmethod]
    fn from_bytes(
        py: Python<'_>,
        parameters: Bound<'_, BgvParameters>,
        data: &[u8],
    ) -> PyResult<Self> {
        let parameters = &parameters.get().0;
        engine::run(py, || bgv::RotatedProducts::from_bytes(parameters, data)).map(Self)
    }

    /// These products as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let data = engine::run(py, || Ok(self.0.to_bytes()))?;
        bytes::to_python(py, &data)
    }

    fn __repr__(&self) -> String {
        format!("BgvRotatedProducts({})", self.0)
    }
}
