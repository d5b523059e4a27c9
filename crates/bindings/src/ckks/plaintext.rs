//! Plaintexts and what decryption gives.

use numpy::{Complex64, PyArray1};
use pyo3::prelude::*;
use rlwe::ckks::{self, Encoding};

use crate::arrays::Vector;
use crate::ckks::parameters::Parameters;
use crate::engine;
use crate::numbers::{Number, Real};

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

#[pymethods]
impl Parameters {
    /// Encode numbers, one a slot; their count is a power of two up to `slots`.
    ///
    /// Args:
    ///     values: One-dimensional, float64 or complex128. Must not change meanwhile.
    ///     level: The level of the ciphertexts that the plaintext will meet.
    ///     scale: By default the canonical one of the level.
    ///     bound: A public bound on the absolute values, which encryption asks for; by default
    ///         the largest of them, for a plaintext operand.
    #[pyo3(signature = (values, *, level, scale=None, bound=None))]
    fn encode(
        &self,
        py: Python<'_>,
        values: Vector<'_>,
        level: Number<usize>,
        scale: Option<Real>,
        bound: Option<Real>,
    ) -> PyResult<Plaintext> {
        let elements = values.elements()?;
        let (scale, bound) = (scale.map(|x| x.0), bound.map(|x| x.0));
        let encoding = Encoding { level: level.0, scale, bound };
        engine::run(py, || elements.encode(&self.0, encoding)).map(Plaintext)
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
