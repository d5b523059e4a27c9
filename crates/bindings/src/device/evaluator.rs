//! Operations on ciphertexts of a device.

use pyo3::prelude::*;
use rlwe::ckks::Polynomial;

use crate::arrays::Numbers;
use crate::ckks::keys::EvaluationKeys;
use crate::ckks::polynomial::Basis;
use crate::device::bootstrapping::DeviceBootstrapping;
use crate::device::ciphertext::{DeviceCiphertext, DevicePlaintext};
use crate::device::linear_transform::DeviceLinearTransform;
use crate::device::parameters::DeviceParameters;
use crate::engine;
use crate::numbers::{Number, Real};

/// Runs operations on a device; its keys go there when they are first used. It cannot decrypt.
///
/// Args:
///     parameters: The parameter set on the device.
///     keys: The evaluation keys.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct DeviceEvaluator(device::Evaluator);

#[pymethods]
impl DeviceEvaluator {
    #[new]
    fn new(
        py: Python<'_>,
        parameters: Bound<'_, DeviceParameters>,
        keys: Bound<'_, EvaluationKeys>,
    ) -> PyResult<Self> {
        let (parameters, keys) = (&parameters.get().0, keys.get().snapshot());
        engine::run_on_device(py, || device::Evaluator::new(parameters, keys)).map(Self)
    }

    /// The evaluator that has further keys; those that are on the device stay there.
    fn extended(&self, py: Python<'_>, keys: Bound<'_, EvaluationKeys>) -> PyResult<Self> {
        let keys = keys.get().snapshot();
        engine::run_on_device(py, || self.0.extended(keys)).map(Self)
    }

    /// Make room for so many bytes of device memory, which a run is about to take.
    ///
    /// Raises:
    ///     MemoryBudgetError: The device has fewer, even without keys.
    fn require(&self, py: Python<'_>, nbytes: Number<u64>) -> PyResult<()> {
        engine::launch_on_device(py, || self.0.require(nbytes.0, "run a program"))
    }

    /// a + b; of one level and scale.
    fn add(
        &self,
        py: Python<'_>,
        a: Bound<'_, DeviceCiphertext>,
        b: Bound<'_, DeviceCiphertext>,
    ) -> PyResult<DeviceCiphertext> {
        let (a, b) = (&a.get().0, &b.get().0);
        engine::launch_on_device(py, || self.0.add(a, b)).map(DeviceCiphertext)
    }

    /// a - b; of one level and scale.
    fn sub(
        &self,
        py: Python<'_>,
        a: Bound<'_, DeviceCiphertext>,
        b: Bound<'_, DeviceCiphertext>,
    ) -> PyResult<DeviceCiphertext> {
        let (a, b) = (&a.get().0, &b.get().0);
        engine::launch_on_device(py, || self.0.sub(a, b)).map(DeviceCiphertext)
    }

    /// The negative of every number.
    fn negate(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, DeviceCiphertext>,
    ) -> PyResult<DeviceCiphertext> {
        let a = &ciphertext.get().0;
        engine::launch_on_device(py, || self.0.negate(a)).map(DeviceCiphertext)
    }

    /// Every number times the imaginary unit, without error or change of scale.
    fn multiply_imaginary(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, DeviceCiphertext>,
    ) -> PyResult<DeviceCiphertext> {
        let a = &ciphertext.get().0;
        engine::launch_on_device(py, || self.0.multiply_imaginary(a)).map(DeviceCiphertext)
    }

    /// ciphertext + plaintext; of one level and scale.
    fn add_plain(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, DeviceCiphertext>,
        plaintext: Bound<'_, DevicePlaintext>,
    ) -> PyResult<DeviceCiphertext> {
        let (a, b) = (&ciphertext.get().0, &plaintext.get().0);
        engine::launch_on_device(py, || self.0.add_plain(a, b)).map(DeviceCiphertext)
    }

    /// ciphertext - plaintext; of one level and scale.
    fn sub_plain(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, DeviceCiphertext>,
        plaintext: Bound<'_, DevicePlaintext>,
    ) -> PyResult<DeviceCiphertext> {
        let (a, b) = (&ciphertext.get().0, &plaintext.get().0);
        engine::launch_on_device(py, || self.0.sub_plain(a, b)).map(DeviceCiphertext)
    }

    /// a * b, relinearised, not rescaled; of one level.
    fn multiply(
        &self,
        py: Python<'_>,
        a: Bound<'_, DeviceCiphertext>,
        b: Bound<'_, DeviceCiphertext>,
    ) -> PyResult<DeviceCiphertext> {
        let (a, b) = (&a.get().0, &b.get().0);
        engine::launch_on_device(py, || self.0.multiply(a, b)).map(DeviceCiphertext)
    }

    /// a * b of degree 2, neither relinearised nor rescaled; of one level.
    fn multiply_lazily(
        &self,
        py: Python<'_>,
        a: Bound<'_, DeviceCiphertext>,
        b: Bound<'_, DeviceCiphertext>,
    ) -> PyResult<DeviceCiphertext> {
        let (a, b) = (&a.get().0, &b.get().0);
        engine::launch_on_device(py, || self.0.multiply_lazily(a, b)).map(DeviceCiphertext)
    }

    /// The same numbers at degree 1.
    fn relinearize(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, DeviceCiphertext>,
    ) -> PyResult<DeviceCiphertext> {
        let a = &ciphertext.get().0;
        engine::launch_on_device(py, || self.0.relinearize(a)).map(DeviceCiphertext)
    }

    /// The same numbers at degree 1 and one level down, in one division.
    fn relinearize_and_rescale(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, DeviceCiphertext>,
    ) -> PyResult<DeviceCiphertext> {
        let a = &ciphertext.get().0;
        engine::launch_on_device(py, || self.0.relinearize_and_rescale(a)).map(DeviceCiphertext)
    }

    /// ciphertext * plaintext, not rescaled; of one level.
    fn multiply_plain(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, DeviceCiphertext>,
        plaintext: Bound<'_, DevicePlaintext>,
    ) -> PyResult<DeviceCiphertext> {
        let (a, b) = (&ciphertext.get().0, &plaintext.get().0);
        engine::launch_on_device(py, || self.0.multiply_plain(a, b)).map(DeviceCiphertext)
    }

    /// Every number times one integer; exact, the scale unchanged.
    fn multiply_integer(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, DeviceCiphertext>,
        value: Number<i64>,
    ) -> PyResult<DeviceCiphertext> {
        let a = &ciphertext.get().0;
        engine::launch_on_device(py, || self.0.multiply_integer(a, value.0)).map(DeviceCiphertext)
    }

    /// The same numbers at a lower level, at the canonical scale there.
    fn align(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, DeviceCiphertext>,
        level: Number<usize>,
    ) -> PyResult<DeviceCiphertext> {
        let a = &ciphertext.get().0;
        let aligned = || {
            let scale = self.0.parameters().host().scale(level.0)?;
            self.0.align(a, level.0, scale)
        };
        engine::launch_on_device(py, aligned).map(DeviceCiphertext)
    }

    /// Several rotations of one ciphertext, which share the decomposition (hoisting).
    fn rotate_hoisted(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, DeviceCiphertext>,
        steps: Vec<Number<i64>>,
    ) -> PyResult<Vec<DeviceCiphertext>> {
        let a = &ciphertext.get().0;
        let steps: Vec<i64> = steps.into_iter().map(|k| k.0).collect();
        let rotated = engine::launch_on_device(py, || self.0.rotate_hoisted(a, &steps))?;
        Ok(rotated.into_iter().map(DeviceCiphertext).collect())
    }

    /// The complex conjugate of every number.
    fn conjugate(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, DeviceCiphertext>,
    ) -> PyResult<DeviceCiphertext> {
        let a = &ciphertext.get().0;
        engine::launch_on_device(py, || self.0.conjugate(a)).map(DeviceCiphertext)
    }

    /// The linear transform, not rescaled.
    fn linear_transform(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, DeviceCiphertext>,
        transform: Bound<'_, DeviceLinearTransform>,
    ) -> PyResult<DeviceCiphertext> {
        let (a, transform) = (&ciphertext.get().0, &transform.get().0);
        let transformed = || self.0.linear_transform(a, transform);
        let made = if transform.is_on_device() {
            engine::launch_on_device(py, transformed)
        } else {
            engine::run_on_device(py, transformed)
        };
        made.map(DeviceCiphertext)
    }

    /// A polynomial of every number; see `Evaluator.polynomial`.
    fn polynomial(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, DeviceCiphertext>,
        coefficients: Vec<Real>,
        basis: Basis,
    ) -> PyResult<DeviceCiphertext> {
        let a = &ciphertext.get().0;
        let coefficients: Vec<f64> = coefficients.into_iter().map(|x| x.0).collect();
        let evaluate = || self.0.polynomial(a, &Polynomial::new(&coefficients, basis.0)?);
        engine::launch_on_device(py, evaluate).map(DeviceCiphertext)
    }

    /// The same numbers at the level of a refreshed ciphertext; see `Evaluator.bootstrap`.
    fn bootstrap(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, DeviceCiphertext>,
        bootstrapping: Bound<'_, DeviceBootstrapping>,
    ) -> PyResult<DeviceCiphertext> {
        let (a, circuit) = (&ciphertext.get().0, &bootstrapping.get().0);
        engine::run_on_device(py, || self.0.bootstrap(a, circuit)).map(DeviceCiphertext)
    }

    /// Two of real numbers at once; see `Evaluator.bootstrap_pair`.
    fn bootstrap_pair(
        &self,
        py: Python<'_>,
        left: Bound<'_, DeviceCiphertext>,
        right: Bound<'_, DeviceCiphertext>,
        bootstrapping: Bound<'_, DeviceBootstrapping>,
    ) -> PyResult<(DeviceCiphertext, DeviceCiphertext)> {
        let (a, b, circuit) = (&left.get().0, &right.get().0, &bootstrapping.get().0);
        let [a, b] = engine::run_on_device(py, || self.0.bootstrap_pair(a, b, circuit))?;
        Ok((DeviceCiphertext(a), DeviceCiphertext(b)))
    }

    /// Sums of real multiples of ciphertexts; see `Evaluator.weighted_sums`.
    fn weighted_sums(
        &self,
        py: Python<'_>,
        ciphertexts: Vec<Bound<'_, DeviceCiphertext>>,
        weights: Numbers<f64>,
        offsets: Numbers<f64>,
    ) -> PyResult<Vec<DeviceCiphertext>> {
        let terms: Vec<_> = ciphertexts.iter().map(|a| &a.get().0).collect();
        let sums = || self.0.weighted_sums(&terms, &weights.0, &offsets.0);
        let made = engine::launch_on_device(py, sums)?;
        Ok(made.into_iter().map(DeviceCiphertext).collect())
    }
}
