//! Ciphertexts.

use std::fmt;
use std::sync::Arc;

use super::estimate::Estimate;
use super::parameters::Parameters;
use crate::Result;
use crate::core::keys::KeyId;
use crate::ring::poly::Poly;
use crate::sampling::Seed;

/// An encrypted vector of numbers.
///
/// What an evaluator sees of it beside the polynomials is public: its [`Estimate`], which began
/// with the bound declared at encryption.
#[derive(Debug, Clone, PartialEq)]
pub struct Ciphertext {
    pub(crate) estimate: Estimate,
    pub(crate) key: KeyId,
    /// The message is the sum of `polys[i] s^i`: two of them, or three after a
    /// multiplication that was not relinearised.
    pub(crate) polys: Arc<[Poly]>,
    /// What the second polynomial expands from, while the ciphertext is fresh.
    pub(crate) seed: Option<Seed>,
}

impl Ciphertext {
    /// What it says of itself: level, scale, precision, bound. Of a ciphertext that a stranger
    /// sent nothing of this need be true.
    pub fn estimate(&self) -> &Estimate {
        &self.estimate
    }

    /// Its parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.estimate.parameters
    }

    /// How many times it can still be rescaled.
    pub fn level(&self) -> usize {
        self.estimate.level
    }

    /// The factor between coefficients and values, exact to a few roundings of a double.
    pub fn scale(&self) -> f64 {
        self.estimate.scale
    }

    /// The number of values.
    pub fn slots(&self) -> usize {
        self.estimate.slots
    }

    /// 1, or 2 after a multiplication that was not relinearised.
    pub fn degree(&self) -> usize {
        self.estimate.degree
    }

    /// Bits of the values that are right: see [`Estimate::precision`].
    pub fn precision(&self) -> f64 {
        self.estimate.precision()
    }

    /// The same ciphertext where no slot exceeds `bound`: it takes the smaller of its own bound
    /// and this one. The polynomials are shared, not copied.
    ///
    /// The bounds that operations make assume the worst in every slot, as if all were in use;
    /// whoever knows which are empty knows better. A bound that is not true makes the estimates
    /// of precision untrue, and lets values wrap around the modulus unseen.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a bound that is negative or not finite.
    ///
    /// ```
    /// use rlwe::ckks::{Encoding, Evaluator, Parameters, ParametersLiteral};
    /// use rlwe::keys::{EvaluationKeysRequest, SecretKey};
    ///
    /// let parameters = Parameters::new(ParametersLiteral::default())?;
    /// let secret = SecretKey::generate(&parameters)?;
    /// let evaluator = Evaluator::new(secret.evaluation_keys(&EvaluationKeysRequest::default())?);
    /// let encrypt = |x: &[f64]| {
    ///     secret.encrypt(&parameters.encode_real(x, Encoding::at(0).within(1.0))?)
    /// };
    /// let sum = evaluator.add(&encrypt(&[1.0, 0.0])?, &encrypt(&[0.0, 1.0])?)?;
    /// assert_eq!(sum.estimate().bound(), 2.0);
    /// assert_eq!(sum.with_bound(1.0)?.estimate().bound(), 1.0);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn with_bound(&self, bound: f64) -> Result<Self> {
        Ok(Self { estimate: self.estimate.with_bound(bound)?, ..self.clone() })
    }

    /// Which secret key it belongs to: a random public label, not derived from the key.
    pub fn key_id(&self) -> [u8; 16] {
        self.key
    }

    /// Bytes in memory.
    pub fn nbytes(&self) -> usize {
        self.polys.iter().map(|poly| poly.words().len() * 4).sum()
    }

    /// The polynomials to change: a copy of those that other ciphertexts share.
    pub(crate) fn polys_mut(&mut self) -> &mut [Poly] {
        Arc::make_mut(&mut self.polys)
    }

    pub(crate) fn check_degree(&self, expected: usize, operation: &'static str) -> Result<()> {
        self.estimate.check_degree(expected, operation)
    }

    /// The same key's ciphertext of other polynomials.
    pub(crate) fn with(&self, estimate: Estimate, polys: impl Into<Arc<[Poly]>>) -> Self {
        Self { estimate, key: self.key, polys: polys.into(), seed: None }
    }
}

impl fmt::Display for Ciphertext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.estimate.fmt(f)
    }
}
