//! Parameters.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rlwe::SecretDistribution;
use rlwe::bytes::ReadLimits;
use rlwe::ckks::{self, ParametersLiteral};

use crate::numbers::{Number, Real};
use crate::{bytes, engine, errors};

/// A ring, a modulus chain and their tables.
///
/// Args:
///     levels: Multiplications in a row.
///     scale_bits: log2 of the scale, 20 to 60; by default 40.
///     headroom_bits: Bits that level 0 has beyond the scale; by default 10.
///     log_n: log2 of the ring degree; by default the smallest that is secure.
///     digits: Key-switching digits; by default those that rotate fastest.
///     word_bits: Bits of the largest prime of any level, 20 to 30; by default 30. Rotated
///         products are fastest up to 24.
///     secret_weight: Non-zero coefficients of a secret; by default a uniform ternary one.
///     insecure: Whether less than 128-bit security is allowed.
///
/// Raises:
///     InvalidParametersError: They contradict each other or lie outside the range.
///     InsecureParametersError: They fall short of 128-bit security.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct Parameters(pub ckks::Parameters);

#[pymethods]
impl Parameters {
    #[new]
    #[pyo3(signature = (*, levels, scale_bits=Real(40.0), headroom_bits=Real(10.0), log_n=None, digits=None, word_bits=Number(30), secret_weight=None, insecure=false))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        levels: Number<usize>,
        scale_bits: Real,
        headroom_bits: Real,
        log_n: Option<Number<u32>>,
        digits: Option<Number<usize>>,
        word_bits: Number<u32>,
        secret_weight: Option<Number<usize>>,
        insecure: bool,
    ) -> PyResult<Self> {
        let literal = ParametersLiteral {
            log_n: log_n.map(|x| x.0),
            levels: levels.0,
            scale_bits: scale_bits.0,
            headroom_bits: headroom_bits.0,
            digits: digits.map(|x| x.0),
            word_bits: word_bits.0,
            secret: secret_weight
                .map_or(SecretDistribution::Ternary, |x| SecretDistribution::FixedWeight(x.0)),
            insecure,
        };
        engine::run(py, || ckks::Parameters::new(literal)).map(Self)
    }

    /// log2 of the ring degree.
    #[getter]
    fn log_n(&self) -> u32 {
        self.0.log_n()
    }

    /// The ring degree.
    #[getter]
    fn n(&self) -> usize {
        self.0.n()
    }

    /// Numbers in a full vector: half the ring degree.
    #[getter]
    fn slots(&self) -> usize {
        self.0.slots()
    }

    /// The top level.
    #[getter]
    fn levels(&self) -> usize {
        self.0.max_level()
    }

    /// log2 of the scale that was asked for.
    #[getter]
    fn scale_bits(&self) -> f64 {
        self.0.scale_bits()
    }

    /// Bits that level 0 has beyond the scale.
    #[getter]
    fn headroom_bits(&self) -> f64 {
        self.0.headroom_bits()
    }

    /// Bits of the largest prime of any level.
    #[getter]
    fn word_bits(&self) -> u32 {
        self.0.word_bits()
    }

    /// log2 of the modulus of the top level.
    #[getter]
    fn log_q(&self, py: Python<'_>) -> PyResult<f64> {
        self.0.log_q(self.0.max_level()).map_err(|error| errors::refusal(py, &error))
    }

    /// log2 of the largest modulus, key-switching primes included.
    #[getter]
    fn log_qp(&self) -> f64 {
        self.0.log_qp()
    }

    /// Whether they fall short of 128-bit security.
    #[getter]
    fn insecure(&self) -> bool {
        !self.0.is_secure()
    }

    /// Equal exactly for parameters whose objects may be mixed.
    #[getter]
    fn fingerprint(&self) -> String {
        self.0.fingerprint().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The canonical scale of a level.
    fn scale(&self, py: Python<'_>, level: Number<usize>) -> PyResult<f64> {
        self.0.scale(level.0).map_err(|error| errors::refusal(py, &error))
    }

    /// What a rescale from a level divides the scale by.
    fn rescale_factor(&self, py: Python<'_>, level: Number<usize>) -> PyResult<f64> {
        self.0.rescale_factor(level.0).map_err(|error| errors::refusal(py, &error))
    }

    /// The scale of a clear factor that takes a ciphertext of `scale` at `level`, multiplied
    /// and rescaled, to the canonical scale of the level below.
    fn matching_scale(&self, py: Python<'_>, level: Number<usize>, scale: Real) -> PyResult<f64> {
        self.0.matching_scale(level.0, scale.0).map_err(|error| errors::refusal(py, &error))
    }

    /// Word primes of the modulus of a level.
    fn prime_count(&self, py: Python<'_>, level: Number<usize>) -> PyResult<usize> {
        self.0.limbs(level.0).map_err(|error| errors::refusal(py, &error))
    }

    /// Bytes in memory of one evaluation key for a level.
    fn evaluation_key_bytes(&self, py: Python<'_>, level: Number<usize>) -> PyResult<usize> {
        self.0.evaluation_key_bytes(level.0).map_err(|error| errors::refusal(py, &error))
    }

    /// Bytes of the encoded diagonals of a linear transform.
    ///
    /// Args:
    ///     level: The level of the ciphertexts.
    ///     diagonals: How many diagonals it has.
    ///     baby_steps: The baby steps that rotate.
    ///     giant_steps: The giant steps that rotate.
    ///     shared_by: Transforms that share the baby steps; see `LinearTransform`.
    #[pyo3(signature = (level, diagonals, baby_steps, giant_steps, *, shared_by))]
    fn transform_bytes(
        &self,
        py: Python<'_>,
        level: Number<usize>,
        diagonals: Number<usize>,
        baby_steps: Number<usize>,
        giant_steps: Number<usize>,
        shared_by: Number<usize>,
    ) -> PyResult<usize> {
        let steps = (baby_steps.0, giant_steps.0);
        let found = self.0.transform_bytes(level.0, diagonals.0, steps, shared_by.0);
        found.map_err(|error| errors::refusal(py, &error))
    }

    /// Bytes in memory of the keys for raising the modulus, as bootstrapping does.
    #[getter]
    fn encapsulation_key_bytes(&self) -> usize {
        self.0.encapsulation_key_bytes()
    }

    /// Word primes of the largest modulus, key-switching primes included.
    #[getter]
    fn key_prime_count(&self) -> usize {
        self.0.key_limbs()
    }

    /// Read what `to_bytes` wrote, if it is accepted.
    ///
    /// Args:
    ///     data: The bytes.
    ///     insecure: Whether less than 128-bit security is accepted; bytes do not decide that.
    ///     max_log_n: log2 of the largest ring degree that is accepted; by default 16.
    ///
    /// Raises:
    ///     MalformedBytesError: They are no parameters.
    ///     InsecureParametersError: They fall short of 128-bit security.
    ///     InvalidParametersError: The ring is larger than what is accepted.
    #[staticmethod]
    #[pyo3(signature = (data, *, insecure=false, max_log_n=Number(16)))]
    fn from_bytes(
        py: Python<'_>,
        data: &[u8],
        insecure: bool,
        max_log_n: Number<u32>,
    ) -> PyResult<Self> {
        let limits = ReadLimits { insecure, max_log_n: max_log_n.0 };
        engine::run(py, || ckks::Parameters::from_bytes(data, &limits)).map(Self)
    }

    /// These parameters as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let data = engine::run(py, || Ok(self.0.to_bytes()))?;
        bytes::to_python(py, &data)
    }

    fn __repr__(&self) -> String {
        format!("Parameters({})", self.0)
    }
}
