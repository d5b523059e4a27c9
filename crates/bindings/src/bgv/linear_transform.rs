//! Linear transforms of rows of integers.

use pyo3::prelude::*;
use pyo3::types::PyMapping;
use rlwe::bgv;

use crate::bgv::arrays::Rows;
use crate::bgv::parameters::BgvParameters;
use crate::engine;
use crate::numbers::Number;

/// y = the sum over d of diagonals[d] * rotate(x, d), encoded for ciphertexts of one level.
///
/// Args:
///     parameters: The parameters.
///     diagonals: int64 of shape (2, slots), or (slots,) for both rows, by rotation.
///     level: The level of the ciphertexts.
///     baby_steps: Diagonal d is taken apart as d % baby_steps and the rest; by default so
///         that the work is least.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct BgvLinearTransform(pub bgv::LinearTransform);

#[pymethods]
impl BgvLinearTransform {
    #[new]
    #[pyo3(signature = (parameters, diagonals, *, level, baby_steps=None))]
    fn new(
        py: Python<'_>,
        parameters: Bound<'_, BgvParameters>,
        diagonals: Bound<'_, PyMapping>,
        level: Number<usize>,
        baby_steps: Option<Number<usize>>,
    ) -> PyResult<Self> {
        let rows: Vec<(Number<i64>, Rows)> = diagonals.items()?.extract()?;
        let diagonals = rows
            .into_iter()
            .map(|(index, mut rows)| (index.0, std::mem::take(&mut *rows.0)))
            .collect();
        let (parameters, baby_steps) = (&parameters.get().0, baby_steps.map(|x| x.0));
        let make = || bgv::LinearTransform::new(parameters, &diagonals, level.0, baby_steps);
        engine::run(py, make).map(Self)
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

    /// Bytes in memory.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.nbytes()
    }

    fn __repr__(&self) -> String {
        format!("BgvLinearTransform({})", self.0)
    }
}
