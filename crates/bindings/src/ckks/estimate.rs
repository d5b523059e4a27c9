//! What is known of a CKKS ciphertext without decrypting it.

use pyo3::prelude::*;
use rlwe::ckks::{self, Complex64, Encoding, Flooding, Polynomial};

use crate::arrays::Numbers;
use crate::ckks::bootstrapping::Bootstrapping;
use crate::ckks::linear_transform::LinearTransform;
use crate::ckks::parameters::Parameters;
use crate::ckks::polynomial::Basis;
use crate::numbers::{Number, Real};
use crate::{engine, errors};

/// Level, scale, slots, degree, deviation and bound of a ciphertext or, at degree 0, of a
/// plaintext.
///
/// Operations are those of `Evaluator`, and refuse what they refuse but for missing keys: who
/// repeats a program on estimates has those of its results, and needs not believe what a
/// ciphertext says of itself. `Parameters.estimate` makes the first.
#[pyclass(frozen, eq, module = "cloakwork._native")]
#[derive(PartialEq)]
pub struct CkksEstimate(pub ckks::Estimate);

fn result(py: Python<'_>, estimate: rlwe::Result<ckks::Estimate>) -> PyResult<CkksEstimate> {
    estimate.map(CkksEstimate).map_err(|error| errors::refusal(py, &error))
}

/// The flooding of a decryption for others.
pub fn flooding(statistical_bits: Number<u32>, decryptions: Number<u64>) -> Flooding {
    Flooding { statistical_bits: statistical_bits.0, decryptions: decryptions.0 }
}

#[pymethods]
impl CkksEstimate {
    /// How many times it can still be rescaled.
    #[getter]
    fn level(&self) -> usize {
        self.0.level()
    }

    /// The factor between coefficients and values.
    #[getter]
    fn scale(&self) -> f64 {
        self.0.scale()
    }

    /// How many numbers.
    #[getter]
    fn slots(&self) -> usize {
        self.0.slots()
    }

    /// 1, or 2 for a product that was not relinearised; 0 of a plaintext.
    #[getter]
    fn degree(&self) -> usize {
        self.0.degree()
    }

    /// Root mean square of the error of a number.
    #[getter]
    fn deviation(&self) -> f64 {
        self.0.deviation()
    }

    /// No number exceeds this in absolute value.
    #[getter]
    fn bound(&self) -> f64 {
        self.0.bound()
    }

    /// Bits after the binary point that are right, but for a chance below 2^-20.
    #[getter]
    fn precision(&self) -> f64 {
        self.0.precision()
    }

    /// The same with another deviation.
    fn with_deviation(&self, py: Python<'_>, deviation: Real) -> PyResult<Self> {
        result(py, self.0.with_deviation(deviation.0))
    }

    /// What becomes of it under another secret key.
    fn rekeyed(&self) -> Self {
        Self(self.0.rekeyed())
    }

    /// The plaintext encrypted by a secret key.
    fn encrypted(&self, py: Python<'_>) -> PyResult<Self> {
        result(py, self.0.encrypted())
    }

    /// The plaintext encrypted by a public key.
    fn encrypted_publicly(&self, py: Python<'_>) -> PyResult<Self> {
        result(py, self.0.encrypted_publicly())
    }

    /// The same where no number exceeds `bound`: the smaller of this bound and its own.
    fn with_bound(&self, py: Python<'_>, bound: Real) -> PyResult<Self> {
        result(py, self.0.with_bound(bound.0))
    }

    /// A sum or difference.
    fn add(&self, py: Python<'_>, other: Bound<'_, CkksEstimate>) -> PyResult<Self> {
        result(py, self.0.add(&other.get().0))
    }

    /// A sum or difference with a plaintext.
    fn add_plain(&self, py: Python<'_>, plaintext: Bound<'_, CkksEstimate>) -> PyResult<Self> {
        result(py, self.0.add_plain(&plaintext.get().0))
    }

    /// A sum with one number in every slot.
    fn add_scalar(&self, py: Python<'_>, value: Number<Complex64>) -> PyResult<Self> {
        result(py, self.0.add_scalar(value.0))
    }

    /// A product, relinearised, not rescaled.
    fn multiply(&self, py: Python<'_>, other: Bound<'_, CkksEstimate>) -> PyResult<Self> {
        result(py, self.0.multiply(&other.get().0))
    }

    /// A product of degree 2.
    fn multiply_lazily(&self, py: Python<'_>, other: Bound<'_, CkksEstimate>) -> PyResult<Self> {
        result(py, self.0.multiply_lazily(&other.get().0))
    }

    /// A product with a plaintext, not rescaled.
    fn multiply_plain(&self, py: Python<'_>, plaintext: Bound<'_, CkksEstimate>) -> PyResult<Self> {
        result(py, self.0.multiply_plain(&plaintext.get().0))
    }

    /// A product with one number, encoded at `scale`, by default the matching one.
    #[pyo3(signature = (value, scale=None))]
    fn multiply_scalar(
        &self,
        py: Python<'_>,
        value: Number<Complex64>,
        scale: Option<Real>,
    ) -> PyResult<Self> {
        result(py, self.0.multiply_scalar(value.0, scale.map(|x| x.0)))
    }

    /// A product with an integer, which is exact.
    fn multiply_integer(&self, value: Number<i64>) -> Self {
        Self(self.0.multiply_integer(value.0))
    }

    /// The negative, of which all is the same.
    fn negate(&self) -> Self {
        Self(self.0.clone())
    }

    /// The same at degree 1.
    fn relinearize(&self) -> Self {
        Self(self.0.relinearize())
    }

    /// One level down.
    fn rescale(&self, py: Python<'_>) -> PyResult<Self> {
        result(py, self.0.rescale())
    }

    /// One level down, at degree 1.
    fn relinearize_and_rescale(&self, py: Python<'_>) -> PyResult<Self> {
        result(py, self.0.relinearize_and_rescale())
    }

    /// At a lower level, the scale unchanged.
    fn drop_level(&self, py: Python<'_>, level: Number<usize>) -> PyResult<Self> {
        result(py, self.0.drop_level(level.0))
    }

    /// At a lower level and at `scale`, by default the canonical one there.
    #[pyo3(signature = (level, scale=None))]
    fn align(&self, py: Python<'_>, level: Number<usize>, scale: Option<Real>) -> PyResult<Self> {
        let canonical = || self.0.parameters().scale(level.0);
        let scale = scale.map_or_else(canonical, |scale| Ok(scale.0));
        result(py, scale.and_then(|scale| self.0.align(level.0, scale)))
    }

    /// A rotation by `steps`.
    fn rotate(&self, py: Python<'_>, steps: Number<i64>) -> PyResult<Self> {
        result(py, self.0.rotate(steps.0))
    }

    /// The complex conjugates, or any other automorphism that moves slots.
    fn conjugate(&self, py: Python<'_>) -> PyResult<Self> {
        result(py, self.0.conjugate())
    }

    /// Sums of `length` numbers, `stride` slots apart.
    fn inner_sum(
        &self,
        py: Python<'_>,
        length: Number<usize>,
        stride: Number<i64>,
    ) -> PyResult<Self> {
        result(py, self.0.inner_sum(length.0, stride.0))
    }

    /// A linear transform, not rescaled; a streamed one is enough, of which nothing is encoded.
    fn linear_transform(
        &self,
        py: Python<'_>,
        transform: Bound<'_, LinearTransform>,
    ) -> PyResult<Self> {
        let transform = &transform.get().0;
        engine::run(py, || self.0.linear_transform(transform)).map(Self)
    }

    /// A polynomial, given by its coefficients from that of degree 0 on.
    fn polynomial(&self, py: Python<'_>, coefficients: Vec<Real>, basis: Basis) -> PyResult<Self> {
        let coefficients: Vec<f64> = coefficients.into_iter().map(|x| x.0).collect();
        let polynomial = Polynomial::new(&coefficients, basis.0);
        result(py, polynomial.and_then(|polynomial| self.0.polynomial(&polynomial)))
    }

    /// A refreshing; a streamed bootstrapping is enough, of which nothing is encoded.
    fn bootstrap(&self, py: Python<'_>, bootstrapping: Bound<'_, Bootstrapping>) -> PyResult<Self> {
        let bootstrapping = &bootstrapping.get().0;
        engine::run(py, || self.0.bootstrap(bootstrapping)).map(Self)
    }

    /// What `Evaluator.bootstrap_pair` makes of two ciphertexts.
    fn bootstrap_pair(
        &self,
        py: Python<'_>,
        other: Bound<'_, CkksEstimate>,
        bootstrapping: Bound<'_, Bootstrapping>,
    ) -> PyResult<(Self, Self)> {
        let (other, bootstrapping) = (&other.get().0, &bootstrapping.get().0);
        let [a, b] = engine::run(py, || self.0.bootstrap_pair(other, bootstrapping))?;
        Ok((Self(a), Self(b)))
    }

    /// What `SecretKey.decrypt_flooded` gives: its precision is what is left.
    #[pyo3(signature = (*, statistical_bits, decryptions))]
    fn flooded(
        &self,
        py: Python<'_>,
        statistical_bits: Number<u32>,
        decryptions: Number<u64>,
    ) -> PyResult<Self> {
        result(py, self.0.flooded(flooding(statistical_bits, decryptions)))
    }

    /// What `Evaluator.weighted_sums` makes of ciphertexts.
    #[staticmethod]
    fn weighted_sums(
        py: Python<'_>,
        ciphertexts: Vec<Bound<'_, CkksEstimate>>,
        weights: Numbers<f64>,
        offsets: Numbers<f64>,
    ) -> PyResult<Vec<Self>> {
        let terms: Vec<_> = ciphertexts.iter().map(|a| &a.get().0).collect();
        let found = ckks::Estimate::weighted_sums(&terms, &weights.0, &offsets.0)
            .map_err(|error| errors::refusal(py, &error))?;
        Ok(found.into_iter().map(Self).collect())
    }

    /// What `Evaluator.rotated_products` makes of two lists.
    #[staticmethod]
    fn rotated_products(
        py: Python<'_>,
        left: Vec<Bound<'_, CkksEstimate>>,
        right: Vec<Bound<'_, CkksEstimate>>,
    ) -> PyResult<Self> {
        let [left, right] =
            [&left, &right].map(|side| side.iter().map(|a| &a.get().0).collect::<Vec<_>>());
        result(py, ckks::Estimate::rotated_products(&left, &right))
    }

    /// What `Evaluator.diagonal_products` makes of two lists.
    #[staticmethod]
    fn diagonal_products(
        py: Python<'_>,
        left: Vec<Bound<'_, CkksEstimate>>,
        right: Vec<Bound<'_, CkksEstimate>>,
    ) -> PyResult<Self> {
        let [left, right] =
            [&left, &right].map(|side| side.iter().map(|a| &a.get().0).collect::<Vec<_>>());
        result(py, ckks::Estimate::diagonal_products(&left, &right))
    }

    /// The sum of rotated products.
    fn add_rotated_products(
        &self,
        py: Python<'_>,
        other: Bound<'_, CkksEstimate>,
    ) -> PyResult<Self> {
        result(py, self.0.add_rotated_products(&other.get().0))
    }

    /// One of the rotated products as a ciphertext.
    fn switch_product(&self, py: Python<'_>) -> PyResult<Self> {
        result(py, self.0.switch_product())
    }

    /// One of the rotated products as a ciphertext, one level down.
    fn switch_product_and_rescale(&self, py: Python<'_>) -> PyResult<Self> {
        result(py, self.0.switch_product_and_rescale())
    }

    fn __repr__(&self) -> String {
        format!("CkksEstimate({})", self.0)
    }
}

#[pymethods]
impl Parameters {
    /// What is known of a plaintext of so many slots, encoded with a public bound on the absolute
    /// values; by default at the level's canonical scale.
    #[pyo3(signature = (slots, *, level, bound, scale=None))]
    fn estimate(
        &self,
        py: Python<'_>,
        slots: Number<usize>,
        level: Number<usize>,
        bound: Real,
        scale: Option<Real>,
    ) -> PyResult<CkksEstimate> {
        let encoding = Encoding { level: level.0, scale: scale.map(|x| x.0), bound: Some(bound.0) };
        engine::run(py, || self.0.estimate(slots.0, encoding)).map(CkksEstimate)
    }
}
