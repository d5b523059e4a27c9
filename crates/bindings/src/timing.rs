//! What times are counted in.

use pyo3::prelude::*;

use crate::ckks::parameters::Parameters;
use crate::engine;
use crate::numbers::Number;

/// Seconds of a forward transform of one limb on one thread: the median of `repetitions`.
#[pyfunction]
pub fn ntt_seconds(
    py: Python<'_>,
    parameters: Bound<'_, Parameters>,
    repetitions: Number<usize>,
) -> PyResult<f64> {
    let parameters = &parameters.get().0;
    engine::run(py, || parameters.transform_seconds(repetitions.0))
}
