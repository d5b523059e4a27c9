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

parameters!(Parameters(ckks::Parameters));

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

    /// Numbers in a full vector: half the ring degree.
    #[getter]
    fn slots(&self) -> usize {
        self.0.slots()
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

    /// log2 of the modulus of the top level.
    #[getter]
    fn log_q(&self, py: Python<'_>) -> PyResult<f64> {
        self.0.log_q(self.0.max_level()).map_err(|error| errors::refusal(py, &error))
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

    /// Limbs of an encoded diagonal of a linear transform.
    ///
    /// Args:
    ///     level: The level of the ciphertexts.
    ///     diagonals: How many diagonals it has.
    ///     baby_steps: The baby steps that rotate.
    ///     giant_steps: The giant steps that rotate.
    ///     shared_by: Transforms that share the baby steps; see `LinearTransform`.
    #[pyo3(signature = (level, diagonals, baby_steps, giant_steps, *, shared_by))]
    fn limbs_of_diagonals(
        &self,
        py: Python<'_>,
        level: Number<usize>,
        diagonals: Number<usize>,
        baby_steps: Number<usize>,
        giant_steps: Number<usize>,
        shared_by: Number<usize>,
    ) -> PyResult<usize> {
        let steps = (baby_steps.0, giant_steps.0);
        let found = self.0.limbs_of_diagonals(level.0, diagonals.0, steps, shared_by.0);
        found.map_err(|error| errors::refusal(py, &error))
    }

    /// Words of a limb of an encoded diagonal that repeats itself after `period` slots.
    fn diagonal_words(&self, period: Number<usize>) -> usize {
        self.0.diagonal_words(period.0)
    }

    /// Bytes in memory of the keys for raising the modulus, as bootstrapping does.
    #[getter]
    fn encapsulation_key_bytes(&self) -> usize {
        self.0.encapsulation_key_bytes()
    }
}
