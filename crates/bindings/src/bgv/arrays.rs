//! Rows of integers in and out.

use numpy::{PyArray1, PyArray2, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use zeroize::Zeroizing;

use crate::errors;

/// A copy of an array of int64: two rows, or one that stands for both.
pub struct Rows(pub Zeroizing<Vec<i64>>);

impl<'a, 'py> FromPyObject<'a, 'py> for Rows {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let array = object.cast::<PyArrayDyn<i64>>().ok();
        let array = array.filter(|array| matches!(array.shape(), [_] | [2, _]));
        let Some(array) = array else {
            let got = match (object.getattr("shape"), object.getattr("dtype")) {
                (Ok(shape), Ok(dtype)) => format!("shape {shape} of {dtype}"),
                _ => object.get_type().to_string(),
            };
            let message = "expected a numpy array of int64 of shape (2, slots) or (slots,), got";
            return Err(PyTypeError::new_err(format!("{message} {got}")));
        };
        let array = array.try_readonly()?;
        let mut values = system_memory::try_reserved(array.len())
            .map(Zeroizing::new)
            .map_err(|refused| errors::refusal(object.py(), &refused.into()))?;
        values.extend(array.as_array().iter().copied());
        Ok(Self(values))
    }
}

/// Integers of two rows, the first before the second, as an array of shape (2, slots).
pub fn to_python(py: Python<'_>, values: Vec<i64>) -> PyResult<Bound<'_, PyArray2<i64>>> {
    let slots = values.len() / 2;
    PyArray1::from_vec(py, values).reshape([2, slots])
}
