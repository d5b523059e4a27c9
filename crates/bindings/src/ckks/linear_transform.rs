//! Linear transforms.

use pyo3::prelude::*;
use pyo3::types::PyMapping;
use rlwe::ckks::{self, Encoding};

use crate::arrays::Vector;
use crate::ckks::parameters::Parameters;
use crate::engine;
use crate::numbers::{Number, Real};

/// y = the sum over d of diagonals[d] * rotate(x, d), encoded for ciphertexts of one level.
///
/// Args:
///     parameters: The parameters.
///     diagonals: Vectors of `slots` numbers each, by rotation.
///     slots: The slots of the ciphertexts.
///     level: The level of the ciphertexts.
///     scale: The scale of the diagonals; by default that after which a rescale takes a
///         ciphertext from canonical scale to canonical scale.
///     baby_steps: Diagonal d is taken apart as d % baby_steps and the rest; by default so
///         that the work is least.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct LinearTransform(pub ckks::LinearTransform);

/// How the engine makes a transform: encoded ahead or streamed.
type Constructor = fn(
    &ckks::Parameters,
    &ckks::Diagonals,
    usize,
    Encoding,
    Option<usize>,
) -> rlwe::Result<ckks::LinearTransform>;

/// Diagonals by rotation, as Python gives them.
struct Arguments<'py> {
    parameters: Bound<'py, Parameters>,
    vectors: Vec<(Number<i64>, Vector<'py>)>,
    slots: usize,
    encoding: Encoding,
    baby_steps: Option<usize>,
}

impl<'py> Arguments<'py> {
    fn read(
        parameters: Bound<'py, Parameters>,
        diagonals: &Bound<'py, PyMapping>,
        slots: Number<usize>,
        level: Number<usize>,
        scale: Option<Real>,
        baby_steps: Option<Number<usize>>,
    ) -> PyResult<Self> {
        Ok(Self {
            parameters,
            vectors: diagonals.items()?.extract()?,
            slots: slots.0,
            encoding: Encoding { level: level.0, scale: scale.map(|x| x.0), bound: None },
            baby_steps: baby_steps.map(|x| x.0),
        })
    }

    fn make(&self, py: Python<'_>, constructor: Constructor) -> PyResult<LinearTransform> {
        let elements = self.vectors.iter().map(|(d, vector)| Ok((d.0, vector.elements()?)));
        let elements = elements.collect::<PyResult<Vec<_>>>()?;
        let parameters = &self.parameters.get().0;
        let (slots, encoding, baby_steps) = (self.slots, self.encoding, self.baby_steps);
        let make = || {
            let diagonals = elements.iter().map(|(d, values)| (*d, values.to_complex())).collect();
            constructor(parameters, &diagonals, slots, encoding, baby_steps)
        };
        engine::run(py, make).map(LinearTransform)
    }
}

#[pymethods]
impl LinearTransform {
    #[new]
    #[pyo3(signature = (parameters, diagonals, *, slots, level, scale=None, baby_steps=None))]
    fn new(
        py: Python<'_>,
        parameters: Bound<'_, Parameters>,
        diagonals: Bound<'_, PyMapping>,
        slots: Number<usize>,
        level: Number<usize>,
        scale: Option<Real>,
        baby_steps: Option<Number<usize>>,
    ) -> PyResult<Self> {
        Arguments::read(parameters, &diagonals, slots, level, scale, baby_steps)?
            .make(py, ckks::LinearTransform::new)
    }

    /// The same transform with its diagonals encoded whenever it is applied: slower, and for
    /// transforms too large to be cached encoded.
    #[staticmethod]
    #[pyo3(signature = (parameters, diagonals, *, slots, level, scale=None, baby_steps=None))]
    fn streamed(
        py: Python<'_>,
        parameters: Bound<'_, Parameters>,
        diagonals: Bound<'_, PyMapping>,
        slots: Number<usize>,
        level: Number<usize>,
        scale: Option<Real>,
        baby_steps: Option<Number<usize>>,
    ) -> PyResult<Self> {
        Arguments::read(parameters, &diagonals, slots, level, scale, baby_steps)?
            .make(py, ckks::LinearTransform::streamed)
    }

    /// The rotations that need a Galois key.
    #[getter]
    fn rotations(&self) -> Vec<i64> {
        self.0.rotations()
    }

    /// The level of the ciphertexts that it transforms.
    #[getter]
    fn level(&self) -> usize {
        self.0.level()
    }

    /// The slots of the ciphertexts that it transforms.
    #[getter]
    fn slots(&self) -> usize {
        self.0.slots()
    }

    /// Bytes in memory.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.nbytes()
    }

    fn __repr__(&self) -> String {
        format!("LinearTransform({})", self.0)
    }
}
