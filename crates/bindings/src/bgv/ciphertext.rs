//! Ciphertexts of BGV.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rlwe::bgv;

use crate::bgv::estimate::BgvEstimate;
use crate::bgv::parameters::BgvParameters;
use crate::duration::Work;
use crate::{bytes, engine};

/// Two encrypted rows of integers.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct BgvCiphertext(pub bgv::Ciphertext);

owned!(BgvCiphertext, BgvEstimate);

#[pymethods]
impl BgvCiphertext {
    /// How often the modulus can still be switched.
    #[getter]
    fn level(&self) -> usize {
        self.0.level()
    }

    /// 1, or 2 for a product that was not relinearised.
    #[getter]
    fn degree(&self) -> usize {
        self.0.degree()
    }

    /// What the integers are multiplied by modulo the plaintext modulus.
    #[getter]
    fn factor(&self) -> u32 {
        self.0.estimate().factor()
    }

    /// log2 of a bound on the coefficients of the noise.
    #[getter]
    fn noise_bits(&self) -> f64 {
        self.0.estimate().noise().coefficient_bits
    }

    /// Bits of noise that may still come.
    #[getter]
    fn budget_bits(&self) -> f64 {
        self.0.estimate().budget_bits()
    }

    /// Read what `to_bytes` wrote.
    #[staticmethod]
    fn from_bytes(
        py: Python<'_>,
        parameters: Bound<'_, BgvParameters>,
        data: &[u8],
    ) -> PyResult<Self> {
        let parameters = &parameters.get().0;
        engine::run_here(py, || bgv::Ciphertext::from_bytes(parameters, data)).map(Self)
    }

    /// This ciphertext as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let data =
            engine::run_about(py, Work::Transform.on(self.0.nbytes()), || Ok(self.0.to_bytes()))?;
        bytes::to_python(py, &data)
    }
}
