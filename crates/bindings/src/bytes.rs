//! Bytes out.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// `data` as Python's bytes; evaluation keys are large, so the copy releases the
/// interpreter lock too.
pub fn to_python<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, data.len(), |buffer| {
        py.detach(|| buffer.copy_from_slice(data));
        Ok(())
    })
}
