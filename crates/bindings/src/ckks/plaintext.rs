//! Plaintexts and what decryption gives.

use numpy::{Complex64, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use rlwe::ckks::{self, Encoding, IntegerCoefficients};

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

/// The integer coefficients of a plaintext.
#[derive(FromPyObject)]
pub enum Coefficients<'py> {
    #[pyo3(transparent, annotation = "int32 array")]
    Narrow(PyReadonlyArray1<'py, i32>),
    #[pyo3(transparent, annotation = "int64 array")]
    Wide(PyReadonlyArray1<'py, i64>),
}

impl Coefficients<'_> {
    pub fn integers(&self) -> PyResult<IntegerCoefficients<'_>> {
        Ok(match self {
            Self::Narrow(array) => IntegerCoefficients::Narrow(array.as_slice()?),
            Self::Wide(array) => IntegerCoefficients::Wide(array.as_slice()?),
        })
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

    /// The integer coefficients of what `encode` makes of numbers, one in each slot.
    ///
    /// Args:
    ///     values: One-dimensional, complex128. Must not change meanwhile.
    ///     level: As of `encode`.
    ///     scale: As of `encode`.
    ///     bound: As of `encode`.
    #[pyo3(signature = (values, *, level, scale, bound))]
    fn coefficients<'py>(
        &self,
        py: Python<'py>,
        values: PyReadonlyArray1<'py, Complex64>,
        level: Number<usize>,
        scale: Real,
        bound: Real,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let encoding = Encoding { level: level.0, scale: Some(scale.0), bound: Some(bound.0) };
        let values = values.as_slice()?;
        let found = engine::run(py, || self.0.coefficients(values, encoding))?;
        Ok(PyArray1::from_vec(py, found))
    }

    /// The plaintext of what `coefficients` gave, in less time than `encode` takes.
    ///
    /// Args:
    ///     coefficients: One-dimensional, int32 or int64. Must not change meanwhile.
    ///     level: As of `encode`.
    ///     scale: As of `encode`.
    ///     bound: What the absolute values of slots are taken to be within.
    #[pyo3(signature = (coefficients, *, level, scale, bound))]
    fn encode_coefficients(
        &self,
        py: Python<'_>,
        coefficients: Coefficients<'_>,
        level: Number<usize>,
        scale: Real,
        bound: Real,
    ) -> PyResult<Plaintext> {
        let encoding = Encoding { level: level.0, scale: Some(scale.0), bound: Some(bound.0) };
        let coefficients = coefficients.integers()?;
        engine::run(py, || self.0.encode_coefficients(coefficients, encoding)).map(Plaintext)
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
