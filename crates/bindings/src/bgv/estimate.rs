//! What is known of a BGV ciphertext without decrypting it.

use pyo3::prelude::*;
use rlwe::bgv;

use crate::bgv::linear_transform::BgvLinearTransform;
use crate::bgv::parameters::BgvParameters;
use crate::errors;
use crate::numbers::{Number, Real};

/// Level, degree, correction factor and noise of a ciphertext, by which operations are let
/// through or refused, and what operations make of them: a program can be tried on estimates
/// before anything runs.
///
/// Every method raises NoiseExhaustedError where the operation on ciphertexts would.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct BgvEstimate(pub bgv::Estimate);

fn result(py: Python<'_>, estimate: rlwe::Result<bgv::Estimate>) -> PyResult<BgvEstimate> {
    estimate.map(BgvEstimate).map_err(|error| errors::refusal(py, &error))
}

#[pymethods]
impl BgvEstimate {
    /// How often the modulus can still be switched.
    #[getter]
    fn level(&self) -> usize {
        self.0.level()
    }

    /// 1, or 2 for a product that was not relinearised.
    #[getter]
    fn degree(&self) -> usize {
        self.0.degree()
    }

    /// What the message is multiplied by modulo the plaintext modulus.
    #[getter]
    fn factor(&self) -> u32 {
        self.0.factor()
    }

    /// log2 of a bound on the coefficients of the noise.
    #[getter]
    fn noise_bits(&self) -> f64 {
        self.0.noise().coefficient_bits
    }

    /// log2 of a bound on the noise in the canonical embedding, which products multiply.
    #[getter]
    fn canonical_bits(&self) -> f64 {
        self.0.noise().canonical_bits
    }

    /// log2 of a bound on the length of the noise, the root of the sum of its squared
    /// coefficients: of a product no coefficient exceeds the product of the lengths.
    #[getter]
    fn length_bits(&self) -> f64 {
        self.0.noise().length_bits
    }

    /// log2 of what the coefficients of the noise must stay below.
    #[getter]
    fn capacity_bits(&self) -> f64 {
        self.0.capacity_bits()
    }

    /// Bits of noise that may still come.
    #[getter]
    fn budget_bits(&self) -> f64 {
        self.0.budget_bits()
    }

    /// The variance, in turns squared, that the noise has where integers leave slots for bits.
    #[getter]
    fn leaving_variance(&self) -> f64 {
        self.0.leaving_variance()
    }

    /// A sum or difference; unequal factors cost noise.
    fn add(&self, py: Python<'_>, other: Bound<'_, BgvEstimate>) -> PyResult<Self> {
        result(py, self.0.add(&other.get().0))
    }

    /// A sum or difference with a plaintext or a scalar.
    fn add_plain(&self, py: Python<'_>) -> PyResult<Self> {
        result(py, self.0.add_plain())
    }

    /// A product, relinearised.
    fn multiply(&self, py: Python<'_>, other: Bound<'_, BgvEstimate>) -> PyResult<Self> {
        result(py, self.0.multiply(&other.get().0))
    }

    /// A product of degree 2.
    fn multiply_lazily(&self, py: Python<'_>, other: Bound<'_, BgvEstimate>) -> PyResult<Self> {
        result(py, self.0.multiply_lazily(&other.get().0))
    }

    /// A product with a plaintext of a norm, by default with any.
    #[pyo3(signature = (norm_bits=None))]
    fn multiply_plain(&self, py: Python<'_>, norm_bits: Option<Real>) -> PyResult<Self> {
        result(py, self.0.multiply_plain(norm_bits.map(|x| x.0)))
    }

    /// A product with an integer.
    fn multiply_scalar(&self, py: Python<'_>, value: Number<i64>) -> PyResult<Self> {
        result(py, self.0.multiply_scalar(value.0))
    }

    /// The same integers at degree 1.
    fn relinearize(&self, py: Python<'_>) -> PyResult<Self> {
        result(py, self.0.relinearize())
    }

    /// The same integers at degree 1 and one level down, in one division.
    fn relinearize_and_switch(&self, py: Python<'_>) -> PyResult<Self> {
        result(py, self.0.relinearize_and_switch())
    }

    /// A rotation, or the rows swapped.
    fn rotate(&self, py: Python<'_>) -> PyResult<Self> {
        result(py, self.0.rotate())
    }

    /// Of a sum of so many rotations, `moving` of them not by 0.
    fn rotate_sum(
        &self,
        py: Python<'_>,
        terms: Number<usize>,
        moving: Number<usize>,
    ) -> PyResult<Self> {
        result(py, self.0.rotate_sum(terms.0, moving.0))
    }

    /// A linear transform.
    fn linear_transform(
        &self,
        py: Python<'_>,
        transform: Bound<'_, BgvLinearTransform>,
    ) -> PyResult<Self> {
        result(py, self.0.linear_transform(&transform.get().0))
    }

    /// The same integers at a lower level, and with a correction factor where one is given.
    #[pyo3(signature = (level, factor=None))]
    fn switch_to(
        &self,
        py: Python<'_>,
        level: Number<usize>,
        factor: Option<Number<u32>>,
    ) -> PyResult<Self> {
        result(py, self.0.switch_to(level.0, factor.map(|x| x.0)))
    }

    /// The same integers as far down as pays.
    fn switch_down(&self, py: Python<'_>) -> PyResult<Self> {
        result(py, self.0.switch_down())
    }

    /// What `BgvEvaluator.rotated_products` makes of two lists.
    #[staticmethod]
    fn rotated_products(
        py: Python<'_>,
        left: Vec<Bound<'_, BgvEstimate>>,
        right: Vec<Bound<'_, BgvEstimate>>,
    ) -> PyResult<Self> {
        let [left, right] =
            [&left, &right].map(|side| side.iter().map(|a| &a.get().0).collect::<Vec<_>>());
        result(py, bgv::Estimate::rotated_products(&left, &right))
    }

    /// The sum of rotated products.
    fn add_rotated_products(
        &self,
        py: Python<'_>,
        other: Bound<'_, BgvEstimate>,
    ) -> PyResult<Self> {
        result(py, self.0.add_rotated_products(&other.get().0))
    }

    /// One of the rotated products as a ciphertext.
    fn switch_product(&self, py: Python<'_>) -> PyResult<Self> {
        result(py, self.0.switch_product())
    }

    /// One of the rotated products as a ciphertext, one level down.
    fn switch_product_and_modulus(&self, py: Python<'_>) -> PyResult<Self> {
        result(py, self.0.switch_product_and_modulus())
    }

    fn __repr__(&self) -> String {
        format!("BgvEstimate({})", self.0)
    }
}

#[pymethods]
impl BgvParameters {
    /// What is known of a ciphertext that the secret key makes at a level.
    fn fresh(&self, py: Python<'_>, level: Number<usize>) -> PyResult<BgvEstimate> {
        self.0.fresh(level.0).map(BgvEstimate).map_err(|error| errors::refusal(py, &error))
    }

    /// What is known of a ciphertext that a public key makes at a level.
    fn fresh_public(&self, py: Python<'_>, level: Number<usize>) -> PyResult<BgvEstimate> {
        self.0.fresh_public(level.0).map(BgvEstimate).map_err(|error| errors::refusal(py, &error))
    }
}
