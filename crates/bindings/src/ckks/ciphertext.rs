//! Ciphertexts.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rlwe::ckks;

use crate::ckks::estimate::CkksEstimate;
use crate::ckks::parameters::Parameters;
use crate::duration::Work;
use crate::numbers::Real;
use crate::{bytes, engine, errors};

/// An encrypted vector of numbers.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct Ciphertext(pub ckks::Ciphertext);

owned!(Ciphertext, CkksEstimate);

#[pymethods]
impl Ciphertext {
    /// How many times it can still be rescaled.
    #[getter]
    fn level(&self) -> usize {
        self.0.level()
    }

    /// The factor between coefficients and values.
    #[getter]
    fn scale(&self) -> f64 {
        self.0.scale()
    }

    /// How many numbers.
    #[getter]
    fn slots(&self) -> usize {
        self.0.slots()
    }

    /// 1, or 2 for a product that was not relinearised.
    #[getter]
    fn degree(&self) -> usize {
        self.0.degree()
    }

    /// Bits after the binary point that are right, but for a chance below 2^-20.
    #[getter]
    fn precision(&self) -> f64 {
        self.0.precision()
    }

    /// No number exceeds this in absolute value.
    #[getter]
    fn bound(&self) -> f64 {
        self.0.estimate().bound()
    }

    /// The same ciphertext where no number exceeds `bound` in absolute value: it takes the
    /// smaller of its own bound and this one; nothing is copied. A bound that is not true makes
    /// the precision untrue, and lets numbers wrap around the modulus unseen.
    ///
    /// Raises:
    ///     InvalidArgumentError: The bound is negative or not finite.
    fn with_bound(&self, py: Python<'_>, bound: Real) -> PyResult<Self> {
        self.0.with_bound(bound.0).map(Self).map_err(|error| errors::refusal(py, &error))
    }

    /// Read what `to_bytes` wrote.
    #[staticmethod]
    fn from_bytes(
        py: Python<'_>,
        parameters: Bound<'_, Parameters>,
        data: &[u8],
    ) -> PyResult<Self> {
        let parameters = &parameters.get().0;
        engine::run_here(py, || ckks::Ciphertext::from_bytes(parameters, data)).map(Self)
    }

    /// This ciphertext as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let data =
            engine::run_about(py, Work::Transform.on(self.0.nbytes()), || Ok(self.0.to_bytes()))?;
        bytes::to_python(py, &data)
    }
}
