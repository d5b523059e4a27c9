//! Numbers in arguments.

use std::any::type_name;

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

use crate::errors;

/// A number that, where it does not fit, is refused as every argument is: Python's own
/// conversion raises OverflowError.
pub struct Number<T>(pub T);

impl<'a, 'py, T: FromPyObject<'a, 'py>> FromPyObject<'a, 'py> for Number<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        object.extract().map(Self).map_err(Into::into).map_err(|error: PyErr| {
            if !error.is_instance_of::<PyOverflowError>(py) {
                return error;
            }
            let range = type_name::<T>();
            let message = format!("cannot take the number {object}: it does not fit {range}");
            errors::exception(py, "InvalidArgumentError", message)
        })
    }
}
