//! Parameter sets for bits, their noise and what they cost.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tfhe_eval::noise::{
    bootstrap_variance, fresh_variance, largest_variance, log2_failure, public_variance,
    switch_variance,
};
use tfhe_eval::{MAX_TABLES_LOG, Parameters};

use crate::numbers::{Number, Real};
use crate::{engine, errors};

/// A published parameter set.
///
/// Args:
///     name: One of `boolean_parameter_sets()`.
///
/// Raises:
///     InvalidArgumentError: There is no such set.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct BooleanParameters(pub Parameters);

#[pymethods]
impl BooleanParameters {
    #[new]
    fn new(py: Python<'_>, name: &str) -> PyResult<Self> {
        named(py, name).map(Self)
    }

    /// The name of the set.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.name()
    }

    /// log2 of the largest message space of a bootstrap.
    #[getter]
    fn max_message_bits(&self) -> u32 {
        self.0.max_message_bits()
    }

    /// Bytes of one encrypted bit.
    #[getter]
    fn lwe_bytes(&self) -> usize {
        self.0.lwe_bytes()
    }

    /// Bytes of an evaluation key as `to_bytes` stores it.
    #[getter]
    fn evaluation_key_bytes(&self) -> usize {
        self.0.evaluation_key_bytes()
    }

    fn __repr__(&self) -> String {
        format!("BooleanParameters({})", self.name())
    }
}

/// The names of all parameter sets, the fastest first.
#[pyfunction]
pub fn boolean_parameter_sets() -> Vec<&'static str> {
    Parameters::all().map(|parameters| parameters.name()).collect()
}

/// The variances of a parameter set, in turns squared.
///
/// "fresh_variance" of an encrypted bit, "public_variance" of one that a public key encrypted,
/// "bootstrap_variance" of what a bootstrap gives, and
/// "switch_variance", which a bootstrap with 1, 2 or 4 outputs adds to its input.
#[pyfunction]
pub fn boolean_noise<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
    let parameters = named(py, name)?;
    let switch: Vec<f64> =
        (0..=MAX_TABLES_LOG).map(|log| switch_variance(parameters, log)).collect();
    let noise = PyDict::new(py);
    noise.set_item("fresh_variance", fresh_variance(parameters))?;
    noise.set_item("public_variance", public_variance(parameters))?;
    noise.set_item("bootstrap_variance", bootstrap_variance(parameters))?;
    noise.set_item("switch_variance", switch)?;
    Ok(noise)
}

/// log2 of the probability that Gaussian noise of this variance exceeds a margin to either side:
/// both in turns.
#[pyfunction]
pub fn boolean_log2_failure(margin: Real, variance: Real) -> f64 {
    log2_failure(margin.0, variance.0)
}

/// The largest variance for which `boolean_log2_failure` is not above a probability.
#[pyfunction]
pub fn boolean_largest_variance(
    py: Python<'_>,
    margin: Real,
    log2_probability: Real,
) -> PyResult<f64> {
    largest_variance(margin.0, log2_probability.0)
        .map_err(|error| errors::boolean_refusal(py, &error))
}

/// CPU seconds on one thread, the medians of `repetitions` under a fresh key.
///
/// "bootstrap" of one of four made together and "lone_bootstrap" of one made alone, each with
/// 1, 2 and 4 outputs; "linear" of a sum of two bits; "gate" of one of four ordinary gates,
/// each a sum and a bootstrap, made together.
#[pyfunction]
pub fn boolean_seconds<'py>(
    py: Python<'py>,
    name: &str,
    repetitions: Number<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let parameters = named(py, name)?;
    let measured = engine::run_boolean(py, || tfhe_eval::seconds(parameters, repetitions.0))?;
    let seconds = PyDict::new(py);
    seconds.set_item("bootstrap", measured.bootstrap)?;
    seconds.set_item("lone_bootstrap", measured.lone_bootstrap)?;
    seconds.set_item("linear", measured.linear)?;
    seconds.set_item("gate", measured.gate)?;
    Ok(seconds)
}

fn named(py: Python<'_>, name: &str) -> PyResult<Parameters> {
    Parameters::named(name).map_err(|error| errors::boolean_refusal(py, &error))
}
