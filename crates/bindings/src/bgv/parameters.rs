//! Parameters of BGV.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rlwe::SecretDistribution;
use rlwe::bgv::{self, ParametersLiteral};
use rlwe::bytes::ReadLimits;

use crate::numbers::{Number, Real};
use crate::{bytes, engine, errors};

/// A ring, a modulus chain and a plaintext modulus, for exact arithmetic on integers.
///
/// Args:
///     levels: How often the modulus can be switched: products in a row, by default.
///     plaintext_modulus: A prime that is 1 modulo 2N, below 2^30; by default 65537, beyond
///         N = 2^15 the smallest such prime.
///     level_bits: What each level adds to the modulus, 20 to 60 bits; by default what a
///         product needs.
///     base_bits: The modulus of level 0, 2 to 60 bits more than `level_bits`; by default 2 more.
///     log_n: log2 of the ring degree; by default the smallest that is secure.
///     digits: Key-switching digits; by default those that rotate fastest.
///     failure_bits: Each bound on noise, an encryption's, a rounding's or a key switch's, fails
///         with a chance below 2^-failure_bits, 40 to 128; by default 128.
///     word_bits: Bits of the largest prime of any level, 20 to 30; by default 30. Rotated
///         products are fastest up to 24.
///     insecure: Whether less than 128-bit security is allowed.
///
/// Raises:
///     InvalidParametersError: They contradict each other or lie outside the range.
///     InsecureParametersError: They fall short of 128-bit security.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct BgvParameters(pub bgv::Parameters);

#[pymethods]
impl BgvParameters {
    #[new]
    #[pyo3(signature = (*, levels, plaintext_modulus=None, level_bits=None, base_bits=None, log_n=None, digits=None, failure_bits=None, word_bits=Number(30), insecure=false))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        levels: Number<usize>,
        plaintext_modulus: Option<Number<u32>>,
        level_bits: Option<Real>,
        base_bits: Option<Real>,
        log_n: Option<Number<u32>>,
        digits: Option<Number<usize>>,
        failure_bits: Option<Real>,
        word_bits: Number<u32>,
        insecure: bool,
    ) -> PyResult<Self> {
        let literal = ParametersLiteral {
            log_n: log_n.map(|x| x.0),
            levels: levels.0,
            plaintext_modulus: plaintext_modulus.map(|x| x.0),
            level_bits: level_bits.map(|x| x.0),
            base_bits: base_bits.map(|x| x.0),
            digits: digits.map(|x| x.0),
            failure_bits: failure_bits.map(|x| x.0),
            word_bits: word_bits.0,
            secret: SecretDistribution::Ternary,
            insecure,
        };
        engine::run(py, || bgv::Parameters::new(literal)).map(Self)
    }

    /// Arithmetic is exact modulo it.
    #[getter]
    fn plaintext_modulus(&self) -> u32 {
        self.0.plaintext_modulus()
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

    /// Integers in each of two rows: half the ring degree.
    #[getter]
    fn slots(&self) -> usize {
        self.0.slots()
    }

    /// The top level.
    #[getter]
    fn levels(&self) -> usize {
        self.0.max_level()
    }

    /// What each level adds to the modulus, in bits.
    #[getter]
    fn level_bits(&self) -> f64 {
        self.0.level_bits()
    }

    /// Each bound on noise fails with a chance below 2^-so many.
    #[getter]
    fn failure_bits(&self) -> f64 {
        self.0.failure_bits()
    }

    /// Bits of the largest prime of any level.
    #[getter]
    fn word_bits(&self) -> u32 {
        self.0.word_bits()
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

    /// Word primes of the largest modulus, key-switching primes included.
    #[getter]
    fn key_prime_count(&self) -> usize {
        self.0.key_limbs()
    }

    /// log2 of the modulus of a level.
    fn log_q(&self, py: Python<'_>, level: Number<usize>) -> PyResult<f64> {
        self.0.log_q(level.0).map_err(|error| errors::refusal(py, &error))
    }

    /// Word primes of the modulus of a level.
    fn prime_count(&self, py: Python<'_>, level: Number<usize>) -> PyResult<usize> {
        self.0.limbs(level.0).map_err(|error| errors::refusal(py, &error))
    }

    /// Bytes in memory of one evaluation key for a level.
    fn evaluation_key_bytes(&self, py: Python<'_>, level: Number<usize>) -> PyResult<usize> {
        self.0.evaluation_key_bytes(level.0).map_err(|error| errors::refusal(py, &error))
    }

    /// Read what `to_bytes` wrote, if it is accepted: see `Parameters.from_bytes`.
    #[staticmethod]
    #[pyo3(signature = (data, *, insecure=false, max_log_n=Number(16)))]
    fn from_bytes(
        py: Python<'_>,
        data: &[u8],
        insecure: bool,
        max_log_n: Number<u32>,
    ) -> PyResult<Self> {
        let limits = ReadLimits { insecure, max_log_n: max_log_n.0 };
        engine::run(py, || bgv::Parameters::from_bytes(data, &limits)).map(Self)
    }

    /// These parameters as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let data = engine::run(py, || Ok(self.0.to_bytes()))?;
        bytes::to_python(py, &data)
    }

    fn __repr__(&self) -> String {
        format!("BgvParameters({})", self.0)
    }
}
