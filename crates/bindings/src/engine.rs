//! Calls of the engine.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use pyo3::prelude::*;
use system_memory::Refused;

use crate::{errors, threads};

/// Runs `work` of the lattice engine on the module's threads with the interpreter lock
/// released.
pub fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> rlwe::Result<T> + Send) -> PyResult<T> {
    let threads = threads::current(py)?;
    detached(py, || threads.run(work))?.map_err(|error| errors::refusal(py, &error))
}

/// Runs `work` as [`run`] does, of which it is known about how long it takes on one thread.
pub fn run_about<T: Send>(
    py: Python<'_>,
    duration: Duration,
    work: impl FnOnce() -> rlwe::Result<T> + Send,
) -> PyResult<T> {
    let threads = threads::current(py)?;
    detached(py, || threads.run_about(duration, work))?.map_err(|error| errors::refusal(py, &error))
}

/// Runs `work` of the lattice engine on the calling thread with the interpreter lock released.
///
/// What it makes of bytes takes the memory that those before it have left; each thread of a pool
/// takes its own.
pub fn run_here<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> rlwe::Result<T> + Send,
) -> PyResult<T> {
    detached(py, || rlwe::parallel::on_this_thread(work))?
        .map_err(|error| errors::refusal(py, &error))
}

/// Runs `work` on bits as [`run`] does.
pub fn run_boolean<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> tfhe_eval::Result<T> + Send,
) -> PyResult<T> {
    let threads = threads::current(py)?;
    detached(py, || threads.run_in_pool(work))?.map_err(|error| errors::boolean_refusal(py, &error))
}

/// Runs `work` on a device that launches kernels and no more, on the calling thread with the
/// interpreter lock released: a pool of threads takes longer to begin than a kernel to launch.
pub fn launch_on_device<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> device::Result<T> + Send,
) -> PyResult<T> {
    detached(py, || rlwe::parallel::on_this_thread(work))?
        .map_err(|error| errors::device_refusal(py, &error))
}

/// Runs `work` on a device as [`run`] does: what it encodes and expands takes all threads.
pub fn run_on_device<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> device::Result<T> + Send,
) -> PyResult<T> {
    let threads = threads::current(py)?;
    detached(py, || threads.run(work))?.map_err(|error| errors::device_refusal(py, &error))
}

/// Runs `work` on the calling thread with the interpreter lock released.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    // Nothing of the engine is left half-changed: its operations make new values.
    let work = || {
        // What is small takes its memory from this.
        system_memory::require(0);
        work()
    };
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(|payload| {
        if let Some(refused) = Refused::caught(&*payload) {
            return errors::refusal(py, &refused.into());
        }
        let advice = "the engine failed: an internal check did not hold; please report what \
                      was called together with what stands on standard error";
        errors::exception(py, "EngineFaultError", advice.into())
    })
}
