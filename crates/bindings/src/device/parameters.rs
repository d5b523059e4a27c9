//! Parameter sets on a device.

use pyo3::prelude::*;
use rlwe::ckks::Polynomial;

use crate::ckks::bootstrapping::Bootstrapping;
use crate::ckks::ciphertext::Ciphertext;
use crate::ckks::estimate::CkksEstimate;
use crate::ckks::linear_transform::LinearTransform;
use crate::ckks::parameters::Parameters;
use crate::ckks::plaintext::Plaintext;
use crate::ckks::polynomial::Basis;
use crate::device::bootstrapping::DeviceBootstrapping;
use crate::device::ciphertext::{DeviceCiphertext, DevicePlaintext};
use crate::device::linear_transform::DeviceLinearTransform;
use crate::device::machine::Device;
use crate::engine;
use crate::numbers::{Number, Real};

/// The tables of a parameter set on a device, and what is sent there.
///
/// Args:
///     device: The device.
///     parameters: The parameter set.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct DeviceParameters(pub device::Parameters);

#[pymethods]
impl DeviceParameters {
    #[new]
    fn new(
        py: Python<'_>,
        device: Bound<'_, Device>,
        parameters: Bound<'_, Parameters>,
    ) -> PyResult<Self> {
        let (device, host) = (&device.get().0, &parameters.get().0);
        engine::run_on_device(py, || device::Parameters::new(device, host)).map(Self)
    }

    /// Send a ciphertext to the device.
    fn send(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, Ciphertext>,
    ) -> PyResult<DeviceCiphertext> {
        let ciphertext = &ciphertext.get().0;
        engine::launch_on_device(py, || self.0.send(ciphertext)).map(DeviceCiphertext)
    }

    /// Send a plaintext to the device, which an evaluator knows.
    fn send_plaintext(
        &self,
        py: Python<'_>,
        plaintext: Bound<'_, Plaintext>,
    ) -> PyResult<DevicePlaintext> {
        let plaintext = &plaintext.get().0;
        engine::launch_on_device(py, || self.0.send_plaintext(plaintext)).map(DevicePlaintext)
    }

    /// Send the diagonals of a linear transform to the device, where they stay.
    fn send_transform(
        &self,
        py: Python<'_>,
        transform: Bound<'_, LinearTransform>,
    ) -> PyResult<DeviceLinearTransform> {
        let transform = &transform.get().0;
        engine::run_on_device(py, || self.0.send_transform(transform)).map(DeviceLinearTransform)
    }

    /// A linear transform whose diagonals are sent whenever it is applied, a giant step at a time.
    fn stream_transform(
        &self,
        py: Python<'_>,
        transform: Bound<'_, LinearTransform>,
    ) -> PyResult<DeviceLinearTransform> {
        let transform = &transform.get().0;
        engine::run_on_device(py, || self.0.stream_transform(transform)).map(DeviceLinearTransform)
    }

    /// Send the diagonals of a bootstrapping to the device, where they stay.
    fn send_bootstrapping(
        &self,
        py: Python<'_>,
        bootstrapping: Bound<'_, Bootstrapping>,
    ) -> PyResult<DeviceBootstrapping> {
        let circuit = &bootstrapping.get().0;
        engine::run_on_device(py, || self.0.send_bootstrapping(circuit)).map(DeviceBootstrapping)
    }

    /// A bootstrapping whose diagonals are sent whenever it is applied, a giant step at a time.
    fn stream_bootstrapping(
        &self,
        py: Python<'_>,
        bootstrapping: Bound<'_, Bootstrapping>,
    ) -> PyResult<DeviceBootstrapping> {
        let circuit = &bootstrapping.get().0;
        engine::run_on_device(py, || self.0.stream_bootstrapping(circuit)).map(DeviceBootstrapping)
    }

    /// Bytes that a bootstrapping of a ciphertext works in.
    fn bootstrapping_bytes(
        &self,
        py: Python<'_>,
        estimate: Bound<'_, CkksEstimate>,
        bootstrapping: Bound<'_, Bootstrapping>,
    ) -> PyResult<u64> {
        let (a, circuit) = (&estimate.get().0, &bootstrapping.get().0);
        engine::launch_on_device(py, || self.0.bootstrapping_bytes(a, circuit))
    }

    /// Bytes that a bootstrapping of two ciphertexts at once works in.
    fn bootstrapping_pair_bytes(
        &self,
        py: Python<'_>,
        estimate: Bound<'_, CkksEstimate>,
        bootstrapping: Bound<'_, Bootstrapping>,
    ) -> PyResult<u64> {
        let (a, circuit) = (&estimate.get().0, &bootstrapping.get().0);
        engine::launch_on_device(py, || self.0.bootstrapping_pair_bytes(a, circuit))
    }

    /// The most bytes that one operation at a level works in, transforms and polynomials apart.
    fn working_bytes(&self, py: Python<'_>, level: Number<usize>) -> PyResult<u64> {
        engine::launch_on_device(py, || self.0.working_bytes(level.0))
    }

    /// Bytes that a linear transform works in.
    ///
    /// Args:
    ///     level: The level of the ciphertext.
    ///     baby_steps: Its baby steps, 0 among them.
    ///     streamed_diagonals: Diagonals that are sent at once while it is applied.
    ///     limbs: Limbs of each.
    fn transform_working_bytes(
        &self,
        py: Python<'_>,
        level: Number<usize>,
        baby_steps: Number<usize>,
        streamed_diagonals: Number<usize>,
        limbs: Number<usize>,
    ) -> PyResult<u64> {
        let (babies, streamed) = (baby_steps.0, streamed_diagonals.0);
        let bytes = || self.0.transform_working_bytes(level.0, babies, streamed, limbs.0);
        engine::launch_on_device(py, bytes)
    }

    /// Bytes that a polynomial of a ciphertext works in; see `DeviceEvaluator.polynomial`.
    fn polynomial_bytes(
        &self,
        py: Python<'_>,
        estimate: Bound<'_, CkksEstimate>,
        coefficients: Vec<Real>,
        basis: Basis,
    ) -> PyResult<u64> {
        let estimate = &estimate.get().0;
        let coefficients: Vec<f64> = coefficients.into_iter().map(|x| x.0).collect();
        engine::launch_on_device(py, || {
            self.0.polynomial_bytes(estimate, &Polynomial::new(&coefficients, basis.0)?)
        })
    }
}
