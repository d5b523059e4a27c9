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

parameters!(BgvParameters(bgv::Parameters));

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

    /// Integers in each of two rows: half the ring degree.
    #[getter]
    fn slots(&self) -> usize {
        self.0.slots()
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

    /// log2 of the modulus of a level.
    fn log_q(&self, py: Python<'_>, level: Number<usize>) -> PyResult<f64> {
        self.0.log_q(level.0).map_err(|error| errors::refusal(py, &error))
    }
}
