//! Numbers in arguments.

use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyOverflowError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyMapping;

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
            let reason = "cannot take a number: it is too large, or negative where it counts";
            errors::exception(py, "InvalidArgumentError", reason.into())
        })
    }
}

/// A real number. numpy's complex ones are refused, as Python's are: they convert to a float
/// by losing their imaginary part.
pub struct Real(pub f64);

impl<'a, 'py> FromPyObject<'a, 'py> for Real {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        if let Some(dtype) = object.getattr_opt(intern!(py, "dtype"))?
            && dtype.getattr(intern!(py, "kind"))?.eq("c")?
        {
            let reason = "cannot take a number: expected a real one, got a complex one";
            return Err(errors::exception(py, "InvalidArgumentError", reason.into()));
        }
        Number::extract(object).map(|number| Self(number.0))
    }
}

/// Levels by what they are for, such as a rotation.
pub fn levels_by<'py, K>(levels: &Bound<'py, PyMapping>) -> PyResult<Vec<(K, usize)>>
where
    K: FromPyObjectOwned<'py>,
{
    let pairs: Vec<(Number<K>, Number<usize>)> = levels.items()?.extract()?;
    Ok(pairs.into_iter().map(|(key, level)| (key.0, level.0)).collect())
}
