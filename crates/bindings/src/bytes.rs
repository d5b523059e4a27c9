//! Bytes out, and secret bytes in and out.

use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};
use zeroize::Zeroizing;

/// `data` as Python's bytes; evaluation keys are large, so the copy releases the
/// interpreter lock too.
pub fn to_python<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, data.len(), |buffer| {
        py.detach(|| buffer.copy_from_slice(data));
        Ok(())
    })
}

/// Secret bytes, which Python gives as a bytearray that it can wipe. Wiped when dropped.
pub struct Secret(pub Zeroizing<Vec<u8>>);

impl<'a, 'py> FromPyObject<'a, 'py> for Secret {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(Zeroizing::new(object.cast::<PyByteArray>()?.to_vec())))
    }
}
