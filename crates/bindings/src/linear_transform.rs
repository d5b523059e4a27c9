//! Linear transforms.

use pyo3::prelude::*;
use pyo3::types::PyMapping;
use rlwe::ckks::{self, Encoding};

use crate::arrays::Vector;
use crate::engine;
use crate::numbers::Number;
use crate::parameters::Parameters;

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
        scale: Option<Number<f64>>,
        baby_steps: Option<Number<usize>>,
    ) -> PyResult<Self> {
        let vectors: Vec<(Number<i64>, Vector<'_>)> = diagonals.items()?.extract()?;
        let elements = vectors.iter().map(|(d, vector)| Ok((d.0, vector.elements()?)));
        let elements = elements.collect::<PyResult<Vec<_>>>()?;
        let encoding = Encoding { level: level.0, scale: scale.map(|x| x.0), bound: None };
        let baby_steps = baby_steps.map(|x| x.0);
        let parameters = &parameters.get().0;
        let encode = || {
            let diagonals = elements.iter().map(|(d, values)| (*d, values.to_complex())).collect();
            ckks::LinearTransform::new(parameters, &diagonals, slots.0, encoding, baby_steps)
        };
        engine::run(py, encode).map(Self)
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
