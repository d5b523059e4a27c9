//! Refusals of the engine as the exceptions of `cloakwork.errors`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use rlwe::Error;

static CLASSES: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// The exception that stands for `error`.
pub fn refusal(py: Python<'_>, error: &Error) -> PyErr {
    exception(py, class_name(error), error.to_string())
}

/// The exception that stands for `error`, raised by an operation on bits.
pub fn boolean_refusal(py: Python<'_>, error: &tfhe_eval::Error) -> PyErr {
    exception(py, boolean_class_name(error), error.to_string())
}

/// The exception that stands for `error`, raised by an operation on a device.
pub fn device_refusal(py: Python<'_>, error: &device::Error) -> PyErr {
    exception(py, device_class_name(error), error.to_string())
}

/// The exception that stands for `error`, raised for a passphrase or a signing key.
pub fn secrets_refusal(py: Python<'_>, error: &secrets::Error) -> PyErr {
    exception(py, secrets_class_name(error), error.to_string())
}

/// An instance of a class of `cloakwork.errors`.
pub fn exception(py: Python<'_>, class: &str, message: String) -> PyErr {
    match find(py, class) {
        Ok(class) => PyErr::from_type(class, message),
        Err(missing) => missing,
    }
}

fn find<'py>(py: Python<'py>, class: &str) -> PyResult<Bound<'py, PyType>> {
    let import = || py.import("cloakwork.errors").map(Bound::unbind);
    let classes = CLASSES.get_or_try_init(py, import)?.bind(py);
    Ok(classes.getattr(class)?.cast_into()?)
}

fn class_name(error: &Error) -> &'static str {
    match error {
        Error::InvalidParameters(_) => "InvalidParametersError",
        Error::InsecureParameters(_) => "InsecureParametersError",
        Error::LevelExhausted { .. } => "LevelExhaustedError",
        Error::LevelMismatch { .. } => "LevelMismatchError",
        Error::ScaleMismatch { .. } => "ScaleMismatchError",
        Error::ScaleOutOfRange { .. } => "ScaleOutOfRangeError",
        Error::SlotMismatch { .. } => "SlotMismatchError",
        Error::ValueOutOfRange { .. } => "ValueOutOfRangeError",
        Error::BoundOverflow { .. } => "BoundOverflowError",
        Error::NoiseExhausted { .. } => "NoiseExhaustedError",
        Error::IntegerOutOfRange { .. } => "ValueOutOfRangeError",
        Error::NotFinite { .. } => "NotFiniteError",
        Error::EstimateMismatch { .. } => "EstimateMismatchError",
        Error::ParametersMismatch { .. } => "ParametersMismatchError",
        Error::KeyMismatch { .. } => "KeyMismatchError",
        Error::MissingKey { .. } => "MissingKeyError",
        Error::DegreeMismatch { .. } => "DegreeMismatchError",
        Error::DecryptionOverflow => "DecryptionOverflowError",
        Error::InvalidArgument { .. } => "InvalidArgumentError",
        Error::MalformedBytes { .. } => "MalformedBytesError",
        Error::Randomness(_) => "RandomnessError",
        Error::OutOfMemory(_) => "MemoryBudgetError",
        _ => "CloakworkError",
    }
}

fn device_class_name(error: &device::Error) -> &'static str {
    match error {
        device::Error::NoDriver
        | device::Error::NoCompiler
        | device::Error::NoDevice { .. }
        | device::Error::UnsupportedDevice { .. }
        | device::Error::Compilation { .. }
        | device::Error::Driver { .. } => "DeviceUnavailableError",
        device::Error::MemoryBudget { .. } | device::Error::OutOfMemory { .. } => {
            "MemoryBudgetError"
        }
        device::Error::DeviceLost { .. } => "DeviceLostError",
        device::Error::DifferentDevices { .. } => "InvalidArgumentError",
        device::Error::Engine(error) => class_name(error),
        _ => "CloakworkError",
    }
}

fn secrets_class_name(error: &secrets::Error) -> &'static str {
    match error {
        secrets::Error::Sealed => "PassphraseError",
        secrets::Error::Length { .. } => "MalformedBytesError",
        secrets::Error::Randomness(_) => "RandomnessError",
    }
}

fn boolean_class_name(error: &tfhe_eval::Error) -> &'static str {
    match error {
        tfhe_eval::Error::InvalidArgument { .. } => "InvalidArgumentError",
        tfhe_eval::Error::InvalidProgram { .. } => "InvalidProgramError",
        tfhe_eval::Error::ParametersMismatch { .. } => "ParametersMismatchError",
        tfhe_eval::Error::KeyMismatch { .. } => "KeyMismatchError",
        tfhe_eval::Error::MalformedBytes { .. } => "MalformedBytesError",
        tfhe_eval::Error::Cancelled { .. } => "RunCancelledError",
        tfhe_eval::Error::Fault { .. } => "EngineFaultError",
        tfhe_eval::Error::Randomness(_) => "RandomnessError",
        tfhe_eval::Error::Processor { .. } => "UnsupportedProcessorError",
        tfhe_eval::Error::OutOfMemory(_) => "MemoryBudgetError",
        _ => "CloakworkError",
    }
}
