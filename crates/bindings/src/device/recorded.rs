//! Programs recorded on a device.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

use crate::device::ciphertext::DeviceCiphertext;
use crate::device::machine::Device;
use crate::engine;
use crate::errors::exception;
use crate::numbers::Number;

/// The recording of a program that this thread runs on copies of some ciphertexts.
///
/// What the program makes is copied by `keep_results`, and must be in use no more when `finish` is
/// called.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct DeviceRecording(Mutex<Option<device::Recording>>);

impl DeviceRecording {
    fn lock(&self) -> MutexGuard<'_, Option<device::Recording>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn over(py: Python<'_>) -> PyErr {
    let reason = "cannot go on recording: this recording is over; begin another";
    exception(py, "InvalidArgumentError", reason.into())
}

#[pymethods]
impl DeviceRecording {
    /// Begin to record what this thread does on a device; None while another recording is made.
    ///
    /// Args:
    ///     device: The device.
    ///     inputs: Ciphertexts there.
    ///     limit: Bytes of its memory that the recording may take.
    ///
    /// Raises:
    ///     MemoryBudgetError: There is no space for copies of the inputs.
    #[staticmethod]
    fn begin(
        py: Python<'_>,
        device: Bound<'_, Device>,
        inputs: Vec<Bound<'_, DeviceCiphertext>>,
        limit: Number<u64>,
    ) -> PyResult<Option<Self>> {
        let device = &device.get().0;
        let inputs: Vec<_> = inputs.iter().map(|input| &input.get().0).collect();
        let begun = || device::Recording::begin(device, &inputs, limit.0);
        let begun = engine::launch_on_device(py, begun)?;
        Ok(begun.map(|recording| Self(Mutex::new(Some(recording)))))
    }

    /// The copies that the program is to run on.
    #[getter]
    fn inputs(&self, py: Python<'_>) -> PyResult<Vec<DeviceCiphertext>> {
        // No lock is held while Python runs.
        let inputs = self.lock().as_ref().map(|recording| recording.inputs().to_vec());
        let inputs = inputs.ok_or_else(|| over(py))?;
        Ok(inputs.into_iter().map(DeviceCiphertext).collect())
    }

    /// Copy what the program made.
    ///
    /// Raises:
    ///     MemoryBudgetError: There is no space for it.
    fn keep_results(
        &self,
        py: Python<'_>,
        results: Vec<Bound<'_, DeviceCiphertext>>,
    ) -> PyResult<()> {
        let results: Vec<_> = results.iter().map(|result| &result.get().0).collect();
        let kept = || self.lock().as_mut().map(|each| each.keep_results(&results)).transpose();
        engine::launch_on_device(py, kept)?.ok_or_else(|| over(py))
    }

    /// The results, and the recorded program; None where it did what cannot be recorded.
    ///
    /// Raises:
    ///     DeviceLostError: The device failed.
    fn finish(&self, py: Python<'_>) -> PyResult<(Vec<DeviceCiphertext>, Option<DeviceRecorded>)> {
        let finished = || self.lock().take().map(device::Recording::finish).transpose();
        let finished = engine::launch_on_device(py, finished)?;
        let (results, recorded) = finished.ok_or_else(|| over(py))?;
        let results = results.into_iter().map(DeviceCiphertext).collect();
        Ok((results, recorded.map(|recorded| DeviceRecorded(Mutex::new(recorded)))))
    }

    /// Record no further; what was recorded is given up, unless it was finished.
    fn abandon(&self) {
        self.lock().take();
    }
}

/// A program that was recorded on a device.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct DeviceRecorded(Mutex<device::Recorded>);

#[pymethods]
impl DeviceRecorded {
    /// Bytes that it takes on the device.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).nbytes()
    }

    /// What the program makes of other ciphertexts of which the same is known. None where something
    /// else is, or once keys or constants that it used have left the device.
    ///
    /// Raises:
    ///     MemoryBudgetError: There is no space for the results.
    ///     DeviceLostError: The device failed.
    fn run(
        &self,
        py: Python<'_>,
        inputs: Vec<Bound<'_, DeviceCiphertext>>,
    ) -> PyResult<Option<Vec<DeviceCiphertext>>> {
        let inputs: Vec<_> = inputs.iter().map(|input| &input.get().0).collect();
        let run = || self.0.lock().unwrap_or_else(PoisonError::into_inner).run(&inputs);
        let made = engine::launch_on_device(py, run)?;
        Ok(made.map(|made| made.into_iter().map(DeviceCiphertext).collect()))
    }
}
