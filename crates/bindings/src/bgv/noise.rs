//! The noise of BGV by ring and plaintext modulus alone.

use pyo3::prelude::*;
use rlwe::SecretDistribution;
use rlwe::bgv::{CANONICAL_FACTOR_BITS, FAILURE_BITS, Noise, NoiseModel};

use crate::errors;
use crate::numbers::{Number, Real};

/// Bounds on a noise, as base-2 logarithms.
///
/// Args:
///     norm: Of the canonical norm.
///     length: Of the Euclidean length of all coefficients.
///     coefficient: Of the largest coefficient.
#[pyclass(frozen, eq, module = "cloakwork._native")]
#[derive(PartialEq)]
pub struct BgvNoise(Noise);

#[pymethods]
impl BgvNoise {
    #[new]
    fn new(norm: Real, length: Real, coefficient: Real) -> Self {
        Self(Noise {
            canonical_bits: norm.0,
            length_bits: length.0,
            coefficient_bits: coefficient.0,
        })
    }

    /// Of the canonical norm.
    #[getter]
    fn norm(&self) -> f64 {
        self.0.canonical_bits
    }

    /// Of the Euclidean length of all coefficients.
    #[getter]
    fn length(&self) -> f64 {
        self.0.length_bits
    }

    /// Of the largest coefficient.
    #[getter]
    fn coefficient(&self) -> f64 {
        self.0.coefficient_bits
    }

    /// Of a modulus that holds it.
    #[getter]
    fn needed_bits(&self) -> f64 {
        self.0.needed_bits()
    }

    /// Of the sum of two.
    fn plus(&self, other: Bound<'_, BgvNoise>) -> Self {
        Self(self.0.plus(other.get().0))
    }

    /// Of the product of two.
    fn times(&self, other: Bound<'_, BgvNoise>) -> Self {
        Self(self.0.times(other.get().0))
    }

    /// Of a multiple by 2^bits.
    fn scaled(&self, bits: Real) -> Self {
        Self(self.0.scaled(bits.0))
    }

    fn __repr__(&self) -> String {
        let Noise { canonical_bits, length_bits, coefficient_bits } = self.0;
        format!(
            "BgvNoise(norm={canonical_bits:.2}, length={length_bits:.2}, coefficient={coefficient_bits:.2})"
        )
    }
}

/// What operations add to noise in a ring, whatever the chain of moduli.
///
/// Args:
///     log_n: log2 of the ring degree.
///     plaintext_modulus: The plaintext modulus.
///     public_inputs: Whether inputs may be encrypted by a public key, whose encryption rounds.
///     failure_bits: Each bound fails with a chance below 2^-failure_bits; by default 128.
///
/// Raises:
///     InvalidParametersError: `failure_bits` is not from 40 to 128.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct BgvNoiseModel {
    model: NoiseModel,
    plaintext_modulus: u32,
    public_inputs: bool,
}

#[pymethods]
impl BgvNoiseModel {
    #[new]
    #[pyo3(signature = (log_n, plaintext_modulus, *, public_inputs=false, failure_bits=None))]
    fn new(
        py: Python<'_>,
        log_n: Number<u32>,
        plaintext_modulus: Number<u32>,
        public_inputs: bool,
        failure_bits: Option<Real>,
    ) -> PyResult<Self> {
        let (plaintext_modulus, secret) = (plaintext_modulus.0, SecretDistribution::Ternary);
        let failure_bits = failure_bits.map_or(f64::from(FAILURE_BITS), |bits| bits.0);
        let model = NoiseModel::new(log_n.0, plaintext_modulus, secret, failure_bits);
        let model = model.map_err(|error| errors::refusal(py, &error))?;
        Ok(Self { model, plaintext_modulus, public_inputs })
    }

    /// The plaintext modulus.
    #[getter]
    fn plaintext_modulus(&self) -> u32 {
        self.plaintext_modulus
    }

    /// How much noisier a value may become for the canonical factor of its level, in bits.
    #[getter]
    fn canonical_factor_bits(&self) -> f64 {
        CANONICAL_FACTOR_BITS
    }

    /// Of an encrypted input.
    #[getter]
    fn fresh(&self) -> BgvNoise {
        BgvNoise(match self.public_inputs {
            true => self.model.typical_public_encryption(),
            false => self.model.encryption(),
        })
    }

    /// What a switch to a smaller modulus adds.
    #[getter]
    fn rounding(&self) -> BgvNoise {
        BgvNoise(self.model.rounding(1))
    }

    /// What a rotation or a relinearisation adds, as a rule.
    #[getter]
    fn rotation(&self) -> BgvNoise {
        BgvNoise(self.model.rotation())
    }

    /// What the switch of a rotated product adds, as a rule.
    #[getter]
    fn product_switching(&self) -> BgvNoise {
        BgvNoise(self.model.product_switching())
    }

    /// Of any plaintext.
    #[getter]
    fn message(&self) -> BgvNoise {
        BgvNoise(self.model.message())
    }

    /// Of a plaintext whose slots hold different numbers, as a rule.
    #[getter]
    fn mask(&self) -> BgvNoise {
        BgvNoise(self.model.mask())
    }

    /// After a switch to a modulus smaller by so many bits, or dropping as many.
    fn switched(&self, noise: Bound<'_, BgvNoise>, bits: Real) -> BgvNoise {
        BgvNoise(self.model.switched(noise.get().0, bits.0))
    }

    /// After a division by primes of so many bits, and rounding.
    fn divided(&self, noise: Bound<'_, BgvNoise>, bits: Real) -> BgvNoise {
        BgvNoise(self.model.divided(noise.get().0, bits.0))
    }

    /// Of a sum of so many products of ciphertexts of these noises, as `rotated_products` makes
    /// them: worst messages add up, errors of inputs, which are independent, do so by their squares.
    fn products(
        &self,
        left: Bound<'_, BgvNoise>,
        right: Bound<'_, BgvNoise>,
        terms: Number<usize>,
    ) -> BgvNoise {
        BgvNoise(self.model.typical_products(left.get().0, right.get().0, terms.0))
    }

    /// How many switches by so many bits each leave most headroom for a product.
    fn switches(&self, noise: Bound<'_, BgvNoise>, bits: Real) -> usize {
        self.model.switches(noise.get().0, bits.0)
    }

    fn __repr__(&self) -> String {
        format!("BgvNoiseModel({:?})", self.model)
    }
}
