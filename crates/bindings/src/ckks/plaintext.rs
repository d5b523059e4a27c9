//! Plaintexts and what decryption gives.

use numpy::{Complex64, PyArray1};
use pyo3::prelude::*;
use rlwe::ckks;

use crate::engine;

/// Numbers in slots, encoded at a level and a scale.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct Plaintext(pub ckks::Plaintext);

#[pymethods]
impl Plaintext {
    /// The level that it is encoded at.
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

    /// The public bound on the absolute values.
    #[getter]
    fn bound(&self) -> f64 {
        self.0.bound()
    }

    /// The numbers.
    fn decode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<Complex64>>> {
        engine::run(py, || self.0.decode()).map(|values| PyArray1::from_vec(py, values))
    }

    /// The real parts of the numbers.
    fn decode_real<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        engine::run(py, || self.0.decode_real()).map(|values| PyArray1::from_vec(py, values))
    }

    fn __repr__(&self) -> String {
        format!("Plaintext({})", self.0)
    }
}

/// What came out of a decryption; wiped from memory when freed.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct Decrypted(pub ckks::Decrypted);

#[pymethods]
impl Decrypted {
    /// How many numbers.
    #[getter]
    fn slots(&self) -> usize {
        self.0.slots()
    }

    /// Bits after the binary point that are right, flooding included.
    #[getter]
    fn precision(&self) -> f64 {
        self.0.precision()
    }

    /// The numbers.
    fn decode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<Complex64>>> {
        engine::run(py, || self.0.decode()).map(|values| PyArray1::from_vec(py, values))
    }

    /// The real parts of the numbers.
    fn decode_real<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        engine::run(py, || self.0.decode_real()).map(|values| PyArray1::from_vec(py, values))
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}
