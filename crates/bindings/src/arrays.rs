//! numpy arrays in and out.

use numpy::{
    AsSliceError, Complex64, Element, PyArray1, PyArrayMethods, PyReadonlyArray1,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use rlwe::Result;
use rlwe::ckks::{Encoding, Parameters, Plaintext};
use zeroize::Zeroizing;

use crate::errors;

/// A one-dimensional array of float64 or complex128: the caller's own memory where it is
/// contiguous, else a copy.
pub enum Vector<'py> {
    Real(PyReadonlyArray1<'py, f64>),
    Complex(PyReadonlyArray1<'py, Complex64>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Vector<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyArray1<f64>>() {
            return Ok(Self::Real(contiguous(&array)?));
        }
        if let Ok(array) = object.cast::<PyArray1<Complex64>>() {
            return Ok(Self::Complex(contiguous(&array)?));
        }
        Err(refused(object, "float64 or complex128"))
    }
}

/// A copy of numbers, which are widened where they are short.
fn copied<S: Copy + Into<T>, T>(py: Python<'_>, numbers: &[S]) -> PyResult<Vec<T>> {
    let mut all = system_memory::try_reserved(numbers.len())
        .map_err(|refused| errors::refusal(py, &refused.into()))?;
    all.extend(numbers.iter().map(|&x| x.into()));
    Ok(all)
}

/// A copy of a one-dimensional array of the dtype of `T`.
pub struct Numbers<T>(pub Vec<T>);

impl<'a, 'py, T: Element + Copy> FromPyObject<'a, 'py> for Numbers<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let Ok(array) = object.cast::<PyArray1<T>>() else {
            return Err(refused(object, &T::get_dtype(object.py()).to_string()));
        };
        copied(object.py(), contiguous(&array)?.as_slice()?).map(Self)
    }
}

/// A copy of a one-dimensional array of uint16 or uint32.
pub struct Indices(pub Vec<u32>);

impl<'a, 'py> FromPyObject<'a, 'py> for Indices {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyArray1<u16>>() {
            return copied(object.py(), contiguous(&array)?.as_slice()?).map(Self);
        }
        if let Ok(array) = object.cast::<PyArray1<u32>>() {
            return copied(object.py(), contiguous(&array)?.as_slice()?).map(Self);
        }
        Err(refused(object, "uint16 or uint32"))
    }
}

/// A one-dimensional array of uint16 or uint32: the caller's own memory where it is contiguous,
/// else a copy.
pub enum BorrowedIndices<'py> {
    Short(PyReadonlyArray1<'py, u16>),
    Long(PyReadonlyArray1<'py, u32>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for BorrowedIndices<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyArray1<u16>>() {
            return Ok(Self::Short(contiguous(&array)?));
        }
        if let Ok(array) = object.cast::<PyArray1<u32>>() {
            return Ok(Self::Long(contiguous(&array)?));
        }
        Err(refused(object, "uint16 or uint32"))
    }
}

/// A one-dimensional array of float64: the caller's own memory where it is contiguous, else a copy.
pub struct BorrowedNumbers<'py>(pub PyReadonlyArray1<'py, f64>);

impl<'a, 'py> FromPyObject<'a, 'py> for BorrowedNumbers<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let Ok(array) = object.cast::<PyArray1<f64>>() else {
            return Err(refused(object, "float64"));
        };
        Ok(Self(contiguous(&array)?))
    }
}

/// Bits in a one-dimensional array of uint8, of which the copy is wiped.
pub struct Bits(pub Zeroizing<Vec<u8>>);

impl<'a, 'py> FromPyObject<'a, 'py> for Bits {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Numbers::extract(object).map(|numbers| Self(Zeroizing::new(numbers.0)))
    }
}

fn refused(object: Borrowed<'_, '_, PyAny>, dtypes: &str) -> PyErr {
    let got = match (object.getattr("ndim"), object.getattr("dtype")) {
        (Ok(ndim), Ok(dtype)) => format!("{ndim} dimensions of {dtype}"),
        _ => object.get_type().to_string(),
    };
    PyTypeError::new_err(format!("expected a one-dimensional numpy array of {dtypes}, got {got}"))
}

fn contiguous<'py, T: Element>(
    array: &Bound<'py, PyArray1<T>>,
) -> PyResult<PyReadonlyArray1<'py, T>> {
    if array.is_contiguous() && array.is_aligned() {
        return Ok(array.try_readonly()?);
    }
    Ok(array.call_method0("copy")?.cast_into::<PyArray1<T>>()?.try_readonly()?)
}

/// The elements of a [`Vector`], which other threads can read.
#[derive(Clone, Copy)]
pub enum Elements<'a> {
    Real(&'a [f64]),
    Complex(&'a [Complex64]),
}

impl Vector<'_> {
    pub fn elements(&self) -> std::result::Result<Elements<'_>, AsSliceError> {
        Ok(match self {
            Self::Real(array) => Elements::Real(array.as_slice()?),
            Self::Complex(array) => Elements::Complex(array.as_slice()?),
        })
    }
}

impl Elements<'_> {
    pub fn encode(self, parameters: &Parameters, encoding: Encoding) -> Result<Plaintext> {
        match self {
            Self::Real(values) => parameters.encode_real(values, encoding),
            Self::Complex(values) => parameters.encode(values, encoding),
        }
    }

    pub fn to_complex(self) -> Vec<Complex64> {
        match self {
            Self::Real(values) => system_memory::collected(values.iter().map(|&x| x.into())),
            Self::Complex(values) => system_memory::copied(values),
        }
    }
}
