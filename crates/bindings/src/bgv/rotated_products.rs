//! Rotated products of BGV.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rlwe::bgv;

use crate::bgv::estimate::BgvEstimate;
use crate::bgv::parameters::BgvParameters;
use crate::{bytes, engine};

/// Sums of products of two lists of ciphertexts, for all rotations of the left one at once; no key
/// was switched yet.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct BgvRotatedProducts(pub bgv::RotatedProducts);

owned!(BgvRotatedProducts, BgvEstimate);
stored!(BgvRotatedProducts(bgv::RotatedProducts), BgvParameters);

#[pymethods]
impl BgvRotatedProducts {
    /// How often the modulus of what they are switched to can be switched.
    #[getter]
    fn level(&self) -> usize {
        self.0.level()
    }

    /// Slots that the left list is rotated by from one product to the next.
    #[getter]
    fn step(&self) -> usize {
        self.0.step()
    }

    /// How many products: slots of a row divided by the step.
    #[getter]
    fn count(&self) -> usize {
        self.0.count()
    }
}
