//! Parameters of CKKS.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::chain::{Chain, check_nominal_bits};
use crate::core;
use crate::core::SecretDistribution;
use crate::core::literal::Literal;
use crate::ring::embedding::Embedding;
use crate::ring::primes::WORD_BITS;
use crate::{Error, Result};

/// What keeps objects of CKKS apart from those of BGV under the same chain.
const SCHEME: &[u8] = b"CKKS";

/// What a person asks of CKKS parameters.
///
/// ```
/// use rlwe::ckks::{Parameters, ParametersLiteral};
/// let literal = ParametersLiteral { levels: 5, scale_bits: 40.0, ..Default::default() };
/// let parameters = Parameters::new(literal)?;
/// assert_eq!((parameters.log_n(), parameters.max_level()), (14, 5));
/// # Ok::<(), rlwe::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ParametersLiteral {
    /// The ring degree as log2, 5 to 17; `None` takes the smallest secure one that fits.
    pub log_n: Option<u32>,
    /// The rescalings from the top level down to level 0.
    pub levels: usize,
    /// log2 of the scale, 20 to 60.
    pub scale_bits: f64,
    /// What the modulus of level 0 has beyond the scale, in bits, 2 to 60: messages up to
    /// about 2^(headroom_bits - 2) in magnitude decrypt.
    pub headroom_bits: f64,
    /// The key-switching digits, at most; `None` takes the number with the cheapest rotation.
    pub digits: Option<usize>,
    /// Bits of the largest prime of any level, 20 to 30: with fewer levels take more primes, and
    /// rotated products less time for each.
    pub word_bits: u32,
    /// How secret keys are drawn.
    pub secret: SecretDistribution,
    /// Allows parameters that the security table does not cover.
    pub insecure: bool,
}

impl Default for ParametersLiteral {
    /// A scale of 40 bits with 10 bits of headroom, no levels, and all else for the best.
    fn default() -> Self {
        Self {
            log_n: None,
            levels: 0,
            scale_bits: 40.0,
            headroom_bits: 10.0,
            digits: None,
            word_bits: WORD_BITS,
            secret: SecretDistribution::Ternary,
            insecure: false,
        }
    }
}

/// A compiled CKKS parameter set, shared by reference: [`core::Parameters`] and an encoder.
///
/// Cloning is cheap. Two sets are equal when their fingerprints are.
///
/// ```
/// use rlwe::ckks::{Parameters, ParametersLiteral};
/// let parameters = Parameters::new(ParametersLiteral {
///     levels: 3,
///     scale_bits: 40.0,
///     ..ParametersLiteral::default()
/// })?;
/// assert!(parameters.is_secure());
/// assert_eq!(parameters.max_level(), 3);
/// # Ok::<(), rlwe::Error>(())
/// ```
#[derive(Clone)]
pub struct Parameters(Arc<Tables>);

struct Tables {
    core: core::Parameters,
    embedding: Embedding,
    scale_bits: f64,
    headroom_bits: f64,
}

impl Parameters {
    /// Compiles `literal`.
    ///
    /// # Errors
    /// [`Error::InvalidParameters`] for a request out of range, and
    /// [`Error::InsecureParameters`] for one that is not 128-bit secure and does not
    /// say that it may be insecure, with the smallest ring that would do.
    pub fn new(literal: ParametersLiteral) -> Result<Self> {
        let ParametersLiteral { scale_bits, headroom_bits, secret, .. } = literal;
        let (log_n, chain) = Literal {
            log_n: literal.log_n,
            levels: literal.levels,
            scale_bits,
            headroom_bits,
            digits: literal.digits,
            avoided: None,
            word_bits: literal.word_bits,
            secret,
            insecure: literal.insecure,
        }
        .chain()?;
        Self::of_chain(log_n, chain, secret, [scale_bits, headroom_bits])
    }

    /// The set of a chain that was made for scales of so many bits, and for so much headroom.
    ///
    /// # Errors
    /// [`Error::InvalidParameters`] for a nominal size out of range.
    pub(crate) fn of_chain(
        log_n: u32,
        chain: Chain,
        secret: SecretDistribution,
        [scale_bits, headroom_bits]: [f64; 2],
    ) -> Result<Self> {
        check_nominal_bits(scale_bits, headroom_bits)?;
        let embedding = Embedding::new(log_n)?;
        let (slots, levels) = ((1u64 << log_n) / 2, chain.levels.len().saturating_sub(1));
        let title =
            format!("CKKS, N = 2^{log_n}, {slots} slots, {levels} levels of scale 2^{scale_bits}");
        let core = core::Parameters::new(log_n, chain, secret, SCHEME, title)?;
        Ok(Self(Arc::new(Tables { core, embedding, scale_bits, headroom_bits })))
    }

    /// log2 of the scale that was asked for.
    pub fn scale_bits(&self) -> f64 {
        self.0.scale_bits
    }

    /// What the modulus of level 0 has beyond the scale, in bits, as it was asked for.
    pub fn headroom_bits(&self) -> f64 {
        self.0.headroom_bits
    }

    pub(crate) fn embedding(&self) -> &Embedding {
        &self.0.embedding
    }

    /// Refuses a number of slots that is no power of two up to N / 2.
    pub(crate) fn check_slots(&self, slots: usize, operation: &'static str) -> Result<()> {
        if slots.is_power_of_two() && slots <= self.slots() {
            return Ok(());
        }
        let expected = slots.checked_next_power_of_two().unwrap_or(usize::MAX).min(self.slots());
        Err(Error::SlotMismatch { operation, expected, actual: slots })
    }

    /// Refuses a scale that is no positive number or leaves no headroom for values near 1.
    pub(crate) fn check_scale(
        &self,
        level: usize,
        scale: f64,
        operation: &'static str,
    ) -> Result<()> {
        let modulus_bits = self.log_q(level)?;
        if scale.is_finite() && scale >= 1.0 && scale.log2() + 1.0 < modulus_bits {
            return Ok(());
        }
        Err(Error::ScaleOutOfRange { operation, scale, modulus_bits })
    }

    /// What coefficients at `level` must stay below: beyond half the modulus they would wrap
    /// around it, and another half is what decoding keeps clear to notice those that do.
    pub(crate) fn largest_coefficient(&self, level: usize) -> Result<f64> {
        Ok((self.log_q(level)? - 2.0).exp2())
    }

    /// Refuses values that may wrap around the modulus of `level` at `scale`.
    ///
    /// Sums, products and rotations are right modulo the modulus whatever wraps; divisions and
    /// decryption are not, and call this.
    pub(crate) fn check_headroom(
        &self,
        level: usize,
        scale: f64,
        bound: f64,
        operation: &'static str,
    ) -> Result<()> {
        let capacity = self.largest_coefficient(level)? / scale;
        if bound < capacity {
            return Ok(());
        }
        Err(Error::BoundOverflow { operation, bound, capacity })
    }

    /// The scale of a plaintext that takes a ciphertext of `scale` at `level`, multiplied and
    /// rescaled, to the canonical scale of the level below.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] at level 0.
    pub fn matching_scale(&self, level: usize, scale: f64) -> Result<f64> {
        let factor = self.rescale_factor(level)?;
        Ok(self.scale(level - 1)? * factor / scale)
    }
}

impl Deref for Parameters {
    type Target = core::Parameters;

    fn deref(&self) -> &core::Parameters {
        &self.0.core
    }
}

impl PartialEq for Parameters {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Parameters {}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", **self)
    }
}

impl fmt::Debug for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Parameters({self})")
    }
}
