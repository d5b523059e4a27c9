//! Parameters of BGV.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::noise::{CAPACITY, FAILURE_BITS, NoiseModel, check_failure_bits};
use super::slots::SlotEncoder;
use crate::chain::{
    Chain, MAX_HEADROOM_BITS, MAX_LOG_N, MAX_SCALE_BITS, MIN_HEADROOM_BITS, MIN_LOG_N,
    MIN_SCALE_BITS, check_nominal_bits,
};
use crate::core;
use crate::core::SecretDistribution;
use crate::core::literal::Literal;
use crate::ring::embedding::Embedding;
use crate::ring::modulus::Modulus;
use crate::ring::primes::{WORD_BITS, ntt_primes};
use crate::security::{MAX_SECURE_LOG_N, MIN_SECURE_LOG_N};
use crate::{Error, Result};

/// The plaintext modulus of every ring up to [`MAX_LOG_N_OF_DEFAULT`] that asks for no other.
const DEFAULT_MODULUS: u32 = 65537;
const MAX_LOG_N_OF_DEFAULT: u32 = 15;

/// What a level has beyond the noise that rounding leaves, in bits: a product of two rounded
/// ciphertexts, a few of them added or rotated, is rounded again one level below.
const LEVEL_MARGIN_BITS: f64 = 4.0;

/// What a person asks of BGV parameters.
///
/// ```
/// use rlwe::bgv::{Parameters, ParametersLiteral};
/// let literal = ParametersLiteral { levels: 3, ..ParametersLiteral::default() };
/// let parameters = Parameters::new(literal)?;
/// assert_eq!((parameters.plaintext_modulus(), parameters.max_level()), (65537, 3));
/// assert!(parameters.is_secure());
/// # Ok::<(), rlwe::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ParametersLiteral {
    /// The ring degree as log2, 5 to 17; `None` takes the smallest secure one that fits.
    pub log_n: Option<u32>,
    /// How often the modulus can be switched: with `level_bits` left out, products in a row.
    pub levels: usize,
    /// A prime that is 1 modulo 2N, below 2^30; `None` takes 65537 up to N = 2^15 and the
    /// smallest such prime beyond.
    pub plaintext_modulus: Option<u32>,
    /// What each level adds to the modulus, 20 to 60 bits; `None` takes what a product needs.
    pub level_bits: Option<f64>,
    /// The modulus of level 0, from 2 to 60 bits more than `level_bits`; `None` takes 2 more.
    pub base_bits: Option<f64>,
    /// The key-switching digits, at most; `None` takes the number with the cheapest rotation.
    pub digits: Option<usize>,
    /// Each bound on noise fails with a chance below 2^-so many, from 40 to 128; `None` takes 128.
    pub failure_bits: Option<f64>,
    /// Bits of the largest prime of any level, 20 to 30: with fewer levels take more primes, and
    /// rotated products less time for each.
    pub word_bits: u32,
    /// How secret keys are drawn.
    pub secret: SecretDistribution,
    /// Allows parameters that the security table does not cover.
    pub insecure: bool,
}

impl Default for ParametersLiteral {
    /// No levels, and all else for the best.
    fn default() -> Self {
        Self {
            log_n: None,
            levels: 0,
            plaintext_modulus: None,
            level_bits: None,
            base_bits: None,
            digits: None,
            failure_bits: None,
            word_bits: WORD_BITS,
            secret: SecretDistribution::Ternary,
            insecure: false,
        }
    }
}

/// A compiled BGV parameter set, shared by reference: [`core::Parameters`], plaintext modulus and
/// bounds on noise. Cloning is cheap.
#[derive(Clone)]
pub struct Parameters(Arc<Tables>);

struct Tables {
    core: core::Parameters,
    slot_encoder: SlotEncoder,
    embedding: Embedding,
    noise: NoiseModel,
    level_bits: f64,
    headroom_bits: f64,
}

/// What a set is made of beside its chain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Design {
    pub(crate) log_n: u32,
    pub(crate) secret: SecretDistribution,
    pub(crate) plaintext_modulus: u32,
    pub(crate) failure_bits: f64,
    /// What each level adds to the modulus.
    pub(crate) level_bits: f64,
    /// What level 0 has beyond that.
    pub(crate) headroom_bits: f64,
}

impl Parameters {
    /// Compiles `literal`.
    ///
    /// # Errors
    /// [`Error::InvalidParameters`] for a request out of range, and
    /// [`Error::InsecureParameters`] for one that is not 128-bit secure and does not
    /// say that it may be insecure.
    pub fn new(literal: ParametersLiteral) -> Result<Self> {
        if let Some(log_n) = literal.log_n {
            let (design, request) = literal.in_ring(log_n)?;
            return Self::of_chain(request.chain()?.1, design);
        }
        let mut refusal = None;
        for log_n in MIN_SECURE_LOG_N..=MAX_SECURE_LOG_N {
            let (design, request) = literal.in_ring(log_n)?;
            let request = Literal { insecure: false, ..request };
            if log_n < MAX_SECURE_LOG_N && !request.may_fit(log_n) {
                continue;
            }
            match request.chain() {
                Ok((_, chain)) => return Self::of_chain(chain, design),
                Err(Error::InsecureParameters(why)) => refusal = Some(why),
                Err(refusal) => return Err(refusal),
            }
        }
        let why = refusal.unwrap_or_else(|| "no ring of the security table fits".into());
        Err(Error::InsecureParameters(why))
    }

    /// The set of a chain that was made for `design`.
    ///
    /// # Errors
    /// [`Error::InvalidParameters`] for a plaintext modulus that is no prime that is 1 modulo 2N
    /// or is in the chain, and for sizes out of range.
    pub(crate) fn of_chain(chain: Chain, design: Design) -> Result<Self> {
        let Design { log_n, secret, plaintext_modulus, failure_bits, .. } = design;
        let Design { level_bits, headroom_bits, .. } = design;
        check_nominal_bits(level_bits, headroom_bits)?;
        check_failure_bits(failure_bits)?;
        if chain.q_primes.iter().chain(&chain.p_primes).any(|&q| q == plaintext_modulus) {
            let reason = format!("the plaintext modulus {plaintext_modulus} is in the chain");
            return Err(Error::InvalidParameters(reason));
        }
        let slot_encoder = SlotEncoder::new(log_n, plaintext_modulus)?;
        let modulus = plaintext_modulus.to_le_bytes();
        let scheme = [&b"BGV"[..], &modulus, &failure_bits.to_bits().to_le_bytes()].concat();
        let embedding = Embedding::new(log_n)?;
        let (slots, levels) = ((1u64 << log_n) / 2, chain.levels.len().saturating_sub(1));
        let title = format!(
            "BGV modulo {plaintext_modulus}, N = 2^{log_n}, 2 x {slots} slots, {levels} levels of \
             {level_bits} bits, bounds fail below 2^-{failure_bits}"
        );
        let core = core::Parameters::new(log_n, chain, secret, &scheme, title)?;
        let noise = NoiseModel::new(log_n, plaintext_modulus, secret, failure_bits)?;
        let tables = Tables { core, slot_encoder, embedding, noise, level_bits, headroom_bits };
        Ok(Self(Arc::new(tables)))
    }

    pub(crate) fn design(&self) -> Design {
        Design {
            log_n: self.log_n(),
            secret: self.secret(),
            plaintext_modulus: self.plaintext_modulus(),
            failure_bits: self.failure_bits(),
            level_bits: self.0.level_bits,
            headroom_bits: self.0.headroom_bits,
        }
    }

    /// t: arithmetic is exact modulo it.
    pub fn plaintext_modulus(&self) -> u32 {
        self.t().q
    }

    /// What each level adds to the modulus, in bits, about.
    pub fn level_bits(&self) -> f64 {
        self.0.level_bits
    }

    /// Each bound on noise fails with a chance below 2^-so many: an encryption's, a rounding's, a
    /// key switch's.
    pub fn failure_bits(&self) -> f64 {
        self.0.noise.failure_bits()
    }

    /// What each operation adds to the noise.
    pub fn noise_model(&self) -> &NoiseModel {
        &self.0.noise
    }

    /// log2 of what noise must stay below at a level: seven sixteenths of the modulus. Half would
    /// do to decrypt; the rest stays free to notice what is wrong, as in one of the
    /// coefficients it is but for a chance of 7/8 to the power of their number.
    ///
    /// # Errors
    /// [`Error::LevelMismatch`] for a level that there is not.
    pub fn capacity_bits(&self, level: usize) -> Result<f64> {
        Ok(self.log_q(level)? + CAPACITY.log2())
    }

    pub(crate) fn t(&self) -> Modulus {
        self.slot_encoder().modulus()
    }

    pub(crate) fn slot_encoder(&self) -> &SlotEncoder {
        &self.0.slot_encoder
    }

    /// Between polynomials and their values at the roots of X^N + 1, for norms.
    pub(crate) fn embedding(&self) -> &Embedding {
        &self.0.embedding
    }
}

/// Ring, chain and keys, as CKKS has them too: what secret keys are generated under.
///
/// ```
/// use rlwe::bgv::{Parameters, ParametersLiteral};
/// use rlwe::keys::SecretKey;
/// let parameters = Parameters::new(ParametersLiteral::default())?;
/// let secret = SecretKey::generate(&parameters)?;
/// # Ok::<(), rlwe::Error>(())
/// ```
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

impl ParametersLiteral {
    /// What is made in degree 2^`log_n`, and the request of its chain.
    fn in_ring(&self, log_n: u32) -> Result<(Design, Literal)> {
        if !(MIN_LOG_N..=MAX_LOG_N).contains(&log_n) {
            return Err(Error::InvalidParameters(format!(
                "log_n must lie between {MIN_LOG_N} and {MAX_LOG_N}, got {log_n}"
            )));
        }
        let modulus = self.plaintext_modulus.unwrap_or_else(|| default_modulus(log_n));
        let failure_bits = self.failure_bits.unwrap_or(FAILURE_BITS.into());
        let noise = NoiseModel::new(log_n, modulus, self.secret, failure_bits)?;
        let level_bits = self.level_bits.unwrap_or_else(|| {
            let needed = noise.rounding(1).canonical_bits + LEVEL_MARGIN_BITS;
            needed.ceil().clamp(MIN_SCALE_BITS, MAX_SCALE_BITS)
        });
        let base_bits = self.base_bits.unwrap_or(level_bits + MIN_HEADROOM_BITS);
        check_bits("level_bits", level_bits, MIN_SCALE_BITS, MAX_SCALE_BITS)?;
        let [least, most] = [MIN_HEADROOM_BITS, MAX_HEADROOM_BITS].map(|bits| level_bits + bits);
        check_bits("base_bits", base_bits, least, most)?;
        let headroom_bits = base_bits - level_bits;
        let design = Design {
            log_n,
            secret: self.secret,
            plaintext_modulus: modulus,
            failure_bits,
            level_bits,
            headroom_bits,
        };
        let request = Literal {
            log_n: Some(log_n),
            levels: self.levels,
            scale_bits: level_bits,
            headroom_bits,
            digits: self.digits,
            avoided: Some(modulus),
            word_bits: self.word_bits,
            secret: self.secret,
            insecure: self.insecure,
        };
        Ok((design, request))
    }
}

fn check_bits(name: &str, bits: f64, least: f64, most: f64) -> Result<()> {
    if (least..=most).contains(&bits) {
        return Ok(());
    }
    let reason = format!("{name} must lie between {least} and {most}, got {bits}");
    Err(Error::InvalidParameters(reason))
}

fn default_modulus(log_n: u32) -> u32 {
    if log_n <= MAX_LOG_N_OF_DEFAULT {
        return DEFAULT_MODULUS;
    }
    ntt_primes(log_n, 0..1 << 30).next().map_or(DEFAULT_MODULUS, |prime| prime as u32)
}

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
