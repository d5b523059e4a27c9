//! Ciphertexts.

use std::fmt;
use std::sync::Arc;

use super::estimate::Estimate;
use crate::keys::KeyId;
use crate::parameters::Parameters;
use crate::ring::poly::Poly;
use crate::sampling::Seed;
use crate::{Error, Result};

/// An encrypted vector of numbers.
///
/// What an evaluator sees of it beside the polynomials is public: level, scale, number
/// of slots, the bound declared at encryption, and the precision estimate made from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ciphertext {
    pub(crate) parameters: Parameters,
    pub(crate) key: KeyId,
    pub(crate) level: usize,
    pub(crate) scale: f64,
    pub(crate) slots: usize,
    pub(crate) estimate: Estimate,
    /// The message is the sum of `polys[i] s^i`: two of them, or three after a
    /// multiplication that was not relinearised.
    pub(crate) polys: Arc<[Poly]>,
    /// What the second polynomial expands from, while the ciphertext is fresh.
    pub(crate) seed: Option<Seed>,
}

impl Ciphertext {
    /// How many times it can still be rescaled.
    pub fn level(&self) -> usize {
        self.level
    }

    /// The factor between coefficients and values, exact to a few roundings of a double.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The number of values.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Its parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// 1, or 2 after a multiplication that was not relinearised.
    pub fn degree(&self) -> usize {
        self.polys.len() - 1
    }

    /// The estimate of error and size.
    pub fn estimate(&self) -> Estimate {
        self.estimate
    }

    /// Bits of the values that are right: minus log2 of the largest error expected in any slot.
    pub fn precision(&self) -> f64 {
        self.estimate.precision(self.slots)
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
    /// use rlwe::ckks::{Encoding, Evaluator};
    /// use rlwe::keys::{EvaluationKeysRequest, SecretKey};
    /// use rlwe::{Parameters, ParametersLiteral};
    ///
    /// let parameters = Parameters::new(ParametersLiteral::default())?;
    /// let secret = SecretKey::generate(&parameters)?;
    /// let evaluator = Evaluator::new(secret.evaluation_keys(&EvaluationKeysRequest::default())?);
    /// let encrypt = |x: &[f64]| {
    ///     secret.encrypt(&parameters.encode_real(x, Encoding { bound: Some(1.0), ..Encoding::at(0) })?)
    /// };
    /// let sum = evaluator.add(&encrypt(&[1.0, 0.0])?, &encrypt(&[0.0, 1.0])?)?;
    /// assert_eq!(sum.estimate().bound, 2.0);
    /// assert_eq!(sum.with_bound(1.0)?.estimate().bound, 1.0);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn with_bound(&self, bound: f64) -> Result<Self> {
        if !(bound.is_finite() && bound >= 0.0) {
            let reason = format!("expected a finite bound of 0 or more, got {bound}");
            return Err(Error::InvalidArgument { operation: "tighten a bound", reason });
        }
        let estimate = Estimate { bound: bound.min(self.estimate.bound), ..self.estimate };
        Ok(Self { estimate, ..self.clone() })
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
        if self.degree() == expected {
            return Ok(());
        }
        Err(Error::DegreeMismatch { operation, expected, actual: self.degree() })
    }
}

impl fmt::Display for Ciphertext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "level {} of {}, scale 2^{:.3}, {} slots, precision about {:.0} bits, N = 2^{}, {}",
            self.level,
            self.parameters.max_level(),
            self.scale.log2(),
            self.slots,
            self.precision(),
            self.parameters.log_n(),
            self.parameters.security(),
        )
    }
}
