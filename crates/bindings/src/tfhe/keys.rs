//! Keys for bits, and bits encrypted under them.

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};
use tfhe_eval::{BootstrapTime, Ciphertexts, EvaluationKey, PublicKey, SecretKey};

use crate::arrays::{Bits, Numbers};
use crate::bytes::Secret;
use crate::numbers::Number;
use crate::tfhe::parameters::BooleanParameters;
use crate::tfhe::program::BootstrapProgram;
use crate::{bytes, engine, errors, threads};

/// The key that encrypts and decrypts bits; wiped from memory when freed, never printed.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct BooleanSecretKey(pub SecretKey);

#[pymethods]
impl BooleanSecretKey {
    /// A fresh key from the operating system's randomness.
    #[staticmethod]
    fn generate(py: Python<'_>, parameters: Bound<'_, BooleanParameters>) -> PyResult<Self> {
        let parameters = parameters.get().0;
        engine::run_boolean(py, || SecretKey::generate(parameters)).map(Self)
    }

    /// Encrypt bits with fresh randomness.
    ///
    /// Args:
    ///     bits: uint8, 0 or 1.
    ///     encodings: uint32 by bit, the phase of a 1; 2^32 are one turn.
    fn encrypt(
        &self,
        py: Python<'_>,
        bits: Bits,
        encodings: Numbers<u32>,
    ) -> PyResult<BooleanCiphertexts> {
        let encrypt = || self.0.encrypt(&bits.0, &encodings.0);
        engine::run_boolean(py, encrypt).map(BooleanCiphertexts)
    }

    /// The bit of each ciphertext, uint8: 1 where the phase is nearer to the encoding than to 0.
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        ciphertexts: Bound<'_, BooleanCiphertexts>,
        encodings: Numbers<u32>,
    ) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let ciphertexts = &ciphertexts.get().0;
        let bits = engine::run_boolean(py, || self.0.decrypt(ciphertexts, &encodings.0))?;
        Ok(PyArray1::from_vec(py, bits))
    }

    /// The noise of each ciphertext in turns, float64: what its phase is off the nearer of 0 and
    /// the encoding. It reveals the key: show it to no one else.
    fn noise<'py>(
        &self,
        py: Python<'py>,
        ciphertexts: Bound<'_, BooleanCiphertexts>,
        encodings: Numbers<u32>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let ciphertexts = &ciphertexts.get().0;
        let noise = engine::run_boolean(py, || self.0.noise(ciphertexts, &encodings.0))?;
        Ok(PyArray1::from_vec(py, noise))
    }

    /// A fresh key for whoever runs programs; it does not decrypt.
    fn evaluation_key(&self, py: Python<'_>) -> PyResult<BooleanEvaluationKey> {
        engine::run_boolean(py, || self.0.evaluation_key()).map(BooleanEvaluationKey)
    }

    /// A fresh key with which others encrypt; it does nothing else.
    fn public_key(&self, py: Python<'_>) -> PyResult<BooleanPublicKey> {
        engine::run_boolean(py, || self.0.public_key()).map(BooleanPublicKey)
    }

    /// The parameters of the key.
    #[getter]
    fn parameters(&self) -> BooleanParameters {
        BooleanParameters(self.0.parameters())
    }

    /// A label of the secret key, which is public: all that belongs to the key has it.
    #[getter]
    fn label<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.label())
    }

    /// Read what `to_bytes` wrote.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: Secret) -> PyResult<Self> {
        engine::run_boolean(py, || SecretKey::from_bytes(&data.0)).map(Self)
    }

    /// The secret itself as bytes, unprotected; the caller wipes them.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        let data = engine::run_boolean(py, || Ok(self.0.to_bytes()))?;
        Ok(PyByteArray::new(py, &data))
    }

    fn __repr__(&self) -> String {
        format!("Boolean{:?}", self.0)
    }
}

/// A key that encrypts bits and does nothing else.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct BooleanPublicKey(PublicKey);

#[pymethods]
impl BooleanPublicKey {
    /// Encrypt bits with fresh randomness; with a little more noise than the secret key does,
    /// "public_variance" of `boolean_noise`.
    ///
    /// Args:
    ///     bits: uint8, 0 or 1.
    ///     encodings: uint32 by bit, the phase of a 1; 2^32 are one turn.
    fn encrypt(
        &self,
        py: Python<'_>,
        bits: Bits,
        encodings: Numbers<u32>,
    ) -> PyResult<BooleanCiphertexts> {
        let encrypt = || self.0.encrypt(&bits.0, &encodings.0);
        engine::run_boolean(py, encrypt).map(BooleanCiphertexts)
    }

    /// The parameters of the key.
    #[getter]
    fn parameters(&self) -> BooleanParameters {
        BooleanParameters(self.0.parameters())
    }

    /// A label of the secret key, which is public: all that belongs to the key has it.
    #[getter]
    fn label<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.label())
    }

    /// Bytes in memory.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.nbytes()
    }

    /// Read what `to_bytes` wrote.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        engine::run_boolean(py, || PublicKey::from_bytes(data)).map(Self)
    }

    /// This key as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let data = engine::run_boolean(py, || Ok(self.0.to_bytes()))?;
        bytes::to_python(py, &data)
    }

    fn __repr__(&self) -> String {
        format!("Boolean{:?}", self.0)
    }
}

/// What whoever runs programs holds; it does not decrypt.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct BooleanEvaluationKey(EvaluationKey);

#[pymethods]
impl BooleanEvaluationKey {
    /// Run a program and return its outputs, which do not depend on the number of threads.
    ///
    /// An interrupt from the keyboard, or an exception of a callback, stops the run after the
    /// bootstraps under way and is raised.
    ///
    /// Args:
    ///     program: The program.
    ///     inputs: One ciphertext for each of its inputs, in order.
    ///     threads: How many threads make bootstraps; by default as many as the engine has.
    ///     progress: Called up to 20 times a second, and at the end, with the number of
    ///         bootstraps made and the number of all.
    ///     cancel: The run stops when its method `is_set` returns true.
    ///
    /// Raises:
    ///     InvalidArgumentError: The inputs or the parameters do not suffice for the program.
    ///     ParametersMismatchError: The inputs were made under other parameters.
    ///     KeyMismatchError: The inputs belong to another key.
    ///     RunCancelledError: The run was cancelled.
    #[pyo3(signature = (program, inputs, *, threads=None, progress=None, cancel=None))]
    fn run(
        &self,
        py: Python<'_>,
        program: Bound<'_, BootstrapProgram>,
        inputs: Bound<'_, BooleanCiphertexts>,
        threads: Option<Number<usize>>,
        progress: Option<Py<PyAny>>,
        cancel: Option<Py<PyAny>>,
    ) -> PyResult<BooleanCiphertexts> {
        Ok(self.run_with(py, &program, &inputs, threads, Watch::new(progress, cancel))?.0)
    }

    /// `run`, and when each bootstrap was made.
    ///
    /// Returns:
    ///     The outputs, and four arrays in the order in which bootstraps ended: nodes, uint32;
    ///     seconds from the start of the run to theirs, float64; what they took, float64, of
    ///     several that were made together an equal part each; threads, uint32.
    #[pyo3(signature = (program, inputs, *, threads=None, progress=None, cancel=None))]
    fn run_timed<'py>(
        &self,
        py: Python<'py>,
        program: Bound<'_, BootstrapProgram>,
        inputs: Bound<'_, BooleanCiphertexts>,
        threads: Option<Number<usize>>,
        progress: Option<Py<PyAny>>,
        cancel: Option<Py<PyAny>>,
    ) -> PyResult<(BooleanCiphertexts, Times<'py>)> {
        let watch = Watch::new(progress, cancel);
        let (outputs, times) = self.run_with(py, &program, &inputs, threads, watch)?;
        Ok((outputs, times_to_python(py, &times)))
    }

    /// The parameters of the key.
    #[getter]
    fn parameters(&self) -> BooleanParameters {
        BooleanParameters(self.0.parameters())
    }

    /// A label of the secret key, which is public: all that belongs to the key has it.
    #[getter]
    fn label<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.label())
    }

    /// Bytes in memory.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.nbytes()
    }

    /// Read what `to_bytes` wrote.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        engine::run_boolean(py, || EvaluationKey::from_bytes(data)).map(Self)
    }

    /// This key as bytes, a tenth of those in memory: masks are stored as their seeds.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let data = engine::run_boolean(py, || Ok(self.0.to_bytes()))?;
        bytes::to_python(py, &data)
    }

    fn __repr__(&self) -> String {
        format!("Boolean{:?}", self.0)
    }
}

/// Encrypted bits of one key, in order.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct BooleanCiphertexts(pub Ciphertexts);

#[pymethods]
impl BooleanCiphertexts {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Bytes in memory.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.nbytes()
    }

    /// The parameters of their key.
    #[getter]
    fn parameters(&self) -> BooleanParameters {
        BooleanParameters(self.0.parameters())
    }

    /// The label of the secret key.
    #[getter]
    fn label<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.label())
    }

    /// These and then those of others; nothing is copied.
    fn concatenate(&self, py: Python<'_>, others: Vec<Bound<'_, Self>>) -> PyResult<Self> {
        let others: Vec<&Ciphertexts> = others.iter().map(|other| &other.get().0).collect();
        self.0.concatenate(&others).map(Self).map_err(|error| errors::boolean_refusal(py, &error))
    }

    /// Bits that hide nothing, without noise, for programs that run on these ciphertexts.
    ///
    /// Args:
    ///     bits: uint8, 0 or 1.
    ///     encodings: uint32 by bit, the phase of a 1; 2^32 are one turn.
    fn trivial(&self, py: Python<'_>, bits: Bits, encodings: Numbers<u32>) -> PyResult<Self> {
        let trivial = || self.0.trivial(&bits.0, &encodings.0);
        engine::run_boolean(py, trivial).map(Self)
    }

    /// Those in the places given, in that order; nothing is copied.
    fn select(&self, py: Python<'_>, places: Vec<Number<usize>>) -> PyResult<Self> {
        let places: Vec<usize> = places.into_iter().map(|place| place.0).collect();
        self.0.select(&places).map(Self).map_err(|error| errors::boolean_refusal(py, &error))
    }

    /// Their numbers, a row each: the mask and then the body, 2^32 to a turn.
    fn words<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u32>>> {
        let width = self.0.parameters().lwe_dimension() + 1;
        let words = engine::run_boolean(py, || Ok(self.0.words()))?;
        PyArray1::from_vec(py, words).reshape([self.0.len(), width])
    }

    /// Read what `to_bytes` wrote.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        engine::run_boolean(py, || Ciphertexts::from_bytes(data)).map(Self)
    }

    /// These ciphertexts as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let data = engine::run_boolean(py, || Ok(self.0.to_bytes()))?;
        bytes::to_python(py, &data)
    }

    fn __repr__(&self) -> String {
        format!("Boolean{:?}", self.0)
    }
}

impl BooleanEvaluationKey {
    fn run_with(
        &self,
        py: Python<'_>,
        program: &Bound<'_, BootstrapProgram>,
        inputs: &Bound<'_, BooleanCiphertexts>,
        threads: Option<Number<usize>>,
        mut watch: Watch,
    ) -> PyResult<(BooleanCiphertexts, Vec<BootstrapTime>)> {
        let threads = threads.map_or_else(|| threads::threads(py), |threads| Ok(threads.0))?;
        let (program, inputs) = (&program.get().0, &inputs.get().0);
        // On this thread: on no other does Python look for an interrupt.
        let run = || self.0.run_timed(program, inputs, threads, |a, b| watch.go_on(a, b));
        let outputs = engine::detached(py, run)?;
        watch.raised.map_or(Ok(()), Err)?;
        let (outputs, times) = outputs.map_err(|error| errors::boolean_refusal(py, &error))?;
        Ok((BooleanCiphertexts(outputs), times))
    }
}

/// Nodes, starts, seconds and threads of bootstraps.
type Times<'py> = (
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<u32>>,
);

fn times_to_python<'py>(py: Python<'py>, times: &[BootstrapTime]) -> Times<'py> {
    (
        PyArray1::from_iter(py, times.iter().map(|time| time.node as u32)),
        PyArray1::from_iter(py, times.iter().map(|time| time.start)),
        PyArray1::from_iter(py, times.iter().map(|time| time.seconds)),
        PyArray1::from_iter(py, times.iter().map(|time| time.thread as u32)),
    )
}

/// Who hears of a run, and may stop it.
struct Watch {
    progress: Option<Py<PyAny>>,
    cancel: Option<Py<PyAny>>,
    /// What a caller raised meanwhile.
    raised: Option<PyErr>,
}

impl Watch {
    fn new(progress: Option<Py<PyAny>>, cancel: Option<Py<PyAny>>) -> Self {
        Self { progress, cancel, raised: None }
    }

    fn go_on(&mut self, made: usize, total: usize) -> bool {
        match Python::attach(|py| self.report(py, made, total)) {
            Ok(go_on) => go_on,
            Err(error) => {
                self.raised = Some(error);
                false
            }
        }
    }

    fn report(&self, py: Python<'_>, made: usize, total: usize) -> PyResult<bool> {
        py.check_signals()?;
        if let Some(progress) = &self.progress {
            progress.call1(py, (made, total))?;
        }
        match &self.cancel {
            Some(cancel) => Ok(!cancel.call_method0(py, intern!(py, "is_set"))?.is_truthy(py)?),
            None => Ok(true),
        }
    }
}
