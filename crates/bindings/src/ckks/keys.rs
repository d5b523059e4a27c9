//! Keys.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMapping};
use rlwe::keys;

use crate::bytes::Secret;
use crate::ckks::bootstrapping::Bootstrapping;
use crate::ckks::ciphertext::Ciphertext;
use crate::ckks::estimate::{CkksEstimate, flooding};
use crate::ckks::parameters::Parameters;
use crate::ckks::plaintext::{Decrypted, Plaintext};
use crate::numbers::{Number, levels_by};
use crate::{bytes, engine, errors};

/// The key that decrypts; wiped from memory when freed, never printed.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct SecretKey(pub keys::SecretKey);

encrypting_keys!(SecretKey, PublicKey, Parameters, Plaintext -> Ciphertext by encrypt, "");

#[pymethods]
impl SecretKey {
    /// Decrypt a ciphertext of which the caller knows what it is.
    ///
    /// Precision and the check for overflow are those of the estimate, whatever the ciphertext
    /// says of itself. The noise of a result depends on the key: whoever is not to learn about the
    /// key must not be given it; see `decrypt_flooded`.
    ///
    /// Args:
    ///     ciphertext: The ciphertext.
    ///     estimate: What the operations that made it give for estimates; `ciphertext.estimate`
    ///         where nobody else had it in hand.
    ///
    /// Raises:
    ///     EstimateMismatchError: The ciphertext has another level, scale, number of slots or
    ///         degree than the estimate.
    ///     BoundOverflowError: By the estimate's bound a value may have outgrown the modulus.
    ///     DecryptionOverflowError: One has.
    fn decrypt(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, Ciphertext>,
        estimate: Bound<'_, CkksEstimate>,
    ) -> PyResult<Decrypted> {
        let (ciphertext, estimate) = (&ciphertext.get().0, &estimate.get().0);
        engine::run(py, || self.0.decrypt(ciphertext, estimate)).map(Decrypted)
    }

    /// Decrypt for others: with noise that hides the ciphertext's own, and with it the key.
    ///
    /// Args:
    ///     ciphertext: The ciphertext.
    ///     estimate: What the caller's own account of the program gives: from the ciphertext's own
    ///         whoever sent it would decide on the noise.
    ///     statistical_bits: s: no adversary's advantage exceeds 2^-(s/2 + 1.7).
    ///     decryptions: Decryptions for others under this key, at most: each ciphertext is one.
    ///
    /// Raises:
    ///     InvalidArgumentError: There are no bits or decryptions, or too many of both.
    #[pyo3(signature = (ciphertext, estimate, *, statistical_bits, decryptions))]
    fn decrypt_flooded(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, Ciphertext>,
        estimate: Bound<'_, CkksEstimate>,
        statistical_bits: Number<u32>,
        decryptions: Number<u64>,
    ) -> PyResult<Decrypted> {
        let (ciphertext, estimate) = (&ciphertext.get().0, &estimate.get().0);
        let flooding = flooding(statistical_bits, decryptions);
        let decrypt = || self.0.decrypt_flooded(ciphertext, estimate, flooding);
        engine::run(py, decrypt).map(Decrypted)
    }

    /// Keys for an evaluator, each for ciphertexts up to a level.
    ///
    /// Args:
    ///     relinearisation_level: The highest level of a product of ciphertexts.
    ///     rotations: The highest level of each rotation.
    ///     conjugation_level: The highest level of a conjugation.
    ///     automorphisms: The highest level of each other automorphism, by Galois element.
    ///     rotated_products: The highest level at which rotated products are switched, by rotation
    ///         in slots: 0 takes the relinearisation key, any other one of `rotations` too.
    ///     encapsulation_weight: The weight of the sparse secret under which bootstrapping raises
    ///         the modulus; by default there are no keys for that.
    ///
    /// Raises:
    ///     InsecureParametersError: The sparse secret is less secure than the parameters.
    #[pyo3(signature = (*, relinearisation_level, rotations, conjugation_level, automorphisms=None, rotated_products=None, encapsulation_weight=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn evaluation_keys(
        &self,
        py: Python<'_>,
        relinearisation_level: Option<Number<usize>>,
        rotations: Bound<'_, PyMapping>,
        conjugation_level: Option<Number<usize>>,
        automorphisms: Option<Bound<'_, PyMapping>>,
        rotated_products: Option<Bound<'_, PyMapping>>,
        encapsulation_weight: Option<Number<usize>>,
    ) -> PyResult<EvaluationKeys> {
        let automorphisms = automorphisms.as_ref().map(levels_by).transpose()?;
        let rotated_products = rotated_products.as_ref().map(levels_by).transpose()?;
        let request = keys::EvaluationKeysRequest {
            relinearisation_level: relinearisation_level.map(|level| level.0),
            rotations: levels_by(&rotations)?,
            conjugation_level: conjugation_level.map(|level| level.0),
            automorphisms: automorphisms.unwrap_or_default(),
            rotated_products: rotated_products.unwrap_or_default(),
            encapsulation_weight: encapsulation_weight.map(|weight| weight.0),
        };
        engine::run(py, || self.0.evaluation_keys(&request)).map(EvaluationKeys::new)
    }

    /// The keys that refreshing needs, each for the level at which it is used.
    ///
    /// Raises:
    ///     InsecureParametersError: The sparse secret is less secure than the parameters.
    fn bootstrapping_keys(
        &self,
        py: Python<'_>,
        bootstrapping: Bound<'_, Bootstrapping>,
    ) -> PyResult<EvaluationKeys> {
        let request = bootstrapping.get().0.keys();
        engine::run(py, || self.0.evaluation_keys(&request)).map(EvaluationKeys::new)
    }
}

/// A key that encrypts and does nothing else.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct PublicKey(keys::PublicKey);

/// Takes ciphertexts of one secret key to another.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct RekeyingKey(keys::RekeyingKey);

rekeying_keys!(RekeyingKey, SecretKey, Parameters, Ciphertext by rekey, "");

/// What an evaluator holds: relinearisation and Galois keys. None of it decrypts.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct EvaluationKeys(Mutex<keys::EvaluationKeys>);

evaluation_keys!(EvaluationKeys, "");

#[pymethods]
impl EvaluationKeys {
    /// Forget the uniform halves of all keys, which are then expanded from seeds whenever a key is
    /// used: half the memory, and more time.
    fn keep_seeds(&self, py: Python<'_>) -> PyResult<()> {
        engine::run(py, || {
            self.lock().keep_seeds();
            Ok(())
        })
    }

    /// Expand the uniform halves of all keys, which keys that were read have as seeds.
    fn expand(&self, py: Python<'_>) -> PyResult<()> {
        engine::run(py, || {
            self.lock().expand();
            Ok(())
        })
    }

    /// Expand as many uniform halves as so many bytes hold, and forget the others.
    ///
    /// Args:
    ///     nbytes: The bytes.
    ///     uses: How often each rotation is used. Other keys come first, then what is used most.
    fn expand_within(
        &self,
        py: Python<'_>,
        nbytes: Number<usize>,
        uses: Bound<'_, PyMapping>,
    ) -> PyResult<()> {
        let uses = levels_by(&uses)?.into_iter().collect();
        engine::run(py, || {
            self.lock().expand_within(nbytes.0, &uses);
            Ok(())
        })
    }

    /// The level of the conjugation key, if there is one.
    #[getter]
    fn conjugation_level(&self) -> Option<usize> {
        self.lock().conjugation_level()
    }

    /// The weight of the sparse secret under which bootstrapping raises the modulus, if there are
    /// keys for that.
    #[getter]
    fn encapsulation_weight(&self) -> Option<usize> {
        self.lock().encapsulation_weight()
    }

    /// Read what `to_bytes` wrote.
    #[staticmethod]
    fn from_bytes(
        py: Python<'_>,
        parameters: Bound<'_, Parameters>,
        data: &[u8],
    ) -> PyResult<Self> {
        let parameters = &parameters.get().0;
        engine::run(py, || keys::EvaluationKeys::from_bytes(parameters, data)).map(Self::new)
    }
}
