//! Plaintexts of BGV.

use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rlwe::bgv;

use crate::bgv::arrays::{self, Rows};
use crate::bgv::parameters::BgvParameters;
use crate::numbers::Number;
use crate::{bytes, engine};

/// Two rows of integers, encoded at a level.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct BgvPlaintext(pub bgv::Plaintext);

stored!(BgvPlaintext(bgv::Plaintext), BgvParameters);

#[pymethods]
impl BgvPlaintext {
    /// The level that it is encoded at.
    #[getter]
    fn level(&self) -> usize {
        self.0.level()
    }

    /// log2 of what a product with it multiplies noise by.
    #[getter]
    fn norm_bits(&self) -> f64 {
        self.0.norm_bits()
    }

    /// The integers, of shape (2, slots).
    fn decode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let values = engine::run(py, || Ok(self.0.decode()))?;
        arrays::to_python(py, values)
    }

    fn __repr__(&self) -> String {
        format!("BgvPlaintext({})", self.0)
    }
}

#[pymethods]
impl BgvParameters {
    /// Encode integers between minus and plus half the plaintext modulus.
    ///
    /// Args:
    ///     values: int64 of shape (2, slots), or (slots,) for both rows the same.
    ///     level: The level of the ciphertexts that the plaintext will meet.
    #[pyo3(signature = (values, *, level))]
    fn encode(&self, py: Python<'_>, values: Rows, level: Number<usize>) -> PyResult<BgvPlaintext> {
        engine::run(py, || self.0.encode(&values.0, level.0)).map(BgvPlaintext)
    }
}
