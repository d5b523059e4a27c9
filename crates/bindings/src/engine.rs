//! The one way into the engine.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;

use crate::{errors, threads};

/// Runs `work` on the module's threads with the interpreter lock released.
pub fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> rlwe::Result<T> + Send) -> PyResult<T> {
    let pool = threads::pool(py)?;
    // Nothing of the engine is left half-changed: its operations make new values.
    match py.detach(|| catch_unwind(AssertUnwindSafe(|| pool.install(work)))) {
        Ok(result) => result.map_err(|error| errors::refusal(py, &error)),
        Err(_) => {
            let advice = "the engine failed: an internal check did not hold; please report what \
                          was called together with what stands on standard error";
            Err(errors::exception(py, "EngineFaultError", advice.into()))
        }
    }
}
