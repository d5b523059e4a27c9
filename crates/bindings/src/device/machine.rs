//! Devices.

use std::panic::{AssertUnwindSafe, catch_unwind};

use device::Error;
use pyo3::prelude::*;

use crate::engine;
use crate::numbers::Number;

/// A GPU, or software that stands for one in tests.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct Device(pub device::Device);

#[pymethods]
impl Device {
    /// A GPU, by its number.
    ///
    /// Args:
    ///     ordinal: Its number, from 0.
    ///     budget: Bytes of its memory that may be used, by default nine tenths of those free.
    ///
    /// Raises:
    ///     DeviceUnavailableError: There is no such GPU, or its driver or compiler is missing.
    #[staticmethod]
    #[pyo3(signature = (ordinal=Number(0), budget=None))]
    fn cuda(py: Python<'_>, ordinal: Number<u32>, budget: Option<Number<u64>>) -> PyResult<Self> {
        let budget = budget.map(|bytes| bytes.0);
        let opened = || {
            // A driver too old for what is called of it makes the crate that loads it panic.
            catch_unwind(AssertUnwindSafe(|| device::Device::cuda(ordinal.0, budget)))
                .unwrap_or_else(|_| {
                    let operation = "start a GPU";
                    let reason = "nothing of functions that are needed; update it".to_string();
                    Err(Error::Driver { operation, reason })
                })
        };
        engine::run_on_device(py, opened).map(Self)
    }

    /// The kernels of a GPU compiled for the processor, one thread after the other: for tests.
    ///
    /// Raises:
    ///     DeviceUnavailableError: This module was built without it.
    #[staticmethod]
    fn software(py: Python<'_>, budget: Number<u64>) -> PyResult<Self> {
        #[cfg(feature = "software")]
        {
            let _ = py;
            Ok(Self(device::Device::software(budget.0)))
        }
        #[cfg(not(feature = "software"))]
        {
            let _ = budget;
            let reason = "cannot use the software device: it is for tests, and wheels are built \
                          without it; build from source, or run on the CPU";
            Err(crate::errors::exception(py, "DeviceUnavailableError", reason.into()))
        }
    }

    /// What the device calls itself.
    #[getter]
    fn name(&self) -> String {
        self.0.name()
    }

    /// Bytes of its memory that may be used.
    #[getter]
    fn budget(&self) -> u64 {
        self.0.memory().budget
    }

    /// Bytes of its memory that are used.
    #[getter]
    fn used(&self) -> u64 {
        self.0.memory().used
    }

    /// Wait until all work is done.
    ///
    /// Raises:
    ///     DeviceLostError: The device failed.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        engine::run_on_device(py, || self.0.synchronize())
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}
