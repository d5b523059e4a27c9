//! Bootstrapping on a device.

use pyo3::prelude::*;

/// A bootstrapping whose diagonals are on a device, or go there whenever they are used.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct DeviceBootstrapping(pub device::Bootstrapping);
