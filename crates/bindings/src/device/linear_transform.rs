//! Linear transforms on a device.

use pyo3::prelude::*;

/// A linear transform whose diagonals are on a device, or go there whenever it is applied.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct DeviceLinearTransform(pub device::LinearTransform);
