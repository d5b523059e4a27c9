//! Rotated products.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rlwe::ckks;

use crate::ckks::estimate::CkksEstimate;
use crate::ckks::parameters::Parameters;
use crate::{bytes, engine};

/// Sums of products of two lists of ciphertexts, for all rotations of the left one at once; no key
/// was switched yet.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct RotatedProducts(pub ckks::RotatedProducts);

owned!(RotatedProducts, CkksEstimate);
stored!(RotatedProducts(ckks::RotatedProducts), Parameters);

#[pymethods]
impl RotatedProducts {
    /// How many times what they are switched to can be rescaled.
    #[getter]
    fn level(&self) -> usize {
        self.0.level()
    }

    /// The product of the scales of both lists.
    #[getter]
    fn scale(&self) -> f64 {
        self.0.scale()
    }

    /// Slots that the left list is rotated by from one product to the next.
    #[getter]
    fn step(&self) -> usize {
        self.0.step()
    }

    /// How many products: slots divided by the step.
    #[getter]
    fn count(&self) -> usize {
        self.0.count()
    }
}
