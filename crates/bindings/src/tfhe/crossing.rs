//! From slots to bits: numbers as LWE ciphertexts of another key.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rlwe::core::ring_switching;
use tfhe_eval::{Ciphertexts, Parameters};

use crate::bgv::ciphertext::BgvCiphertext;
use crate::bgv::keys::BgvSecretKey;
use crate::bgv::parameters::BgvParameters;
use crate::ckks;
use crate::ckks::ciphertext::Ciphertext;
use crate::ckks::keys::SecretKey;
use crate::numbers::{Number, Real};
use crate::tfhe::keys::{BooleanCiphertexts, BooleanSecretKey};
use crate::tfhe::parameters::BooleanParameters;
use crate::{bytes, engine, errors};

/// Takes numbers out of slots, encrypted under a key for bits; it decrypts nothing.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct RingSwitchingKey {
    key: ring_switching::RingSwitchingKey,
    bits: Parameters,
}

/// A secret key of slots.
#[derive(FromPyObject)]
enum SlotSecret<'py> {
    Reals(Bound<'py, SecretKey>),
    Integers(Bound<'py, BgvSecretKey>),
}

/// Parameters of slots.
#[derive(FromPyObject)]
enum SlotParameters<'py> {
    Reals(Bound<'py, ckks::parameters::Parameters>),
    Integers(Bound<'py, BgvParameters>),
}

#[pymethods]
impl RingSwitchingKey {
    /// A key from slots to bits, by the secret keys of both.
    ///
    /// Raises:
    ///     InsecureParametersError: The key for bits has fewer numbers than the modulus asks for.
    ///     InvalidArgumentError: They are not a power of two of at most N.
    #[staticmethod]
    fn generate(
        py: Python<'_>,
        secret: SlotSecret<'_>,
        bits: Bound<'_, BooleanSecretKey>,
    ) -> PyResult<Self> {
        let bits = &bits.get().0;
        let secret = match &secret {
            SlotSecret::Reals(secret) => &secret.get().0,
            SlotSecret::Integers(secret) => &secret.get().0,
        };
        let make = || secret.ring_switching_key(bits.large_numbers(), bits.label());
        Ok(Self { key: engine::run(py, make)?, bits: bits.parameters() })
    }

    /// The numbers in some slots, each as one LWE ciphertext of phase `turns` times the number.
    ///
    /// Args:
    ///     ciphertext: A ciphertext of CKKS, at level 1 or above.
    ///     slots: The slots.
    ///     turns: What 1 becomes; a number that becomes more than half a turn wraps around.
    ///
    /// Raises:
    ///     ParametersMismatchError: The ciphertext has other parameters.
    ///     KeyMismatchError: It belongs to another key.
    ///     SlotMismatchError: There is no such slot.
    ///     ScaleOutOfRangeError: The level is too low.
    fn leave(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, Ciphertext>,
        slots: Vec<usize>,
        turns: Real,
    ) -> PyResult<BooleanCiphertexts> {
        let ciphertext = &ciphertext.get().0;
        let lwes = engine::run(py, || ciphertext.leave(&self.key, &slots, turns.0))?;
        self.ciphertexts(py, lwes)
    }

    /// The integers in some slots, each as one LWE ciphertext of phase `parts` / t times the
    /// integer.
    ///
    /// Args:
    ///     ciphertext: A ciphertext of BGV.
    ///     slots: The slots, of the first row and then the second.
    ///     parts: What 1 becomes, from 1 to t - 1.
    ///
    /// Raises:
    ///     ParametersMismatchError: The ciphertext has other parameters.
    ///     KeyMismatchError: It belongs to another key.
    ///     SlotMismatchError: There is no such slot.
    ///     IntegerOutOfRangeError: There are no such parts.
    fn leave_integers(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, BgvCiphertext>,
        slots: Vec<usize>,
        parts: Number<u32>,
    ) -> PyResult<BooleanCiphertexts> {
        let ciphertext = &ciphertext.get().0;
        let lwes = engine::run(py, || ciphertext.leave(&self.key, &slots, parts.0))?;
        self.ciphertexts(py, lwes)
    }

    /// Bytes in memory.
    #[getter]
    fn nbytes(&self) -> usize {
        self.key.nbytes()
    }

    /// Bytes of a key as `to_bytes` stores it, for slots in a ring.
    #[staticmethod]
    fn stored_bytes(log_n: Number<u32>) -> usize {
        ring_switching::stored_bytes(log_n.0)
    }

    /// Read what `to_bytes` wrote.
    ///
    /// Args:
    ///     parameters: Those of the slots.
    ///     bits: Those of the bits.
    ///     data: The bytes.
    #[staticmethod]
    fn from_bytes(
        py: Python<'_>,
        parameters: SlotParameters<'_>,
        bits: Bound<'_, BooleanParameters>,
        data: &[u8],
    ) -> PyResult<Self> {
        let bits = bits.get().0;
        let parameters = match &parameters {
            SlotParameters::Reals(parameters) => &*parameters.get().0,
            SlotParameters::Integers(parameters) => &*parameters.get().0,
        };
        let read = || ring_switching::RingSwitchingKey::from_bytes(parameters, data);
        let key = engine::run(py, read)?;
        if key.dimension() != bits.lwe_dimension() {
            let (expected, got) = (bits.lwe_dimension(), key.dimension());
            let reason = format!(
                "cannot read a ring switching key: expected one to {expected} numbers, got {got}"
            );
            return Err(errors::exception(py, "MalformedBytesError", reason));
        }
        Ok(Self { key, bits })
    }

    /// This key as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let data = engine::run(py, || Ok(self.key.to_bytes()))?;
        bytes::to_python(py, &data)
    }

    fn __repr__(&self) -> String {
        format!("RingSwitchingKey({}, {})", self.key.parameters(), self.bits.name())
    }
}

impl RingSwitchingKey {
    fn ciphertexts(&self, py: Python<'_>, lwes: Vec<Vec<u32>>) -> PyResult<BooleanCiphertexts> {
        Ciphertexts::from_words(self.bits, self.key.target(), lwes)
            .map(BooleanCiphertexts)
            .map_err(|error| errors::boolean_refusal(py, &error))
    }
}

/// The secret key of bits in slots, as the evaluator needs it to take bits into them: number j of
/// the large key, -1 for a 0 and 1 for a 1, encrypted in as many slots as each number has, in order.
///
/// Args:
///     parameters: Those of the slots.
///     secret: The key that encrypts.
///     bits: The secret key of bits.
///     level: The level.
///
/// Raises:
///     InvalidArgumentError: There are more numbers than slots, or no such level.
#[pyfunction]
pub fn return_key(
    py: Python<'_>,
    parameters: Bound<'_, ckks::parameters::Parameters>,
    secret: Bound<'_, SecretKey>,
    bits: Bound<'_, BooleanSecretKey>,
    level: Number<usize>,
) -> PyResult<Ciphertext> {
    let parameters = &parameters.get().0;
    let (secret, bits) = (&secret.get().0, &bits.get().0);
    let make = || secret.encrypt(&parameters.encode_signs(bits.large_numbers(), level.0)?);
    engine::run(py, make).map(Ciphertext)
}

/// What leaving slots adds to numbers, as a variance in turns squared.
///
/// Args:
///     log_n: log2 of the ring degree.
///     bits: The parameters of the bits.
#[pyfunction]
pub fn ring_switching_variance(log_n: Number<u32>, bits: Bound<'_, BooleanParameters>) -> f64 {
    ring_switching::variance(log_n.0, bits.get().0.lwe_dimension())
}
