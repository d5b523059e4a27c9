//! What the coefficients of polynomials multiply.

use pyo3::prelude::*;
use rlwe::ckks::PolynomialBasis;

use crate::errors;

/// What the coefficients of a polynomial multiply, by its name.
pub struct Basis(pub PolynomialBasis);

impl<'a, 'py> FromPyObject<'a, 'py> for Basis {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match object.extract()? {
            "monomial" => Ok(Self(PolynomialBasis::Monomial)),
            "chebyshev" => Ok(Self(PolynomialBasis::Chebyshev)),
            other => Err(errors::exception(
                object.py(),
                "InvalidArgumentError",
                format!(
                    "cannot evaluate a polynomial: expected basis 'monomial' or 'chebyshev', got {other:?}"
                ),
            )),
        }
    }
}
